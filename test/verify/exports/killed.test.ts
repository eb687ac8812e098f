// Runs of exports whose service is killed: at the next start each goes on, and ends with objects that have every row once.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fillUsage } from '../../../bench/fill-usage.ts';
import { parseUsd } from '../../../src/base/money.ts';
import { readCsv } from '../../contract/admin-api/exports/read-csv.ts';
import { turnpikeCommand } from '../../support/build-executable.ts';
import { attachTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import { ObjectStore, type StoreRequest } from './object-store.ts';

const RECORDS = 3_000;
const DAYS = 3;
const DAY_MS = 86_400_000;

const directory = mkdtempSync(join(tmpdir(), 'turnpike-killed-export-'));
const settings = join(directory, 'settings.json');
const store = new ObjectStore();
let running: { turnpike: Turnpike; child: Bun.Subprocess<'ignore', 'pipe', 'ignore'> };

/** Its files are of a day that is over, so that they do not change. */
const day = new Date(Date.now() - DAY_MS).toISOString().slice(0, 10);

async function start(): Promise<void> {
  const command = turnpikeCommand(['--preload', join(import.meta.dir, 'small-objects.ts')]);
  const flags = ['--listen', '127.0.0.1:0', '--data', directory, '--apply', settings];
  const child = Bun.spawn([...command, 'serve', ...flags], {
    env: { ...process.env, TURNPIKE_LOG: 'off' },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'ignore',
  });
  running = { child, turnpike: await attachTurnpike(child.stdout, directory) };
}

async function stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  running.child.kill(signal);
  await running.child.exited;
}

beforeAll(async () => {
  writeFileSync(settings, JSON.stringify({ settings: { webhook_private_network: 'operators' } }));
  await start();
  const { admin } = running.turnpike;
  const { id } = await admin('POST', '/accounts', { name: 'acme', credit: '1000000.00' });
  for (let keys = 0; keys < 3; keys++) await admin('POST', '/keys', { account: id });
  await stop('SIGTERM');
  fillUsage(join(directory, 'turnpike.db'), RECORDS, Date.now(), { days: DAYS });
  await start();
});

afterAll(async () => {
  await stop('SIGTERM');
  await store[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

/** Starts an export of the day; resolves to its id. */
async function startExport(): Promise<string> {
  const { admin } = running.turnpike;
  const { id } = await admin('POST', '/exports', {
    ...{ kind: 'records', format: 'csv', every: 'day', target: 's3', s3_endpoint: store.url, s3_region: 'local' },
    ...{ s3_bucket: 'finance', s3_access_key_id: 'key', s3_secret_access_key: 'secret' },
  });
  await admin('POST', `/exports/${id}/run`, { period: day });
  return String(id);
}

interface Run {
  status: string;
  rows: number;
  objects: string[];
}

async function runOf(id: string): Promise<Run> {
  const { data } = await running.turnpike.admin('GET', `/exports/${id}/runs`);
  return (data as Run[])[0] as Run;
}

async function untilDone(id: string): Promise<Run> {
  for (;;) {
    const run = await runOf(id);
    if (run.status !== 'pending') return run;
    await Bun.sleep(50);
  }
}

/** The whole period is in the objects, once. */
async function expectWhole(id: string, { rows, objects }: Run): Promise<void> {
  const { data } = await running.turnpike.admin('GET', `/usage/totals?group_by=day&since=${day}&until=${day}`);
  const [total] = data as { messages: number; cost: string }[];
  const found = [...store.objects].filter(([name]) => name.includes(id));
  const files = found.filter(([name]) => name.endsWith('.csv'));
  const records = files.flatMap(([, text]) => readCsv(text));
  expect(files.map(([name]) => name.replace('/finance/', '')).sort()).toEqual(objects);
  expect([rows, new Set(records.map((record) => record['request_id'])).size]).toEqual([records.length, records.length]);
  const cost = records.reduce((sum, record) => sum + BigInt(parseUsd(record['cost'] ?? '') ?? 0), 0n);
  expect([records.length, cost]).toEqual([total?.messages ?? 0, BigInt(parseUsd(total?.cost ?? '') ?? 0)]);
  const manifest = JSON.parse(found.find(([name]) => name.endsWith('manifest.json'))?.[1] ?? '{}');
  expect([manifest.rows, manifest.objects]).toEqual([rows, objects]);
  expect(store.uploads.size).toBe(0);
}

const moments: [when: string, isThen: (request: StoreRequest) => boolean][] = [
  ['before its first part is answered', ({ object, part }) => object.includes('part-00001') && part === 1],
  ['within its second object', ({ object, part }) => object.includes('part-00002') && part === 2],
  [
    'when the store has completed an object',
    ({ object, isCompletion }) => object.includes('part-00002') && isCompletion,
  ],
  ['when the store has the manifest', ({ object }) => object.endsWith('manifest.json')],
];

for (const [when, isThen] of moments)
  test(`a run that is killed ${when} goes on, and has every row once`, async () => {
    const reached = store.holdBack(isThen);
    const id = await startExport();
    await reached;
    expect((await runOf(id)).status).toBe('pending');
    await stop('SIGKILL');
    await start();
    const run = await untilDone(id);
    expect(run).toMatchObject({ status: 'done' });
    expect(run.objects.length).toBeGreaterThan(2);
    await expectWhole(id, run);
  });
