// The running service with two routes per case, the first of them faulty: all cases are applied at once, sent in
// parallel, and checked afterwards. Each has its own model and providers, so that no case affects another.

import { expect } from 'bun:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ErrorCode, errorTable } from '../../../src/errors.ts';
import { MessageFold } from '../../../src/wire/wire.ts';
import { type FaultUpstream, type Play, startFaultUpstream, type Wire } from '../../support/fault-upstream.ts';
import { startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import {
  type Event,
  eventsOf,
  expectError,
  expectErrorBody,
  expectHeadersOfAll,
  type Json,
} from '../post-messages/world.ts';
import { type Dialect, dialects, type ProviderKind, streamHead } from './dialects.ts';

export type Form = 'streamed' | 'whole';

export type AttemptResult = 'failed' | 'timeout' | 'rate_limited' | 'overloaded' | 'credentials' | 'not_found';

/** One behavior of a provider. */
export interface Fault {
  /** Completes "a provider that …". */
  name: string;
  play(dialect: Dialect): Play;
  /** Its action on a new connection, before any data arrived. */
  accept?(socket: Wire['socket']): void;
  /** Its address, if no server listens there. */
  url?: string;
  /** The scheme of its URL; "http" by default. */
  scheme?: 'https';
  /** The result of its attempt. */
  result?: AttemptResult;
  /** With or without streaming; by default both. Kinds of provider; by default all. */
  form?: Form;
  kinds?: readonly ProviderKind[];
}

/** One request, and the routes that it may use. */
export interface Case {
  fault: Fault;
  dialect: Dialect;
  form: Form;
  /** The second route; by default it works. */
  second?: Fault;
}

/** The result of a case. */
export interface Seen extends Case {
  /** The name of the case, for a failure message. */
  title: string;
  response: Response;
  text: string;
  records: Json[];
  /** The names of its two providers. */
  providers: [first: string, second: string];
  kinds: [first: ProviderKind, second: ProviderKind];
  /** The number of requests to each of them. */
  asked: [first: number, second: number];
}

export interface Played {
  readonly all: readonly Seen[];
  /** The results for one fault: every kind, with and without streaming. */
  of(fault: Fault): Seen[];
  /** Expects one record per request, their sum charged to the account, and no hold. */
  expectLedger(): Promise<void>;
  /** Expects every connection with an incomplete response to be closed. */
  expectClosed(): Promise<void>;
  stop(): Promise<void>;
}

export const GOOD_TEXT = 'Good morning to you.';
export const BAD_TEXT = 'FAULTY';
/** 25 tokens at 3 and 12 at 15 millionths of a dollar. */
export const GOOD_COST = '0.000255';
const CREDIT_USD = 100;
/** Cases at once that wait for a time limit, and others: with two requests each, below the 256 of the runtime. */
const LATE_AT_ONCE = 100;
const OTHERS_AT_ONCE = 16;
const CLOSED_MS_MAX = 8_000;
const FORMS: readonly Form[] = ['streamed', 'whole'];
const READ_MS_MAX = 5_000;

/** By the name of a case that is running: resolved when its client has content of the faulty route. */
const contents = new Map<string, PromiseWithResolvers<void>>();

/** Waits until the client of the case has the content: a break could overtake it on the way. */
export async function untilRead({ path, body }: Wire): Promise<void> {
  const name = /case-\d+-/.exec(`${path} ${body}`)?.[0] ?? '';
  await Promise.race([contents.get(name)?.promise, sleep(READ_MS_MAX)]);
}

/** All kinds, with and without streaming, of these faults. */
export function casesOf(faults: readonly Fault[]): Case[] {
  return faults.flatMap((fault) =>
    dialects
      .filter(({ kind }) => fault.kinds?.includes(kind) ?? true)
      .flatMap((dialect) =>
        FORMS.filter((form) => (fault.form ?? form) === form).map((form) => ({ fault, dialect, form })),
      ),
  );
}

/** All kinds of each fault, and both forms, but each pair of fault and kind in one form only: for faults before any content. */
export function alternatingCasesOf(faults: readonly Fault[]): Case[] {
  return faults.flatMap((fault, place) =>
    casesOf([fault]).filter((_case, at) => fault.form !== undefined || (Math.floor(at / 2) + at + place) % 2 === 0),
  );
}

/** Responds as a working provider of this kind does. */
export function answerNormally(dialect: Dialect, text = GOOD_TEXT): Play {
  return (wire) => {
    if (/count[_-]?tokens/i.test(wire.path))
      return wire.send(200, { 'content-type': 'application/json' }, dialect.counted ?? '');
    if (!dialect.wantsStream(wire))
      return wire.send(200, { 'content-type': 'application/json' }, dialect.message(text));
    const { begin, content, end } = dialect.stream([text.slice(0, 5), text.slice(5)]);
    wire.begin(200, streamHead(dialect));
    wire.chunk([...begin, ...content, ...end].join(''));
    wire.end();
  };
}

const MESSAGES = '/v1/messages';
export const COUNT_TOKENS = '/v1/messages/count_tokens';
export const CHAT_COMPLETIONS = '/v1/chat/completions';

/** Applies the cases and sends all of them to one of these paths. */
export async function playCases(
  cases: readonly Case[],
  settings: Json = {},
  path: typeof MESSAGES | typeof COUNT_TOKENS | typeof CHAT_COMPLETIONS = MESSAGES,
): Promise<Played> {
  const good = await Promise.all(dialects.map((dialect) => startFaultUpstream(answerNormally(dialect))));
  const placed = await Promise.all(cases.map((played, place) => placeCase(played, place, good)));
  const turnpike = await startTurnpike({
    providers: Object.assign({}, ...placed.map(({ providers }) => providers)),
    models: Object.assign({}, ...placed.map(({ models }) => models)),
    settings,
  });
  const caller = await turnpike.makeKey({ credit: `${CREDIT_USD}.00` });
  const seen: Seen[] = [];
  const sendAll = (cases: readonly PlacedCase[], atOnce: number) => {
    const waiting = [...cases];
    const work = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
        seen.push(await send(turnpike, caller.secret, next, path));
    };
    return Array.from({ length: atOnce }, work);
  };
  const late = placed.filter(({ played }) => isLate(played));
  const others = placed.filter(({ played }) => !isLate(played));
  await Promise.all([...sendAll(late, LATE_AT_ONCE), ...sendAll(others, OTHERS_AT_ONCE)]);
  const billed = path === COUNT_TOKENS ? 0 : cases.length;
  const records = await readRecords(turnpike, caller.account, billed);
  for (const one of seen)
    one.records = records.filter(({ request_id }) => request_id === one.response.headers.get('request-id'));
  const upstreams = [...good, ...placed.flatMap(({ upstreams }) => upstreams)];
  return {
    all: seen,
    of(fault) {
      const found = seen.filter((one) => one.fault === fault);
      if (found.length === 0) throw new Error(`nothing was sent to a provider that ${fault.name}`);
      return found;
    },
    expectLedger: () => expectLedger(turnpike, caller.account, records, billed),
    expectClosed: () => expectClosed(placed),
    async stop() {
      await turnpike.stop();
      await Promise.all(upstreams.map((upstream) => upstream.close()));
    },
  };
}

