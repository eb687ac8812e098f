// One episode: a new company, the moves of those who want more than they may have, and what the judge says.

import { parseId } from '../../../../src/base/ids.ts';
import type { Batch } from '../../../../src/batches/batches.ts';
import { handlePublic } from '../../../../src/public-api/public-api.ts';
import { hashSecret } from '../../../../src/secrets/secrets.ts';
import type { Json } from '../../../contract/admin-api/installation.ts';
import { setBounds } from '../../../support/set-bounds.ts';
import type { Production, Wanted } from '../answers.ts';
import { bodyOf } from '../bodies.ts';
import { ClientMessage } from '../client.ts';
import { NotSettled, TooManyEvents, VirtualTime } from '../virtual-time.ts';
import { accountNames, type Coalition, type CoalitionName, coalitions, type PersonName, people } from './company.ts';
import { judgeAnswer, judgeEnd, judgeKey } from './judge.ts';
import { judgeObjects, judgeRoom, judgeShown, keptBatches } from './judge-objects.ts';
import type { CompanyMove, ObjectMove, SendMessages } from './moves.ts';
import { Objects } from './objects.ts';
import { type Operation, readOperations, resolve } from './operations.ts';
import { readTerms, type Terms } from './terms.ts';
import { type CompanyWorld, makeCompany } from './world.ts';

const END_MS = 1_400_000; // longer than anything may last
const MESSAGES_MAX = 400;
const FROM_OWN_OF = 7; // of so many ids, one is of anything that there is, and one of what others saw
const ID = /\b([a-z]+)_[0-9A-Za-z]{9,25}\b/g;
const BATCH_LIFE_MS = 900_000; // shorter than the rest of the episode
const BATCH_GRACE_MS = 150_000;
const FILE_PENDING_MS = 600_000;
const connection = { address: '127.0.0.1', isTls: false, setIdleSeconds() {} };

/** A session or token of somebody who acts. */
export interface Credential {
  token: string;
  /** The account whose owner or member it is. */
  account: number;
  role: string;
  /** null: a token. */
  person: PersonName | null;
  /** The person who signed in or made it. */
  of: PersonName;
}

export interface Asked {
  wanted: Wanted;
  isStream: boolean;
  /** null: no key has the secret. */
  key: number | null;
  /** The person of the key when the message was sent; null: a service key. */
  owner: number | null;
  /** The person had been disabled before. */
  isDisabled: boolean;
  isBeside: boolean;
}
export type Message = ClientMessage<Asked>;

export interface CompanyFacts {
  coalition: Coalition;
  messages: Message[];
  productions: Map<string, Production[]>;
  byRequest: Map<string, Message>;
  /** The people of keys, as operators and members made them. */
  owners: Map<number, PersonName>;
  deactivated: Set<PersonName>;
  /** As operators left them. */
  terms: Terms;
  finding: string | null;
  trace: Bun.CryptoHasher;
}

export interface CompanyResult {
  finding: string | null;
  moves: CompanyMove[];
  messages: number;
  hash: string;
}

/** Plays the moves in a new company. `spoil`: called before the judge looks. */
export function runCompanyEpisode(
  moves: readonly CompanyMove[],
  spoil: (world: CompanyWorld) => void = () => {},
): CompanyResult {
  allOperations();
  using _bounds = setBounds({
    batchLifeMs: BATCH_LIFE_MS,
    filePendingMsMax: FILE_PENDING_MS,
    batchGraceMs: BATCH_GRACE_MS,
  });
  const time = new VirtualTime();
  time.install();
  try {
    return new CompanyEpisode(time, moves).run(spoil);
  } finally {
    time.uninstall();
  }
}

let described: readonly Operation[] | null = null;

/** All that the API offers, from its own description. */
export function allOperations(): readonly Operation[] {
  if (described !== null) return described;
  const time = new VirtualTime();
  time.install();
  try {
    const unused = () => {
      throw new Error('nobody sends a message');
    };
    const hooks = { onSubmitted: unused, onReply: unused, wantedOf: unused, onProduction: unused, bulkAt: unused };
    const world = time.wait(makeCompany(time, hooks));
    described = readOperations(time.wait(world.ask('', 'GET', '/api/v1/openapi.json')).body as never);
    world.close();
    return described;
  } finally {
    time.uninstall();
  }
}

interface Sent {
  secret: string;
  message: Message;
  headers: Readonly<Record<string, string>>;
}

/** Ids by their kind. */
type Known = Map<string, string[]>;

