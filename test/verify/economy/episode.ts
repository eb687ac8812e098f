// One episode: a new installation, the moves of its clients, and what the judge says when all is over.

import { handlePublic } from '../../../src/public-api/public-api.ts';
import { cast } from './cast.ts';
import { type Asked, ClientMessage } from './client.ts';
import { judgeEnd, judgeNow } from './judge.ts';
import type { Move, Send } from './moves.ts';
import type { Production } from './provider.ts';
import { writeText } from './texts.ts';
import { TooManyEvents, VirtualTime } from './virtual-time.ts';
import { makeWorld, type World } from './world.ts';

const END_MS = 1_400_000; // longer than anything may last
const MESSAGES_MAX = 600;
const MEMBERS_MANY = 60_000;
const connection = { address: '127.0.0.1', isTls: false, setIdleSeconds() {} };

/** Events so far. */
export interface Facts {
  messages: ClientMessage[];
  /** All attempts, by request id. */
  productions: Map<string, Production[]>;
  byRequest: Map<string, ClientMessage>;
  wasSuspended: boolean;
  /** The first rule that was broken. */
  finding: string | null;
  trace: Bun.CryptoHasher;
}

export interface EpisodeResult {
  finding: string | null;
  moves: Move[];
  messages: number;
  /** A hash of all events. */
  hash: string;
}

/** Gives the next moves, knowing what has happened; null: no more. */
export type Director = (facts: Facts, world: World) => Move[] | null;

export function runEpisode(director: Director): EpisodeResult {
  const time = new VirtualTime();
  time.install();
  try {
    return new Episode(time).run(director);
  } finally {
    time.uninstall();
  }
}

/** A director that makes these moves, whatever happens. */
export function inOrder(moves: readonly Move[]): Director {
  let given = false;
  return () => {
    if (given) return null;
    given = true;
    return [...moves];
  };
}