function isLate({ fault, second }: Case): boolean {
  return fault.result === 'timeout' || second?.result === 'timeout';
}

interface PlacedCase {
  played: Case;
  name: string;
  providers: Json;
  models: Json;
  names: [string, string];
  kinds: [ProviderKind, ProviderKind];
  ends: [FaultUpstream | null, FaultUpstream | null];
  /** The case's own upstreams. */
  upstreams: FaultUpstream[];
}

/** The working routes take turns among all kinds. */
async function placeCase(played: Case, place: number, good: readonly FaultUpstream[]): Promise<PlacedCase> {
  const { fault, dialect, second } = played;
  const name = `case-${place}-`; // no name is a prefix of another
  const otherPlace = (place + Math.floor(place / dialects.length)) % dialects.length;
  const other = dialects[otherPlace] as Dialect;
  const first = await startFault(fault, dialect);
  const last = second === undefined ? (good[otherPlace] as FaultUpstream) : await startFault(second, other);
  const names: [string, string] = [`${name}first`, `${name}second`];
  const providerAt = (end: FaultUpstream | null, { kind, members }: Dialect, { url, scheme }: Partial<Fault> = {}) => ({
    kind,
    ...members,
    base_url: (end?.url ?? url)?.replace('http:', `${scheme ?? 'http'}:`),
    api_key: 'sk-of-the-operator-0001',
    private_network: true,
  });
  const route = (provider: string, priority: number, { protocol }: Dialect) => ({
    provider,
    model: name,
    priority,
    ...(protocol !== undefined && { protocol }),
  });
  return {
    played,
    name,
    providers: { [names[0]]: providerAt(first, dialect, fault), [names[1]]: providerAt(last, other, second) },
    models: {
      [name]: { price: { input: '3', output: '15' }, routes: [route(names[0], 0, dialect), route(names[1], 1, other)] },
    },
    names,
    kinds: [dialect.kind, other.kind],
    ends: [first, last],
    upstreams: [first, second === undefined ? null : last].filter((upstream) => upstream !== null),
  };
}

