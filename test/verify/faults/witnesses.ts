// Callers that write down what they saw, a provider that does, and the comparison of both with the books. No tests of its own.

import { expect } from 'bun:test';
import { parseUsd } from '../../../src/base/money.ts';
import {
  type Script,
  type ScriptedUpstream,
  startScriptedUpstream,
  upstreamEvents,
  upstreamMessage,
} from '../../support/scripted-upstream.ts';
import type { Turnpike } from '../../support/start-turnpike.ts';

const COST = '0.000085'; // of each message: 25 tokens in at 1, 12 out at 5 USD per million
const DELTA_MS = 30;
const HELD_END_MS = 500; // so that the end of a stream that was held comes by itself, and waits with pings from the first

/** Observations of one message by its client. */
export interface Seen {
  /** In the text of the message, by which its provider knows it. */
  mark: string;
  requestId: string;
  status: number;
  /** The names of the events so far, pings among them. */
  events: string[];
  /** `whole`: a complete answer, acknowledged. `broken`: the connection was lost. `left`: by the caller. */
  end: 'running' | 'whole' | 'refused' | 'error' | 'broken' | 'left';
  /** Error code, if any. */
  code: string | null;
}

/** A provider whose streams continue until `finish` is called. */
export interface Provider extends AsyncDisposable {
  upstream: ScriptedUpstream;
  finish(): void;
  /** Streams begun from now on go on again. */
  goOn(): void;
}

export async function startProvider(): Promise<Provider> {
  let isFinishing = true;
  const events = upstreamEvents({ text: 'some words', pieces: 1 });
  const deltaAt = events.findIndex((text) => text.startsWith('event: content_block_delta'));
  const stream: Script = async (answer) => {
    const isHeld = !isFinishing;
    answer.begin(200, { 'content-type': 'text/event-stream' });
    await answer.write(events.slice(0, deltaAt + 1).join(''));
    while (!isFinishing && !answer.isGone) {
      await Bun.sleep(DELTA_MS);
      await answer.write(events[deltaAt] as string);
    }
    await answer.write(events.slice(deltaAt + 1, -1).join(''));
    await Bun.sleep(isHeld ? HELD_END_MS : DELTA_MS);
    await answer.write(events.at(-1) as string);
    answer.end();
  };
  const upstream = await startScriptedUpstream((answer, request) => {
    if (JSON.parse(request.body).stream === true) return stream(answer, request);
    return answer.send(200, { 'content-type': 'application/json' }, JSON.stringify(upstreamMessage()));
  });
  return {
    upstream,
    finish: () => {
      isFinishing = true;
    },
    goOn: () => {
      isFinishing = false;
    },
    [Symbol.asyncDispose]: upstream.close,
  };
}

/** The service sells `slow`, from the provider. */
export async function sell(turnpike: Turnpike, { upstream }: Provider, settings: object = {}): Promise<void> {
  const document = {
    providers: { scripted: { kind: 'anthropic', base_url: upstream.url, private_network: true } },
    models: { slow: { price: { input: '1', output: '5' }, routes: [{ provider: 'scripted', model: 'slow' }] } },
    settings: { shed_loop_delay_ms: 10_000, ...settings }, // a machine that is busy sheds nothing here
  };
  await turnpike.admin('POST', '/apply', { document });
}

export interface Sent {
  seen: Seen;
  done: Promise<Seen>;
  /** Reads no further. */
  leave(): void;
}

/** Sends a message. What is seen changes until `done`, which never rejects. */
export function send(turnpike: Turnpike, secret: string, stream: boolean, maxTokens = 64): Sent {
  const mark = crypto.randomUUID();
  const seen: Seen = { mark, requestId: '', status: 0, events: [], end: 'running', code: null };
  const body = { model: 'slow', max_tokens: maxTokens, stream, messages: [{ role: 'user', content: mark }] };
  const leaving = new AbortController();
  const done = watch(turnpike.post(secret, body, { signal: leaving.signal }), seen, stream)
    .catch(() => {
      if (seen.end === 'running') seen.end = leaving.signal.aborted ? 'left' : 'broken';
    })
    .then(() => seen);
  return { seen, done, leave: () => leaving.abort() };
}

