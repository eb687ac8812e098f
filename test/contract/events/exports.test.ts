// Exports that are sent by the node that leads: several at a time, fair by company, each attempt within a time.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { type ExportJobParts, type ExportSchedule, runExports } from '../../../src/exports/exports.ts';
import { makeExportJobStore } from '../../../src/storage/storage.ts';
import { setBounds } from '../../support/set-bounds.ts';
import {
  type Installation,
  type Json,
  makeAccount,
  makeInstallation,
  makeKey,
  useKey,
} from '../admin-api/installation.ts';

/** Answers well, or never. */
const objects: string[] = [];
const good = Bun.serve({
  port: 0,
  fetch({ url }) {
    objects.push(new URL(url).pathname);
    return new Response('', { headers: { etag: '"1"' } });
  },
});
let stuckRequests = 0;
const stuck = Bun.serve({
  port: 0,
  fetch() {
    stuckRequests++;
    return new Promise<Response>(() => {});
  },
});
afterAll(async () => {
  await good.stop(true);
  await stuck.stop(true);
});

let installation: Installation;
let ask: Installation['ask'];
beforeEach(async () => {
  installation = await makeInstallation();
  ask = installation.ask;
  stuckRequests = 0;
});

function jobOf(report: ExportJobParts['report']): ExportJobParts {
  const { stores, vault, clock } = installation;
  return {
    store: makeExportJobStore(stores.gate, stores.exports, () => 'node'),
    sources: stores,
    names: () => ({ installation: 'Turnpike', hidden: [] }),
    vault,
    lookup: async () => ['127.0.0.1'],
    privateNetwork: () => 'everyone',
    mailer: null,
    clock,
    report,
  };
}

/** An export of an account with a run that is due. The servers are on this machine, which the setting refuses. */
async function makeDue(account: Json, endpoint: string, members: Json = {}): Promise<string> {
  const { body, status } = await ask('POST', '/api/v1/exports', {
    ...{ kind: 'costs', every: 'month', target: 's3', s3_endpoint: 'https://s3.example.com', s3_bucket: 'finance' },
    ...{ s3_access_key_id: 'AKID', s3_secret_access_key: 'never-shown', account: account['id'], ...members },
  });
  expect(status).toBe(201);
  const { exports } = installation.stores.tables;
  const made = [...exports.values()].at(-1) as ExportSchedule;
  exports.set(made.id, { ...made, target: { ...made.target, endpoint } as ExportSchedule['target'] });
  await ask('POST', `/api/v1/exports/${body['id']}/run`, {});
  return String(body['id']);
}

async function runsOf(id: string): Promise<Json[]> {
  return (await ask('GET', `/api/v1/exports/${id}/runs`)).body['data'] as Json[];
}

test('a store that does not answer holds two slots of its company, and delays nobody else', async () => {
  const company = await makeAccount(installation, { name: 'company' });
  const below = { parent: company['id'], pays_from: 'parent', credit: undefined };
  const department = await makeAccount(installation, { name: 'department', ...below });
  const waiting: string[] = [];
  for (const account of [company, department, department, company])
    waiting.push(await makeDue(account, stuck.url.origin));
  const other = await makeDue(await makeAccount(installation, { name: 'other' }), good.url.origin);
  const sent = Promise.withResolvers<string>();
  const stopping = new AbortController();
  const job = runExports(
    jobOf((_, { status }) => sent.resolve(status)),
    stopping.signal,
  );
  expect(await sent.promise).toBe('done');
  expect(stuckRequests).toBeLessThanOrEqual(2);
  expect(await runsOf(other)).toMatchObject([{ status: 'done', error: null }]);
  expect(objects.filter((name) => name.includes(other)).map((name) => name.split('/').at(-1))).toEqual([
    'part-00001.csv',
    'manifest.json',
  ]);
  stopping.abort(); // the service stops: nothing waits for the store, and the runs go on later
  await job;
  for (const id of waiting) expect(await runsOf(id)).toMatchObject([{ status: 'pending', tries: 0, error: null }]);
});

test('an attempt ends after its time, as one that failed', async () => {
  using _short = setBounds({ exportSendMsMax: 60 });
  const id = await makeDue(await makeAccount(installation), stuck.url.origin);
  const reported: Json[] = [];
  await runExports(
    jobOf((_, { status, tries, error }) => reported.push({ status, tries, error })),
    new AbortController().signal,
  );
  expect(reported).toEqual([{ status: 'pending', tries: 1, error: 'it took longer than 0.001 minutes' }]);
  expect(await runsOf(id)).toMatchObject([{ status: 'pending', tries: 1 }]);
});

test('a run that waits behind others of its company begins when one of them ends', async () => {
  const account = await makeAccount(installation);
  const ids: string[] = [];
  for (let made = 0; made < 5; made++) ids.push(await makeDue(account, good.url.origin));
  const states: string[] = [];
  await runExports(
    jobOf((_, { status }) => states.push(status)),
    new AbortController().signal,
  );
  expect(states).toEqual(Array(5).fill('done'));
  for (const id of ids) expect(await runsOf(id)).toMatchObject([{ status: 'done' }]);
});

test('a run begins again when retention drops records of its period', async () => {
  using _small = setBounds({ exportPartRows: 1, exportPageRows: 1 });
  const account = await makeAccount(installation);
  for (let keys = 0; keys < 3; keys++) await useKey(installation, await makeKey(installation, account['id']), 1);
  installation.clock.advance(Date.UTC(2026, 11) - installation.clock.nowMs());
  const id = await makeDue(account, good.url.origin, { kind: 'records' });
  const sent = objects.length;
  const { retention } = installation.stores;
  const report = Promise.withResolvers<Json>();
  const job = jobOf((_, run) => report.resolve({ ...run }));
  const isSent = () => objects.length > sent + 1;
  const retainedSince: typeof retention.retainedSince = async (kept) =>
    kept === 'usage' && isSent() ? Date.UTC(2026, 10, 2) : null;
  const sources = { ...installation.stores, retention: { ...retention, retainedSince } };
  await runExports({ ...job, sources }, new AbortController().signal);
  const parts = objects.slice(sent).map((name) => name.split('/').at(-1));
  expect(parts.filter((name) => name === 'part-00001.csv').length).toBe(2);
  expect(parts.at(-1)).toBe('manifest.json');
  expect(await report.promise).toMatchObject({ status: 'done', rows: 3, tries: 0 });
  expect(await runsOf(id)).toMatchObject([{ status: 'done', rows: 3 }]);
});