async function startFault(fault: Fault, dialect: Dialect): Promise<FaultUpstream | null> {
  return fault.url === undefined ? await startFaultUpstream(fault.play(dialect), fault.accept) : null;
}

async function send(turnpike: Turnpike, secret: string, placed: PlacedCase, path: string): Promise<Seen> {
  const { played, name, names, ends, kinds } = placed;
  const messages = [{ role: 'user', content: `Good morning, ${name}!` }];
  const body = { model: name, max_tokens: 200, messages, stream: played.form === 'streamed' };
  contents.set(name, Promise.withResolvers<void>()); // the tests of another file have the same names
  const response = await fetch(turnpike.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': secret },
    body: JSON.stringify(body),
  });
  const text = await readText(response, name);
  const askedOf = (end: FaultUpstream | null) =>
    end?.requests.filter((request) => `${request.path} ${request.body}`.includes(name)).length ?? 0;
  return {
    ...played,
    title: `a provider that ${played.fault.name} (${played.dialect.kind}, ${played.form}, ${name})`,
    response: new Response(text, { status: response.status, headers: response.headers }),
    text,
    records: [],
    providers: names,
    kinds,
    asked: [askedOf(ends[0]), askedOf(ends[1])],
  };
}

async function readText(response: Response, name: string): Promise<string> {
  let text = '';
  try {
    const decoder = new TextDecoder();
    for await (const piece of response.body ?? []) {
      text += decoder.decode(piece as Uint8Array, { stream: true });
      if (text.includes(BAD_TEXT)) contents.get(name)?.resolve();
    }
    return text;
  } catch (thrown) {
    return `the connection broke: ${String(thrown)}`;
  }
}

async function readRecords(turnpike: Turnpike, account: string, count: number): Promise<Json[]> {
  for (let tries = 0; ; tries++) {
    const { held } = await turnpike.admin('GET', `/accounts/${account}`);
    const { data } = (await turnpike.admin('GET', `/usage?account=${account}&limit=1000`)) as { data: Json[] };
    if (tries === 200 || (held === '0' && data.length >= count)) return data;
    await sleep(10);
  }
}

const nano = (usd: unknown) => Math.round(Number(usd) * 1e9);

async function expectLedger(turnpike: Turnpike, account: string, records: Json[], count: number): Promise<void> {
  const { held, balance } = await turnpike.admin('GET', `/accounts/${account}`);
  const paid = records.reduce((sum, { cost, written_off }) => sum + nano(cost) - nano(written_off), 0);
  expect(new Set(records.map(({ request_id }) => request_id)).size).toBe(count);
  expect({ records: records.length, held, balance: nano(balance) }).toEqual({
    records: count,
    held: '0',
    balance: nano(CREDIT_USD) - paid,
  });
  expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0, faults: [] });
}