class Episode {
  readonly #time: VirtualTime;
  readonly #world: World;
  readonly #facts: Facts = {
    messages: [],
    productions: new Map(),
    byRequest: new Map(),
    wasSuspended: false,
    finding: null,
    trace: new Bun.CryptoHasher('sha256'),
  };
  #claims = 0;

  constructor(time: VirtualTime) {
    this.#time = time;
    const facts = this.#facts;
    const messageOf = (mark: string) => facts.messages[Number(mark.replace(/\D/g, ''))] as ClientMessage;
    this.#world = time.wait(
      makeWorld(time, {
        onSubmitted(mark, requestId) {
          const message = messageOf(mark);
          message.requestId = requestId;
          facts.byRequest.set(requestId, message);
        },
        onReply: (mark, reply) => time.deliver(() => messageOf(mark).takeReply(reply)),
        wantedOf: (requestId) => (facts.byRequest.get(requestId) as ClientMessage).asked.wanted,
        onProduction: (requestId, production) => {
          const list = facts.productions.get(requestId);
          if (list === undefined) facts.productions.set(requestId, [production]);
          else list.push(production);
          facts.finding ??= judgeNow(facts);
        },
      }),
    );
  }

  run(director: Director): EpisodeResult {
    const facts = this.#facts;
    const made: Move[] = [];
    try {
      this.#play(director, made);
      facts.finding ??= judgeEnd(facts, this.#world);
    } catch (failure) {
      if (!(failure instanceof TooManyEvents)) throw failure;
      facts.finding ??= `busy: ${failure.message}`;
    }
    this.#world.close();
    this.#time.runFor(1);
    return { finding: facts.finding, moves: made, messages: facts.messages.length, hash: this.#hash() };
  }

  #play(director: Director, made: Move[]): void {
    const facts = this.#facts;
    for (let moves = director(facts, this.#world); moves !== null; moves = director(facts, this.#world)) {
      for (const move of moves) {
        made.push(move);
        this.#make(move);
        if (facts.finding !== null) return;
      }
    }
    for (const [at, message] of facts.messages.entries()) {
      if (at % 2 === 0) message.read(null);
      else message.leave();
    }
    this.#time.runFor(END_MS);
  }

  #make(move: Move): void {
    switch (move.move) {
      case 'send':
        for (let time = 0; time < move.times; time++) this.#send(askedBy(move, this.#nextClaim(move)), move.reads);
        break;
      case 'count':
        this.#count(move);
        break;
      case 'odd':
        this.#sendOdd(move);
        break;
      case 'wait':
        this.#time.runFor(move.ms);
        break;
      case 'suspend':
        this.#facts.wasSuspended = true;
        this.#time.suspend(move.ms);
        break;
      default:
        for (const message of this.#of(move)) this.#handle(move, message);
    }
    this.#time.runFor(1);
  }

  #handle(move: Extract<Move, { back: number }>, message: ClientMessage): void {
    if (move.move === 'leave') message.leave();
    else if (move.move === 'rest') message.rest();
    else if (move.move === 'read') message.read(move.chunks);
    else {
      const { asked } = message;
      const wanted = { ...asked.wanted, luck: move.luck, isBetaBad: move.change === 'beta' };
      this.#send({ ...asked, wanted, variant: asked.variant + (move.change === 'body' ? 1 : 0) }, move.reads);
    }
  }

  #of({ by, back, times }: Extract<Move, { back: number }>): ClientMessage[] {
    const own = this.#facts.messages.filter(({ asked }) => asked.by === by);
    const end = Math.max(0, own.length - back);
    return own.slice(Math.max(0, end - times), end);
  }

  #nextClaim({ hasIdempotencyKey }: Send): string | null {
    return hasIdempotencyKey ? `claim-${this.#claims++}` : null;
  }

  #send(asked: Asked, reads: number | null): void {
    if (this.#facts.messages.length >= MESSAGES_MAX) return;
    const message = new ClientMessage(asked, this.#time.nowMs, reads);
    const { model, maxTokens, prompt, isBetaBad } = asked.wanted;
    const body = JSON.stringify({
      model,
      max_tokens: maxTokens,
      stream: asked.isStream,
      temperature: (asked.variant % 10) / 10,
      messages: [{ role: 'user', content: writeText(prompt) }],
    });
    const headers: Record<string, string> = { 'content-length': String(Buffer.byteLength(body)) };
    if (asked.claim !== null) headers['idempotency-key'] = asked.claim;
    if (isBetaBad) headers['anthropic-beta'] = 'no-such-beta-2026-01-01';
    this.#submit('/v1/messages', message, headers, body);
  }

  #count({ by, model, prompt }: Extract<Move, { move: 'count' }>): void {
    const wanted = { model, prompt, answer: [], maxTokens: 1, isBetaBad: false, luck: 0 };
    const message = new ClientMessage({ by, key: 0, isStream: false, claim: null, wanted, variant: 0 }, 0, 0);
    const body = JSON.stringify({ model, messages: [{ role: 'user', content: writeText(prompt) }] });
    this.#submit('/v1/messages/count_tokens', message, {}, body);
  }

  #sendOdd({ by, body: kind }: Extract<Move, { move: 'odd' }>): void {
    const wanted = { model: 'quarters', prompt: [], answer: [], maxTokens: 16, isBetaBad: false, luck: 0 } as const;
    const message = new ClientMessage({ by, key: 0, isStream: false, claim: null, wanted, variant: 0 }, 0, null);
    const members = kind === 'many members' ? manyMembers() : '"a":1';
    const body = `{"model":"quarters","max_tokens":16,"messages":[{"role":"user","content":"hi"}],"metadata":{${members}}}`;
    const { length } = body;
    const lengths = kind === 'length twice' ? `${length}, ${length}` : String(length);
    this.#submit('/v1/messages', message, { 'content-length': lengths }, body);
  }

  #submit(path: string, message: ClientMessage, headers: Record<string, string>, body: string): void {
    const { asked, controller } = message;
    const { keys } = cast[asked.by];
    const { secret } = keys[asked.key % keys.length] as { secret: string };
    const mark = this.#facts.messages.push(message) - 1;
    const request = new Request(`http://economy${path}?m=${mark}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': secret, ...headers },
      body,
      signal: controller.signal,
    });
    Promise.resolve(handlePublic(request, connection, this.#world.dependencies)).then(async (response) => {
      if (response.status !== 200) message.takeRefusal(response.status, await response.text());
    });
  }

  #hash(): string {
    const { trace, messages, finding, productions } = this.#facts;
    for (const { requestId, status, errorCode, receivedBytes, isWhole } of messages) {
      const produced = productions.get(requestId ?? '')?.map(({ bytes, startedMs }) => [bytes, startedMs]);
      const cost = this.#world.tables.endings.get(requestId ?? '')?.record.cost;
      trace.update(JSON.stringify([status, errorCode, receivedBytes, isWhole, produced, cost]));
    }
    return trace.update(`${finding} ${this.#time.events}`).digest('hex').slice(0, 16);
  }
}

function askedBy(send: Send, claim: string | null): Asked {
  const { by, key, isStream, model, prompt, answer, maxTokens, luck } = send;
  return { by, key, isStream, claim, wanted: { model, prompt, answer, maxTokens, isBetaBad: false, luck }, variant: 0 };
}

let madeMembers: string | null = null;

function manyMembers(): string {
  madeMembers ??= Array.from({ length: MEMBERS_MANY }, (_, at) => `"k${at}":0`).join(',');
  return madeMembers;
}
