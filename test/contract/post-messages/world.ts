// The whole service in this process between real sockets: a client on one side, scripted providers on the other.
// Checks responses from the outside, and the charges behind them. It has no tests of its own.

import { expect } from 'bun:test';
import { readSamples } from '../../support/read-samples.ts';
import { type ScriptedUpstream, scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { sharedTurnpike } from '../../support/shared-turnpike.ts';
import { startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';

export type Json = Record<string, unknown>;

export interface World extends Turnpike {
  /** The provider of every model. */
  upstream: ScriptedUpstream;
  /** The second route of the model `paired`. */
  second: ScriptedUpstream;
  /** Lets both answer well again, and forgets their requests: for tests in any order. */
  reset(): void;
}

export interface Caller {
  account: string;
  key: string;
  secret: string;
}

export const UPSTREAM_KEY = 'sk-upstream-credential-1';
const PRICE = { input: '3', output: '15' };
const GOOD_COST = '0.000255'; // the usage that `scripts.good` reports at this price: 25 × 3 + 12 × 15 = 255 millionths

/** The cost of `scripts.good` for `plain`, as fields of its record. */
export const GOOD = { usage_source: 'reported', input_tokens: 25, output_tokens: 12, cost: GOOD_COST };

function catalogOf(first: string, second: string, more: Json): Json {
  const route = { provider: 'first', model: 'upstream-model' };
  const { models, providers, ...rest } = more as { models?: Json; providers?: Json };
  return {
    providers: {
      first: { kind: 'anthropic', base_url: first, api_key: UPSTREAM_KEY, private_network: true },
      second: { kind: 'anthropic', base_url: second, api_key: 'sk-upstream-credential-2', private_network: true },
      ...providers,
    },
    models: {
      plain: { aliases: ['plain-latest'], price: PRICE, routes: [route] },
      paired: {
        price: PRICE,
        routes: [route, { provider: 'second', model: 'second-model', priority: 1 }],
      },
      ...models,
    },
    ...rest,
  };
}

/**
 * Starts the service with two working providers; `more` has further settings of its file, `environment` its
 * variables. Without environment, take `sharedWorld` or say why not: `startOwnWorld`.
 */
export async function startWorld(more: Json, environment: Record<string, string> = {}): Promise<World> {
  return withUpstreams((upstreams) => startTurnpike(catalogOf(...upstreams, more), environment));
}

/** Starts the service with two working providers for a test that cannot share one; `why` is for the reader. */
export function startOwnWorld(_why: string): Promise<World> {
  return startWorld({});
}

/**
 * The shared service, with two working providers that no earlier test has used, so that they have no failures, and `more`
 * settings. See `sharedTurnpike`.
 */
export async function sharedWorld(more: Json = {}): Promise<World> {
  return withUpstreams((upstreams) => sharedTurnpike(catalogOf(...upstreams, more)));
}

async function withUpstreams(open: (urls: [string, string]) => Promise<Turnpike>): Promise<World> {
  const upstream = await startScriptedUpstream(scripts.good());
  const second = await startScriptedUpstream(scripts.good({ model: 'second-model' }));
  const turnpike = await open([upstream.url, second.url]);
  const stop = async () => {
    await turnpike.stop();
    await upstream.close();
    await second.close();
  };
  const reset = () => {
    upstream.reset();
    second.reset();
  };
  return { ...turnpike, upstream, second, reset, stop, [Symbol.asyncDispose]: stop };
}

/** A small request; `members` replaces or adds fields. */
export function bodyOf(members: Json = {}): Json {
  return { model: 'plain', max_tokens: 64, messages: [{ role: 'user', content: 'Good morning!' }], ...members };
}

// The codes that docs/errors.md and the contract document as safe to retry.
const RETRIED =
  /^(request_timeout|idempotency_in_progress|requests_rate_exceeded|input_tokens_rate_exceeded|output_tokens_rate_exceeded|concurrency_exceeded|too_many_failures|upstream_rate_limited|upstream_overloaded|upstream_failed|upstream_timeout|overloaded|internal|store_unavailable|draining)$/;

/** Expects the error in every place where a client looks, and resolves to its message. */
export async function expectError(
  response: Response,
  status: number,
  type: string,
  code: string,
  message: RegExp = /./,
): Promise<string> {
  const body = (await response.json()) as Json;
  expect({ status: response.status, body }).toMatchObject({ status, body: { error: { type, code } } });
  expect(response.headers.get('content-type')).toBe('application/json');
  expectHeadersOfAll(response);
  expectErrorBody(body, response.headers.get('request-id') as string);
  expect(response.headers.get('x-should-retry')).toBe(RETRIED.test(code) ? null : 'false');
  if (status === 429) expect(response.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  const messageText = (body['error'] as { message: string }).message;
  expect(messageText).toMatch(message);
  return messageText;
}

/** The standard format of errors, in a body or in an event: no message at the top level. */
export function expectErrorBody(body: Json, requestId: string): void {
  const error = body['error'] as Json;
  expect(Object.keys(body).sort()).toEqual(['error', 'request_id', 'type']);
  expect(body).toMatchObject({ type: 'error', request_id: requestId });
  expect(Object.keys(error).sort()).toEqual(['code', 'details', 'message', 'type']);
  expect(error['details']).toEqual({ error_code: error['code'] });
  expect(error['message']).toBeString();
}

/** Every response below /v1 has a request id and the headers that a browser needs to read it. */
export function expectHeadersOfAll(response: Response): void {
  expect(response.headers.get('request-id')).toMatch(/^req_[0-9A-Za-z]{20,}$/);
  expect(response.headers.get('access-control-allow-origin')).not.toBeNull();
  const exposed = (response.headers.get('access-control-expose-headers') ?? '').split(', ');
  for (const name of ['request-id', 'retry-after', 'x-should-retry']) expect(exposed).toContain(name);
}

export interface Event {
  name: string;
  json: Json;
}

/** The events of a stream's text but pings, which any stream has whose end is slow to settle. Throws if the stream does not consist of whole events. */
export function eventsOf(text: string): Event[] {
  return allEventsOf(text).filter(({ name }) => name !== 'ping');
}

/** The same with pings. */
export function allEventsOf(text: string): Event[] {
  if (!text.endsWith('\n\n')) throw new Error(`the stream ends within an event: ${text.slice(-100)}`);
  return text
    .slice(0, -2)
    .split('\n\n')
    .map((event) => {
      const match = /^event: (\w+)\ndata: (.*)$/.exec(event);
      if (match === null) throw new Error(`not an event: ${event}`);
      return { name: match[1] as string, json: JSON.parse(match[2] as string) as Json };
    });
}

/** The same stream, after the client has received this much of it. */
export async function afterReading(response: Response, isEnough: (text: string) => boolean): Promise<Response> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const chunks: Uint8Array[] = [];
  while (!isEnough(Buffer.concat(chunks).toString())) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
  }
  const rest = async function* () {
    yield* chunks;
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  };
  return new Response(rest() as unknown as BodyInit, { status: response.status, headers: response.headers });
}

/** Expects the last event of the stream to be this error, in the standard format. */
export async function expectErrorEvent(response: Response, type: string, code: string): Promise<Event[]> {
  expect(response.status).toBe(200);
  expectHeadersOfAll(response);
  const events = eventsOf(await response.text());
  const last = events.at(-1) as Event;
  expect(last).toMatchObject({ name: 'error', json: { error: { type, code } } });
  expectErrorBody(last.json, response.headers.get('request-id') as string);
  expect(events.map(({ name }) => name)).not.toContain('message_stop');
  return events;
}

const NANO = 1_000_000_000;
const nano = (usd: unknown) => Math.round(Number(usd) * NANO);

/**
 * Expects the account to have exactly these records, newest first (with these fields), their sum charged, no open
 * hold, and a consistent ledger (a shared one is checked when the file is done with it). Waits until the last record is written
 * and all holds have ended.
 */
export async function expectMoney(
  world: Turnpike,
  caller: Caller,
  expected: Json[],
  credit = '10.00',
): Promise<Json[]> {
  const { account, records } = await readMoney(world, caller, expected.length);
  expect(records).toMatchObject(expected);
  expect(records).toHaveLength(expected.length);
  const paid = records.reduce((sum, record) => sum + nano(record['cost']) - nano(record['written_off']), 0);
  expect({ held: account['held'], balance: nano(account['balance']) }).toEqual({
    held: '0',
    balance: nano(credit) - paid,
  });
  await expectUnits(world, caller, records);
  if (!world.isShared) expect(await world.check()).toMatchObject({ ok: true, open_holds: 0, faults: [] });
  return records;
}

/** Each unit of a record has a part of its cost, and the totals are the sums of both. */
async function expectUnits(world: Turnpike, { account }: Caller, records: readonly Json[]): Promise<void> {
  const sums: Record<string, { quantity: number; cost: number }> = {};
  for (const record of records) {
    const [units, costs] = [record['units'], record['unit_costs']] as [Record<string, number>, Record<string, string>];
    expect(Object.keys(costs).toSorted()).toEqual(
      Object.keys(units)
        .filter((unit) => units[unit] !== 0)
        .toSorted(),
    );
    const parts = Object.values(costs).map(nano);
    const hasText = ['input_tokens', 'output_tokens'].some((name) => record[name] !== 0);
    const part = parts.reduce((sum, one) => sum + one, 0);
    if (hasText || parts.length === 0) expect(part).toBeLessThanOrEqual(nano(record['cost']));
    else expect(part).toBe(nano(record['cost']));
    for (const [unit, cost] of Object.entries(costs)) {
      const sum = sums[unit] ?? { quantity: 0, cost: 0 };
      sums[unit] = { quantity: sum.quantity + (units[unit] ?? 0), cost: sum.cost + nano(cost) };
    }
  }
  if (Object.keys(sums).length === 0) return;
  const { total } = (await world.admin('GET', `/usage/totals?account=${account}`)) as { total: Json };
  const totals = Object.entries(total['units'] as Record<string, Json>);
  expect(Object.fromEntries(totals.map(([unit, use]) => [unit, { ...use, cost: nano(use['cost']) }]))).toEqual(sums);
}

/** Resolves when so many messages run on without their clients: the disconnect was noticed. */
export async function untilUnattended(world: Turnpike, messages: number): Promise<void> {
  for (;;) {
    const samples = readSamples(await (await world.scrape()).text());
    if (samples['turnpike_unattended_messages'] === messages) return;
    await Bun.sleep(2);
  }
}

/** Expects a refusal to leave nothing behind: no record, charge or hold. */
export async function expectNoTrace(world: Turnpike, caller: Caller, credit = '10.00'): Promise<void> {
  await expectMoney(world, caller, [], credit);
}

async function readMoney(world: Turnpike, caller: Caller, count: number) {
  for (let tries = 0; ; tries++) {
    const account = await world.admin('GET', `/accounts/${caller.account}`);
    const { data } = (await world.admin('GET', `/usage?account=${caller.account}`)) as { data: Json[] };
    if (tries === 200 || (account['held'] === '0' && data.length >= count)) return { account, records: data };
    await Bun.sleep(10);
  }
}
