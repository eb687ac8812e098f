// One episode: a new installation, the moves of its clients, and what the judge says when all is over.

import { handlePublic } from '../../../src/public-api/public-api.ts';
import type { Production, Wanted } from './answers.ts';
import { bodyOf } from './bodies.ts';
import { type AccountName, accountNames, cast, keyOf, type PlanName } from './cast.ts';
import { type Asked, ClientMessage } from './client.ts';
import { judgeEnd } from './judge.ts';
import { judgeSlots } from './judge-node.ts';
import { behaviourOf } from './models.ts';
import type { LeavePoint, Move, Send } from './moves.ts';
import { writeText } from './texts.ts';
import type { TillBooks } from './till.ts';
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
  /** Messages that ran when their key was revoked. */
  revoked: Set<ClientMessage>;
  /** Messages that ran when the service ended all. */
  drained: Set<ClientMessage>;
  plansSet: { by: AccountName; plan: PlanName; atMs: number }[];
  /** Worth of Stripe's books to an account after each of its payments and reversals. */
  paid: { by: AccountName; atMs: number; epochMs: number; books: TillBooks }[];
  /** The first rule that was broken. */
  finding: string | null;
  trace: Bun.CryptoHasher;
}

export interface EpisodeResult {
  finding: string | null;
  moves: Move[];
  messages: number;
  /** Messages of honest accounts. */
  served: Served[];
  /** A hash of all events. */
  hash: string;
}