async function watch(posting: Promise<Response>, seen: Seen, stream: boolean): Promise<void> {
  const response = await posting;
  seen.requestId = response.headers.get('request-id') ?? '';
  seen.status = response.status;
  if (response.status !== 200 || !stream) {
    const answer = (await response.json()) as { error?: { code: string } };
    seen.code = answer.error?.code ?? null;
    seen.end = response.status === 200 ? 'whole' : 'refused';
    return;
  }
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of response.body as ReadableStream<Uint8Array>) {
    const texts = (rest + decoder.decode(bytes, { stream: true })).split('\n\n');
    rest = texts.pop() ?? '';
    for (const text of texts) noteEvent(seen, text);
  }
  if (seen.end === 'running') seen.end = 'broken';
}

function noteEvent(seen: Seen, text: string): void {
  const name = /^event: (\w+)/.exec(text)?.[1] ?? '';
  expect(seen.end).toBe('running'); // nothing comes after the end
  seen.events.push(name);
  if (name === 'message_stop') seen.end = 'whole';
  if (name !== 'error') return;
  seen.end = 'error';
  seen.code = /"code":"(\w+)"/.exec(text)?.[1] ?? null;
}

export type Row = Record<string, unknown>;

/** All rows of a list of an account. */
export async function readAll(turnpike: Turnpike, path: string): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor: unknown = null;
  do {
    const page = await turnpike.admin('GET', `${path}limit=1000${cursor === null ? '' : `&cursor=${cursor}`}`);
    rows.push(...(page['data'] as Row[]));
    cursor = page['next_cursor'];
  } while (cursor !== null);
  return rows;
}

/**
 * Compares what callers saw with what the provider was asked and with the books, when nothing is under way any more:
 * each answer that was acknowledged is billed once, at its cost; nothing is billed twice, or charged without the
 * provider having been asked; what was refused was never sent on. What broke is billed like another, as the
 * service last knew it, or not at all; what was left, by an estimate.
 */
export async function expectBooks(turnpike: Turnpike, { upstream }: Provider, account: string, all: readonly Seen[]) {
  const records = await readAll(turnpike, `/usage?account=${account}&`);
  const entries = await readAll(turnpike, `/accounts/${account}/entries?`);
  const billed = entries.filter(({ kind }) => kind === 'usage').map(({ reference }) => reference as string);
  const twice = billed.filter((reference, at) => billed.indexOf(reference) !== at);
  const asked = upstream.requests.map(({ body }) => JSON.parse(body).messages[0].content as string);
  const askedTwice = asked.filter((mark, at) => asked.indexOf(mark) !== at);
  expect({ twice, askedTwice }).toEqual({ twice: [], askedTwice: [] });
  // A message that the provider was asked for has its record, unless a kill ended it before its hold was written.
  const cut = all.filter(({ end, mark }) => end === 'broken' && asked.includes(mark)).length;
  const recorded = records.filter(({ outcome }) => outcome !== 'failed').length;
  expect(recorded).toBeGreaterThanOrEqual(asked.length - cut);
  for (const seen of all) expectBilled(seen, records, billed, asked.includes(seen.mark));
  const sum = entries.reduce((total, { change }) => total + nano(change), 0);
  const shown = await turnpike.admin('GET', `/accounts/${account}`);
  expect([nano(shown['balance']), shown['held']]).toEqual([sum, '0']);
  expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0, faults: [] });
}

function expectBilled(seen: Seen, records: readonly Row[], billed: readonly string[], wasAsked: boolean): void {
  const record = records.find((row) => row['request_id'] === seen.requestId);
  const story = {
    ...seen,
    events: seen.events.length,
    cost: record?.['cost'],
    billed: billed.includes(seen.requestId),
    wasAsked,
  };
  if (seen.end === 'left') return;
  const isAnswered = seen.end === 'whole' || seen.end === 'error' || wasAsked;
  if (seen.end === 'broken') {
    if (record?.['outcome'] !== 'service_cut') expect(['0', COST]).toContain((record?.['cost'] ?? '0') as string);
    return;
  }
  const billing = isAnswered ? { cost: COST, billed: true, wasAsked: true } : { billed: false, wasAsked: false };
  expect(story).toMatchObject(billing);
  if (isAnswered) expect(record).toMatchObject({ outcome: 'completed', usage_source: 'reported' });
  else expect(record?.['cost'] ?? '0').toBe('0');
}

export function nano(amount: unknown): number {
  return parseUsd(amount as string) as number;
}

/** Waits until there are no holds. */
export async function isSettled(turnpike: Turnpike): Promise<boolean> {
  const text = await (await turnpike.scrape()).text();
  const read = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  return read('turnpike_open_holds') === 0 && read('turnpike_ledger_unfinished_endings') === 0;
}
