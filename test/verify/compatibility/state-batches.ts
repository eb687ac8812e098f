// Makes and checks batches and files: batches that have ended in either form, that run, are canceled, or are run by their provider, with a
// part in each of its states. In later builds, what ran goes on, and each request is billed once.

import { expect } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI, { toFile } from 'openai';
import { parseUsd } from '../../../src/base/money.ts';
import { type GivenBatch, startBatchProvider } from '../../support/batch-provider.ts';
import type { Turnpike } from '../../support/start-turnpike.ts';
import { type Opened, replaceText, runOnCopy } from './open-state.ts';
import { readAll } from './state-features.ts';

export interface Batches {
  account: string;
  secret: string;
  /** Dollars that were paid in. */
  credit: string;
  /** Answers to paths that do not change any more. */
  texts: Record<string, string>;
  running: Ids;
  canceling: Ids;
  /** null: the build has no batches of providers. */
  provided: { batches: Ids[]; atProvider: GivenBatch[] } | null;
  /** Address of the provider. */
  provider: string;
}

interface Ids {
  id: string;
  customIds: string[];
}

/** Batches that are being made. `finish`: once the service was killed. */
export interface MadeBatches {
  finish(): Promise<Batches>;
}

const CREDIT = '10.00';
const RUNNING_SLOW = 4;
const OPEN_MAX = 16; // requests of batches that run at once, by default
const QUICK = 6;
const SLOW = 30;

const isSlow = (body: object) => JSON.stringify(body).includes('"slow-');

/** `isProviding`: the build knows batches of providers. */
export async function makeBatches(turnpike: Turnpike, isProviding: boolean): Promise<MadeBatches> {
  const provider = startBatchProvider();
  provider.onDirect = (body) => (isSlow(body) ? new Promise(() => {}) : undefined);
  await applyModels(turnpike, provider.url, isProviding);
  const { account, secret } = await turnpike.makeKey({ credit: CREDIT });
  const client = clientOf(turnpike, secret);
  const texts = await makeEnded(turnpike, secret);
  const provided = isProviding ? await makeProvided(client, provider) : null;
  const slow = () => provider.direct.filter(isSlow).length;
  const running = await make(client, [...requestsOf('quick', QUICK), ...requestsOf('slow', RUNNING_SLOW)]);
  await until(async () => slow() === RUNNING_SLOW && (await openOf(client, running)) === RUNNING_SLOW);
  const canceling = await make(client, [...requestsOf('quick', QUICK), ...requestsOf('slow', SLOW)]);
  await until(async () => slow() === OPEN_MAX && (await openOf(client, canceling)) === SLOW);
  await client.messages.batches.cancel(canceling.id);
  return {
    async finish() {
      await provider[Symbol.asyncDispose]();
      return { account, secret, credit: CREDIT, texts, running, canceling, provided, provider: provider.url };
    },
  };
}

async function applyModels({ admin }: Turnpike, url: string, isProviding: boolean): Promise<void> {
  const common = { kind: 'anthropic', base_url: url, api_key: 'x', private_network: true };
  const price = { input: '3', output: '15' };
  const provider = (batches: boolean) => (isProviding ? { ...common, batches } : common);
  const providers = { alone: provider(false), ...(isProviding ? { together: provider(true) } : {}) };
  const models = {
    alone: { price, routes: [{ provider: 'alone' }] },
    ...(isProviding
      ? {
          first: { price, routes: [{ provider: 'together' }] },
          second: { price, routes: [{ provider: 'together' }] },
        }
      : {}),
  };
  await admin('POST', '/apply', { document: { providers, models } });
}

/** A batch of each form that has ended, and files. Resolves to what their clients read. */
async function makeEnded(turnpike: Turnpike, secret: string): Promise<Record<string, string>> {
  const client = clientOf(turnpike, secret);
  const openai = new OpenAI({ baseURL: `${turnpike.url}/v1`, apiKey: secret, maxRetries: 0 });
  const kept = await openai.files.create({
    file: await toFile(Buffer.from('Kept.'), 'kept.txt'),
    purpose: 'user_data',
  });
  const first = await make(client, [...requestsOf('quick', 2), requestOf('unknown', 'nonesuch')]);
  await until(async () => (await client.messages.batches.retrieve(first.id)).processing_status === 'ended');
  const lines = ['alone', 'nonesuch'].map((model, at) => {
    const body = { model, max_tokens: 64, messages: [{ role: 'user', content: 'quick' }] };
    return JSON.stringify({ custom_id: `line-${at}`, method: 'POST', url: '/v1/chat/completions', body });
  });
  const file = await toFile(Buffer.from(lines.join('\n')), 'requests.jsonl');
  const { id: input_file_id } = await openai.files.create({ file, purpose: 'batch' });
  const made = await openai.batches.create({
    input_file_id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
    metadata: { kept: 'yes' },
  });
  let second = made;
  await until(async () => {
    second = await openai.batches.retrieve(made.id);
    return second.status === 'completed';
  });
  const files = [kept.id, input_file_id, second.output_file_id, second.error_file_id];
  const paths = [`/v1/messages/batches/${first.id}/results`, ...files.map((id) => `/v1/files/${id}/content`)];
  const texts = await Promise.all(paths.map((path) => readText(turnpike, secret, path)));
  return Object.fromEntries(paths.map((path, at) => [path, texts[at] as string]));
}