class CompanyEpisode {
  readonly #time: VirtualTime;
  readonly #moves: readonly CompanyMove[];
  readonly #world: CompanyWorld;
  readonly #facts: CompanyFacts;
  readonly #credentials: Credential[] = [];
  readonly #secrets: string[] = [];
  /** Ids by kind: what answers told all of them, what they told each, and all that there is. */
  readonly #seen: Known = new Map();
  readonly #seenBy = new Map<string, Known>();
  readonly #all: Known = new Map();
  /** Secrets that no longer work: they learn it by the answer. */
  readonly #refused = new Set<string>();
  readonly #sent: Sent[] = [];
  readonly #objects: Objects;
  #claims = 0;

  constructor(time: VirtualTime, moves: readonly CompanyMove[]) {
    this.#time = time;
    this.#moves = moves;
    const first = moves.find((move) => move.move === 'begin');
    const coalition: Coalition = coalitions[(first?.coalition ?? 'members') satisfies CoalitionName];
    const messages: Message[] = [];
    const messageOf = (mark: string) => messages[Number(mark.replace(/\D/g, ''))] as Message;
    const byRequest = new Map<string, Message>();
    const productions = new Map<string, Production[]>();
    this.#world = time.wait(
      makeCompany(time, {
        onSubmitted(mark, requestId) {
          const message = messageOf(mark);
          message.requestId = requestId;
          byRequest.set(requestId, message);
        },
        onReply: (mark, reply) => time.deliver(() => messageOf(mark).takeReply(reply)),
        wantedOf: (requestId, body) =>
          byRequest.get(requestId)?.asked.wanted ?? this.#objects.wantedOf(requestId, body),
        bulkAt: (place) => this.#objects.wishes[place]?.bulk ?? null,
        onProduction: (requestId, production) => {
          productions.set(requestId, [...(productions.get(requestId) ?? []), production]);
          this.#facts.finding ??= judgeKey(this.#facts, this.#world);
        },
      }),
    );
    this.#objects = new Objects(this.#world, (secret, answered) => {
      this.#facts.trace.update(`${answered.path.replace(/[a-z]+_\w+/g, '')} ${answered.status}\n`);
      this.#facts.finding ??= judgeShown(this.#objects, this.#world, answered) ?? judgeRoom(this.#world);
      this.#note(this.#all, answered.text);
      if (!this.#secrets.includes(secret)) return;
      this.#note(this.#seen, answered.text);
      this.#note(this.#knownBy({ token: secret }), answered.text);
    });
    this.#facts = {
      coalition,
      messages,
      productions,
      byRequest,
      owners: new Map(this.#world.keys.flatMap(({ id, person }) => (person === null ? [] : [[id, person] as const]))),
      deactivated: new Set(),
      terms: readTerms(this.#world, coalition),
      finding: null,
      trace: new Bun.CryptoHasher('sha256'),
    };
    this.#begin();
  }

  /** They know their keys, and, as if they had guessed them, the ids of everything. */
  #begin(): void {
    const { coalition } = this.#facts;
    const { tables, people: ids, accounts, keys, code } = this.#world;
    for (const person of coalition.people) {
      const { account, role } = people[person];
      this.#credentials.push({
        token: ids[person],
        account: parseId('acct', accounts[account]) ?? 0,
        role,
        person,
        of: person,
      });
      this.#secrets.push(...keys.filter((key) => key.person === person).map(({ secret }) => secret));
      for (const known of [this.#seen, this.#knownBy({ token: ids[person] })])
        this.#note(known, `${ids[person]} ${accounts[account]}`);
    }
    for (const name of accountNames) this.#note(this.#all, accounts[name]);
    for (const id of Object.values(ids)) this.#note(this.#all, id);
    for (const { object } of tables.audit) this.#note(this.#all, String(object));
    this.#seen.set('code', [code]);
  }

  run(spoil: (world: CompanyWorld) => void): CompanyResult {
    const facts = this.#facts;
    const made: CompanyMove[] = [];
    try {
      for (const move of this.#moves) {
        made.push(move);
        this.#make(move);
        if (facts.finding !== null) break;
      }
      if (facts.finding === null) {
        for (const message of facts.messages) message.read(null);
        this.#time.runFor(END_MS);
        spoil(this.#world);
        facts.finding ??= this.#world.failures.find((words) => words.startsWith('batch: ')) ?? null;
        facts.finding ??= judgeEnd(facts, this.#world);
        this.#time.wait(this.#world.sweep());
        const { filesToDelete } = this.#objects;
        const kept = keptBatches(this.#objects, this.#world).filter(
          ({ row }) => !filesToDelete.has(row.outputFileId ?? 0) && !filesToDelete.has(row.errorFileId ?? 0),
        );
        const lines = new Map(kept.map(({ batch, row }) => [batch, this.#linesOf(row)]));
        facts.finding ??= judgeObjects(this.#objects, this.#world, facts.productions, lines);
      }
    } catch (failure) {
      if (!(failure instanceof TooManyEvents || failure instanceof NotSettled)) throw failure;
      facts.finding ??= `busy: ${failure.message}, after ${JSON.stringify(made.at(-1))}`;
    }
    this.#world.close();
    this.#time.runFor(1);
    const { finding, messages } = facts;
    return { finding, moves: made, messages: messages.length, hash: this.#hash() };
  }

  #make(move: CompanyMove): void {
    if (move.move === 'call') this.#call(move);
    else if (move.move === 'send') for (let times = move.times; times > 0; times--) this.#send(move);
    else if (move.move === 'leave') for (const { message } of this.#last(move)) message.leave();
    else if (move.move === 'again')
      for (const { secret, message, headers } of this.#last(move)) {
        const { wanted, isStream } = message.asked;
        const of = { wanted: { ...wanted, luck: move.luck }, isStream, isBeside: false };
        this.#submit(secret, of, headers, null);
      }
    else if (move.move === 'wait') this.#time.runFor(move.ms);
    else if (move.move === 'deactivate') this.#deactivate(move.person);
    else if (move.move === 'beside') this.#beside(move);
    else if (move.move !== 'begin') this.#useObjects(move);
    this.#time.runFor(1);
  }

  #useObjects(move: ObjectMove): void {
    const { move: name } = move;
    if (name === 'price') this.#world.sellBatchesBy(move);
    else if (name === 'restart') this.#world.leader.restart();
    else if (name === 'kill') this.#world.leader.kill(move.steps);
    else if (name === 'batch beside')
      this.#objects.makeBatch(
        this.#besideSecret,
        { move: 'batch', secret: 0, form: 'messages', odd: null, items: move.items },
        this.#facts.coalition.rules !== 'rival',
      );
    else {
      const secret = this.#secretAt(move.secret);
      const id = (kind: string, place: number) => this.#find({ token: secret }, kind, place);
      if (name === 'batch') this.#objects.makeBatch(secret, move);
      else if (name === 'upload') this.#objects.upload(secret, move);
      else if (name === 'buy') this.#objects.buy(secret, move.wish);
      else if (name === 'reuse') this.#objects.reuse(secret, id('file', move.place));
      else
        this.#objects.ask(
          secret,
          move,
          id(/file|content/.test(move.what) && !/batch/.test(move.what) ? 'file' : 'msgbatch', move.place),
        );
    }
  }

  /** The lines of results that the batch has. */
  #linesOf({ outputFileId, errorFileId }: Batch): string {
    const read = async () => {
      let text = '';
      for (const id of [outputFileId, errorFileId]) {
        const file = id === null ? null : await this.#world.files.findOwn(id);
        if (file !== null)
          for await (const piece of await this.#world.files.read(file)) text += Buffer.from(piece).toString();
      }
      return text;
    };
    return this.#time.wait(read());
  }

  get #besideSecret(): string {
    return this.#world.keys.find(({ person }) => person === 'rob')?.secret ?? '';
  }

  #secretAt(place: number): string {
    const live = this.#secrets.filter((text) => !this.#refused.has(text));
    const among = live.length > 0 ? live : this.#secrets;
    return among[place % among.length] as string;
  }

  #last({ back, times }: { back: number; times: number }): Sent[] {
    const end = Math.max(0, this.#sent.length - back);
    return this.#sent.slice(Math.max(0, end - times), end);
  }

  #deactivate(person: PersonName): void {
    const { status, text } = this.#time.wait(this.#world.deactivate(person));
    if (status >= 300) this.#facts.finding ??= `directory: ${person} is not deactivated: ${status} ${text}`;
    this.#facts.deactivated.add(person);
  }

  #call({ by, operation: name, path, query, body }: Extract<CompanyMove, { move: 'call' }>): void {
    const credential = this.#credentials[by % this.#credentials.length] as Credential;
    const operation = described?.find((one) => one.name === name);
    if (operation === undefined) return;
    const find = (kind: string, place: number) => this.#find(credential, kind, place);
    const given = resolve(path, find);
    const asked = Object.entries(resolve(query, find));
    const at = operation.path.replace(/\{(\w+)\}/g, (_, parameter) => encodeURIComponent(given[parameter] ?? 'x'));
    const url = asked.length === 0 ? at : `${at}?${new URLSearchParams(asked)}`;
    const sent = body === null ? undefined : resolve(body, find);
    const answer = this.#time.wait(this.#world.ask(credential.token, operation.method, url, sent));
    this.#facts.trace.update(`${name} ${answer.status}\n`);
    this.#facts.finding ??= judgeAnswer(this.#facts, this.#world, { credential, operation, url, sent, answer });
    if (answer.status >= 300) return;
    this.#note(this.#seen, answer.text);
    this.#note(this.#knownBy(credential), answer.text);
    this.#learn(credential, operation, answer.body);
  }

  /** Secrets and credentials in an answer. */
  #learn({ person, account, of }: Credential, { name }: Operation, body: Json): void {
    const { key, token, link_secret: link, role } = body;
    if (typeof key === 'string' && key.startsWith('sk-')) this.#secrets.push(key);
    if (typeof token === 'string') {
      const at = parseId('acct', String(body['account'])) ?? account;
      this.#credentials.push({ token, account: at, role: String(role), person: null, of });
    }
    if (typeof link === 'string') this.#seen.set('link', [...(this.#seen.get('link') ?? []), link]);
    if (name !== 'POST /api/v1/keys' || person === null || this.#facts.coalition.rules !== null) return;
    const made = [...this.#world.tables.keys.values()].at(-1);
    if (made !== undefined) this.#facts.owners.set(made.id, person);
  }

  #knownBy({ token }: Pick<Credential, 'token'>): Known {
    const known: Known = this.#seenBy.get(token) ?? new Map();
    this.#seenBy.set(token, known);
    return known;
  }

  /** Mostly an id that this one saw; sometimes what the others saw, or anything. */
  #find(credential: Pick<Credential, 'token'>, kind: string, place: number): string {
    const [own, seen, all] = [this.#knownBy(credential), this.#seen, this.#all].map((known) => known.get(kind) ?? []);
    const among =
      [
        [all, seen, own],
        [seen, all],
        [own, seen, all],
      ][place < 0 ? 2 : Math.min(2, place % FROM_OWN_OF)] ?? [];
    const ids = among.find((list) => list !== undefined && list.length > 0) ?? [];
    return ids.at(place % ids.length) ?? `${kind}_000000000`;
  }

  #note(known: Known, text: string): void {
    for (const [id, kind] of text
      .replace(/\bfile-/g, 'file_')
      .replace(/\bbatch_/g, 'msgbatch_')
      .matchAll(ID)) {
      const list = known.get(kind as string) ?? [];
      if (!list.includes(id)) known.set(kind as string, [...list, id]);
    }
  }

  #send({ secret, wanted, isStream, leavesAt, hasIdempotencyKey, tags }: SendMessages): void {
    const text = this.#secretAt(secret);
    const headers: Record<string, string> = {};
    if (hasIdempotencyKey) headers['idempotency-key'] = `claim-${this.#claims++}`;
    if (tags !== null) headers['x-turnpike-tags'] = tags;
    this.#submit(text, { wanted, isStream, isBeside: false }, headers, leavesAt);
  }

  #beside({ wanted, isStream }: Extract<CompanyMove, { move: 'beside' }>): void {
    this.#submit(this.#besideSecret, { wanted, isStream, isBeside: true }, {}, null);
  }

  #submit(
    secret: string,
    of: Pick<Asked, 'wanted' | 'isStream' | 'isBeside'>,
    headers: Readonly<Record<string, string>>,
    leavesAt: SendMessages['leavesAt'],
  ): void {
    const { messages, owners, deactivated } = this.#facts;
    if (messages.length >= MESSAGES_MAX) return;
    const { keySecrets, keys, people: rows } = this.#world.tables;
    const key = keySecrets.get(hashSecret(secret))?.keyId ?? null;
    const owner = keys.get(key ?? 0)?.personId ?? null;
    const name = owners.get(key ?? 0);
    const isLost = this.#facts.coalition.rules === null && name !== undefined && deactivated.has(name);
    const isDisabled = isLost || rows.get(owner ?? 0)?.person.status === 'disabled';
    const asked: Asked = { ...of, key, owner, isDisabled };
    const message: Message = new ClientMessage(asked, () => this.#time.nowMs, null, leavesAt);
    const mark = messages.push(message) - 1;
    if (!of.isBeside) this.#sent.push({ secret, message, headers });
    const body = JSON.stringify(bodyOf(asked));
    const request = new Request(`http://economy/v1/messages?m=${mark}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': secret, ...headers },
      body,
      signal: message.controller.signal,
    });
    Promise.resolve(handlePublic(request, connection, this.#world.dependencies)).then(async (response) => {
      if (response.status === 401) this.#refused.add(secret);
      if (response.status !== 200) message.takeRefusal(response.status, await response.text());
    });
  }

  #hash(): string {
    const { trace, messages, finding } = this.#facts;
    const { endings } = this.#world.tables;
    for (const { requestId, status, errorCode, receivedBytes } of messages)
      trace.update(JSON.stringify([status, errorCode, receivedBytes, endings.get(requestId ?? '')?.record.cost]));
    return trace
      .update(String(finding?.split(':')[0]))
      .digest('hex')
      .slice(0, 16);
  }
}