/** A connection whose message is complete may stay open for a moment, waiting for the end of the response. */
async function expectClosed(placed: readonly PlacedCase[]): Promise<void> {
  const dangling = () =>
    placed
      .filter(({ ends }) => ends.some((end) => (end?.danglingCount ?? 0) > 0))
      .map(({ played, name }) => `${played.fault.name} (${played.dialect.kind}, ${played.form}, ${name})`);
  for (let waitedMs = 0; dangling().length > 0 && waitedMs < CLOSED_MS_MAX; waitedMs += 50) await sleep(50);
  expect(dangling()).toEqual([]);
}

/** Expects the client to have received the whole response of one route, and nothing of the other. */
export function expectAnswer({ title, form, response, text }: Seen, said: string): void {
  expect({ title, status: response.status, text }).toMatchObject({ status: 200 });
  expectHeadersOfAll(response);
  const message = form === 'whole' ? (JSON.parse(text) as Json) : foldWhole(title, eventsOf(text));
  expect({ title, message }).toMatchObject({
    message: { type: 'message', role: 'assistant', stop_reason: 'end_turn', content: [{ type: 'text', text: said }] },
  });
  expect(message['content']).toHaveLength(1);
  const other = said === GOOD_TEXT ? BAD_TEXT : GOOD_TEXT;
  expect({ title, isMixed: text.includes(other) }).toEqual({ title, isMixed: false });
}

/** The message of a complete stream, from its only beginning to its only end. */
function foldWhole(title: string, events: readonly Event[]): Json {
  const names = events.map(({ name }) => name).filter((name) => name !== 'ping');
  expect({ title, first: names[0], last: names.at(-1) }).toEqual({
    title,
    first: 'message_start',
    last: 'message_stop',
  });
  return foldOf(events).message();
}

/** Throws for a second beginning or inconsistent blocks. */
function foldOf(events: readonly Event[]): MessageFold {
  const fold = new MessageFold();
  for (const { name, json } of events) fold.add({ name, json: JSON.stringify(json), value: json as never });
  return fold;
}

/** Expects the client to have received a part of the faulty route's response, then the error. */
export function expectCut({ title, response, text }: Seen, code: ErrorCode, said: string): void {
  expect({ title, status: response.status, text }).toMatchObject({ status: 200 });
  const events = eventsOf(text);
  const last = events.at(-1) as Event;
  expect({ title, last }).toMatchObject({
    last: { name: 'error', json: { error: { type: errorTable[code].type, code } } },
  });
  expectErrorBody(last.json, response.headers.get('request-id') as string);
  const before = events.slice(0, -1);
  foldOf(before);
  const names = before.map(({ name }) => name);
  expect({ title, names }).toEqual({ title, names: expect.not.arrayContaining(['message_stop', 'error']) });
  const received = before.map(({ json }) => (json['delta'] as { text?: string } | undefined)?.text ?? '').join('');
  expect({ title, received }).toEqual({ title, received: said });
}

/** Expects this error, and no content of any route. */
export async function expectRefusal(
  { title, response, text }: Seen,
  code: ErrorCode,
): Promise<{ status: number; message: string }> {
  const { status, type } = errorTable[code];
  expect({ title, status: response.status, text }).toMatchObject({ status });
  return { status, message: await expectError(response.clone() as Response, status, type, code) };
}

/** Expects one record of the case, with these fields. */
export function expectRecord({ title, records }: Seen, members: Json): void {
  expect({ title, records }).toMatchObject({ records: [members] });
  expect({ title, count: records.length }).toEqual({ title, count: 1 });
  expectTimes(title, records[0] as Json);
}

/** Expects the times of receipt, of admission and of each attempt, in order. */
function expectTimes(title: string, record: Json): void {
  const tried = (record['attempts'] as Json[]).map((attempt) => attempt['started_ms']);
  const times = [0, record['admitted_ms'], ...tried];
  const inOrder = times.toSorted((one, other) => Number(one) - Number(other));
  expect({ title, times, isKnown: times.every((time) => typeof time === 'number') }).toEqual({
    title,
    times: inOrder,
    isKnown: true,
  });
}