/** One batch with a part that has ended and one that runs, and one with a part whose provider has not answered yet. */
async function makeProvided(
  client: Anthropic,
  provider: ReturnType<typeof startBatchProvider>,
): Promise<Batches['provided']> {
  const atProvider: GivenBatch[] = [];
  provider.onCreate = (batch) => {
    atProvider.push(batch);
  };
  const both = await make(client, [...requestsOf('first', 4, 'first'), ...requestsOf('second', 3, 'second')]);
  await until(() => atProvider.length === 2);
  const [ending] = atProvider as [GivenBatch];
  provider.end(ending);
  await until(async () => (await openOf(client, both)) === 7 - ending.requests.length);
  await until(() => provider.removed.includes(ending.ref));
  provider.onCreate = (batch) => {
    atProvider.push(batch);
    return new Promise(() => {});
  };
  const cut = await make(client, requestsOf('cut', 5, 'first'));
  await until(() => atProvider.length === 3);
  return { batches: [both, cut], atProvider: atProvider.slice(1) };
}

/** The provider, which has another address now, has what it had, and ends it. Batches and files become as old as they were: they do not expire. */
export async function restoreBatches(
  copy: Opened,
  provider: ReturnType<typeof startBatchProvider>,
  { provider: before, provided }: Batches,
  olderMs: number,
): Promise<void> {
  provider.batches.push(...(provided?.atProvider ?? []));
  provider.letGo();
  await replaceText(copy, 'catalog', before, provider.url);
  for (const table of ['batches', 'files'])
    await runOnCopy(
      copy,
      `UPDATE ${table} SET created_at_ms = created_at_ms + ${olderMs}, due_at_ms = due_at_ms + ${olderMs}`,
    );
  const documents = { batches: 'id', ...(provided === null ? {} : { batch_parts: 'batch_id' }) };
  for (const [table, id] of Object.entries(documents))
    for (const row of await runOnCopy(copy, `SELECT ${id} AS id, document FROM ${table}`)) {
      const document = String(row['document']);
      const moved = document.replace(/(?<="\w+AtMs":)\d+/g, (at) => String(Number(at) + olderMs));
      const where = `${id} = ${row['id']} AND document = '${document}'`;
      await runOnCopy(copy, `UPDATE ${table} SET document = '${moved}' WHERE ${where}`);
    }
}

/**
 * Everything that was shown is shown, what ran goes on, what was canceled stays so, nothing is held, and the costs and the balance are what
 * was paid in.
 */
export async function expectBatches(
  turnpike: Turnpike,
  provider: ReturnType<typeof startBatchProvider>,
  { account, secret, credit, texts, running, canceling, provided }: Batches,
): Promise<void> {
  const client = clientOf(turnpike, secret);
  const { batches: ofProvider, atProvider } = provided ?? { batches: [], atProvider: [] };
  for (const path of Object.keys(texts))
    expect([path, await readText(turnpike, secret, path)]).toEqual([path, texts[path] as string]);
  let succeeded = 3 - 1 + 1; // of the batches that had ended
  for (const { id, customIds } of [running, ...ofProvider]) {
    expect(await resultsOf(client, id)).toEqual(customIds.map((custom_id) => [custom_id, 'succeeded']));
    succeeded += customIds.length;
  }
  const ended = await resultsOf(client, canceling.id);
  expect(ended.map(([custom_id]) => custom_id)).toEqual(canceling.customIds);
  const ofType = (type: string) => ended.filter(([, one]) => one === type).length;
  expect(ofType('succeeded') + ofType('canceled')).toBe(ended.length);
  expect(ofType('succeeded')).toBeGreaterThanOrEqual(QUICK);
  expect(ofType('canceled')).toBeGreaterThanOrEqual(SLOW + RUNNING_SLOW - OPEN_MAX);
  succeeded += ofType('succeeded');

  expect(provider.direct.filter((body) => !isSlow(body))).toEqual([]);
  expect(provider.removed.length).toBe(atProvider.length);
  const costs = (await readAll(turnpike.admin, `/usage?account=${account}`)).map(
    ({ cost }) => parseUsd(String(cost)) ?? 0,
  );
  expect(costs.filter((cost) => cost > 0).length).toBe(succeeded);
  const { balance, held } = await turnpike.admin('GET', `/accounts/${account}`);
  expect(held).toBe('0');
  expect(costs.reduce((sum, cost) => sum + cost, parseUsd(String(balance)) ?? 0)).toBe(parseUsd(credit) ?? 0);
}

function requestsOf(name: string, count: number, model = 'alone') {
  return Array.from({ length: count }, (_, at) => requestOf(`${name}-${at}`, model));
}

function requestOf(custom_id: string, model: string): Anthropic.Messages.BatchCreateParams.Request {
  return { custom_id, params: { model, max_tokens: 64, messages: [{ role: 'user', content: custom_id }] } };
}

async function make(client: Anthropic, requests: Anthropic.Messages.BatchCreateParams.Request[]): Promise<Ids> {
  const { id } = await client.messages.batches.create({ requests });
  return { id, customIds: requests.map(({ custom_id }) => custom_id) };
}

function clientOf({ url: baseURL }: Turnpike, apiKey: string): Anthropic {
  return new Anthropic({ baseURL, apiKey, maxRetries: 0 });
}

async function openOf(client: Anthropic, { id }: Ids): Promise<number> {
  return (await client.messages.batches.retrieve(id)).request_counts.processing;
}

async function resultsOf(client: Anthropic, id: string): Promise<string[][]> {
  await until(async () => (await client.messages.batches.retrieve(id)).processing_status === 'ended');
  const results = await Array.fromAsync(await client.messages.batches.results(id));
  return results.map(({ custom_id, result }) => [custom_id, result.type]);
}

async function readText({ url }: Turnpike, secret: string, path: string): Promise<string> {
  const response = await fetch(url + path, { headers: { 'x-api-key': secret } });
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.text();
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const endMs = Date.now() + WAIT_MS_MAX; !(await isSo()); await Bun.sleep(20))
    if (Date.now() > endMs) throw new Error(`not so in time: ${isSo}`);
}

const WAIT_MS_MAX = 60_000;