/** The service that an account got of one message. */
export interface Served {
  by: AccountName;
  status: number | null;
  errorCode: string | null;
  isServed: boolean;
  isReplay: boolean;
  ms: number;
  cost: number;
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
    revoked: new Set(),
    drained: new Set(),
    plansSet: accountNames.flatMap((by) => (cast[by].plan === null ? [] : [{ by, plan: cast[by].plan, atMs: 0 }])),
    paid: [],
    finding: null,
    trace: new Bun.CryptoHasher('sha256'),
  };
  readonly #claims = new Map<AccountName, number>();

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
          facts.finding ??= judgeSlots(facts);
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
    const { finding, messages } = facts;
    return { finding, moves: made, messages: messages.length, served: this.#served(), hash: this.#hash() };
  }

  #served(): Served[] {
    const { endings } = this.#world.tables;
    return this.#facts.messages.flatMap((message): Served[] => {
      const { asked, status, errorCode, isWhole, hasLeft, replayOf, endedMs, sentMs, requestId } = message;
      const { by } = asked;
      if (!cast[by].isHonest) return [];
      const ms = hasLeft || endedMs === null ? 0 : endedMs - sentMs;
      const cost = endings.get(requestId ?? '')?.record.cost ?? 0;
      const isServed = status === 200 && (isWhole || hasLeft);
      return [{ by, status, errorCode, isServed, isReplay: replayOf !== null, ms, cost }];
    });
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
    const seen = new Map<AccountName, number>();
    for (const message of facts.messages) {
      const { by } = message.asked;
      const at = seen.get(by) ?? 0;
      seen.set(by, at + 1);
      if (at % 2 === 0) message.read(null);
      else message.leave();
    }
    this.#time.runFor(END_MS);
  }

  #make(move: Move): void {
    switch (move.move) {
      case 'send':
        for (let time = 0; time < move.times; time++)
          this.#send(askedBy(move, this.#nextClaim(move)), move.reads, move.leavesAt);
        break;
      case 'count':
        this.#count(move);
        break;
      case 'odd':
        this.#sendOdd(move);
        break;
      case 'revoke':
        this.#revoke(move);
        break;
      case 'plan':
        this.#facts.plansSet.push({ by: move.by, plan: move.plan, atMs: this.#time.nowMs });
        this.#time.wait(this.#world.setPlan(move.by, move.plan));
        break;
      case 'pay':
        this.#pay(move.by, this.#world.till.pay(cast[move.by].id, move.cents));
        break;
      case 'reverse':
        this.#pay(move.by, this.#world.till.takeBack(cast[move.by].id, move));
        break;
      case 'drain':
        for (const message of this.#running()) this.#facts.drained.add(message);
        this.#world.gateway.running.cutAll();
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

  #revoke({ by, key }: Extract<Move, { move: 'revoke' }>): void {
    const { id } = keyOf(by, key);
    for (const message of this.#running())
      if (keyOf(message.asked.by, message.asked.key).id === id) this.#facts.revoked.add(message);
    this.#time.wait(this.#world.revoke(by, key));
  }

  #pay(by: AccountName, change: Promise<void>): void {
    this.#time.wait(change);
    const { nowMs: atMs, epochMs } = this.#time;
    this.#facts.paid.push({ by, atMs, epochMs, books: this.#world.till.booksOf(cast[by].id) });
  }

  #running(): ClientMessage[] {
    const { endings } = this.#world.tables;
    return this.#facts.messages.filter(({ requestId }) => !endings.has(requestId ?? ''));
  }

  #handle(move: Extract<Move, { back: number }>, message: ClientMessage): void {
    if (move.move === 'leave') message.leave();
    else if (move.move === 'rest') message.rest();
    else if (move.move === 'read') message.read(move.chunks);
    else {
      const { asked } = message;
      const ending = move.change === 'better' ? 'answer' : asked.wanted.ending;
      const wanted = { ...asked.wanted, ending, luck: move.luck, isBetaBad: move.change === 'beta' };
      this.#send({ ...asked, wanted, variant: asked.variant + (move.change === 'body' ? 1 : 0) }, move.reads);
    }
  }

  #of({ by, back, times }: Extract<Move, { back: number }>): ClientMessage[] {
    const own = this.#facts.messages.filter(({ asked }) => asked.by === by);
    const end = Math.max(0, own.length - back);
    return own.slice(Math.max(0, end - times), end);
  }

  #nextClaim({ by, hasIdempotencyKey }: Send): string | null {
    const place = this.#claims.get(by) ?? 0;
    this.#claims.set(by, place + 1);
    return hasIdempotencyKey ? `claim-${place}` : null;
  }

  #send(asked: Asked, reads: number | null, leavesAt: LeavePoint | null = null): void {
    if (this.#facts.messages.length >= MESSAGES_MAX) return;
    const message = new ClientMessage(asked, () => this.#time.nowMs, reads, leavesAt);
    const { isBetaBad } = asked.wanted;
    const body = JSON.stringify(bodyOf(asked));
    const headers: Record<string, string> = { 'content-length': String(Buffer.byteLength(body)) };
    if (asked.claim !== null) headers['idempotency-key'] = asked.claim;
    if (isBetaBad) headers['anthropic-beta'] = 'no-such-beta-2026-01-01';
    this.#submit('/v1/messages', message, headers, body);
  }

  #count({ by, model, prompt }: Extract<Move, { move: 'count' }>): void {
    const wanted: Wanted = { ...NOTHING_WANTED, model, prompt };
    const asked = { by, key: 0, isStream: false, claim: null, wanted, variant: 0 };
    const message = new ClientMessage(asked, () => this.#time.nowMs, 0);
    const body = JSON.stringify({ model, messages: [{ role: 'user', content: writeText(prompt) }] });
    this.#submit('/v1/messages/count_tokens', message, {}, body);
  }

  #sendOdd({ by, body: kind }: Extract<Move, { move: 'odd' }>): void {
    const asked = { by, key: 0, isStream: false, claim: null, wanted: NOTHING_WANTED, variant: 0 };
    const message = new ClientMessage(asked, () => this.#time.nowMs, null);
    const members = kind === 'many members' ? manyMembers() : '"a":1';
    const body = `{"model":"quarters","max_tokens":16,"messages":[{"role":"user","content":"hi"}],"metadata":{${members}}}`;
    const { length } = body;
    const lengths = kind === 'length twice' ? `${length}, ${length}` : String(length);
    this.#submit('/v1/messages', message, { 'content-length': lengths }, body);
  }

  #submit(path: string, message: ClientMessage, headers: Record<string, string>, body: string): void {
    const { asked, controller } = message;
    const { secret } = keyOf(asked.by, asked.key);
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

function askedBy({ by, key, isStream, ...send }: Send, claim: string | null): Asked {
  const { model, prompt, file, thinking, tool, uses, resultTokens, answer, ending, maxTokens, luck } = send;
  const of = {
    model,
    prompt,
    file,
    thinking,
    tool,
    uses,
    resultTokens,
    answer,
    ending,
    maxTokens,
    luck,
    isBetaBad: false,
  };
  const { isWholeOnly, reports } = behaviourOf(model);
  // Nobody can know hidden output that the provider never counts.
  const isKnown = reports !== 'never' && reports !== 'disagreeing';
  const wanted: Wanted = isKnown ? of : { ...of, thinking: 0, tool: null };
  return { by, key, isStream: isStream && !isWholeOnly, claim, wanted, variant: 0 };
}

const NOTHING_WANTED: Wanted = {
  model: 'quarters',
  prompt: [],
  file: null,
  thinking: 0,
  tool: null,
  uses: 0,
  resultTokens: 0,
  answer: [],
  ending: 'answer',
  maxTokens: 16,
  isBetaBad: false,
  luck: 0,
};

let madeMembers: string | null = null;

function manyMembers(): string {
  madeMembers ??= Array.from({ length: MEMBERS_MANY }, (_, at) => `"k${at}":0`).join(',');
  return madeMembers;
}
