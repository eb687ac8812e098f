// Exports to a server that speaks S3: objects whole and in parts, a run that was interrupted, and failures.

import { setTimeout as wait } from 'node:timers/promises';
import { type ExportJobParts, type ExportSchedule, runExports } from '../../../src/exports/exports.ts';
import { makeExportJobStore } from '../../../src/storage/storage.ts';
import type { Json } from '../../contract/admin-api/installation.ts';
import { freePort } from '../../support/free-port.ts';
import { setBounds } from '../../support/set-bounds.ts';
import { type Months, makeMonths, totalOf } from './months.ts';
import type { Judge } from './open-judge.ts';
import type { Check } from './run.ts';

/** The first request and those that `bucket` of judge.py makes: the server asks for signatures after them. */
const OPEN_REQUESTS = '5';
const PART_BYTES = 10_000;

interface Bench {
  judge: Judge;
  months: Months;
  endpoint: string;
  key: { id: string; secret: string };
  directory: string;
}

export async function judgeSending(judge: Judge, directory: string, check: Check): Promise<void> {
  using _ = setBounds({ exportUploadBytes: PART_BYTES, exportPartRows: 1_500, exportPageRows: 200 });
  const endpoint = `http://127.0.0.1:${freePort()}`;
  const server = Bun.spawn([judge.program('moto_server'), '-H', '127.0.0.1', '-p', new URL(endpoint).port], {
    env: { ...process.env, INITIAL_NO_AUTH_ACTION_COUNT: OPEN_REQUESTS, S3_UPLOAD_PART_MIN_SIZE: '1000' },
    stdout: 'ignore',
    stderr: 'ignore',
  });
  try {
    await untilListening(endpoint);
    const key = (await judge.ask({ ask: 'bucket', endpoint, bucket: 'finance' })) as unknown as Bench['key'];
    const months = await makeMonths(2_500);
    const bench = { judge, months, endpoint, key, directory };
    await refuseWrongKey(bench, check);
    for (const format of ['csv', 'parquet']) await judgeInterrupted(bench, format, check);
  } finally {
    server.kill();
    await server.exited;
  }
}

async function untilListening(url: string): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    if (
      await fetch(url).then(
        () => true,
        () => false,
      )
    )
      return;
    await wait(100);
  }
  throw new Error(`nothing listens at ${url}`);
}

/** The job of a node over these stores; `report` is called after each attempt. */
function jobOf({ months }: Bench, report: ExportJobParts['report']): ExportJobParts {
  const { stores, vault, clock } = months.installation;
  return {
    store: makeExportJobStore(stores.gate, stores.exports, () => 'node'),
    sources: stores,
    names: () => ({ installation: 'Turnpike', hidden: [] }),
    vault,
    lookup: async () => ['127.0.0.1'],
    privateNetwork: () => 'operators',
    mailer: null,
    clock,
    report,
  };
}

async function create({ months, endpoint, key }: Bench, members: Json): Promise<Json> {
  const { ask, stores } = months.installation;
  const { status, body } = await ask('POST', '/api/v1/exports', {
    ...{ kind: 'records', every: 'month', target: 's3', s3_endpoint: 'https://s3.example.com', s3_bucket: 'finance' },
    ...{ s3_region: 'eu-central-1', s3_prefix: 'a/b=c', s3_access_key_id: key.id, s3_secret_access_key: key.secret },
    ...members,
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
  // The server is on this machine, which the setting of this installation refuses.
  const made = [...stores.tables.exports.values()].at(-1) as ExportSchedule;
  stores.tables.exports.set(made.id, { ...made, target: { ...made.target, endpoint } as ExportSchedule['target'] });
  return body;
}

async function refuseWrongKey(bench: Bench, check: Check): Promise<void> {
  const made = await create(bench, { s3_secret_access_key: 'wrong' });
  const { ask } = bench.months.installation;
  await ask('POST', `/api/v1/exports/${made['id']}/run`, {});
  await runExports(
    jobOf(bench, () => {}),
    new AbortController().signal,
  );
  const { data } = (await ask('GET', `/api/v1/exports/${made['id']}/runs`)).body as { data: Json[] };
  const { status, tries, error, objects } = data[0] ?? {};
  check('a wrong key: the run waits', [status, tries, objects], ['pending', 1, []]);
  check('a wrong key: the reason', String(error).slice(0, 23), 'the store answered 403 ');
  await ask('PATCH', `/api/v1/exports/${made['id']}`, { status: 'disabled' });
}

/** A run that is stopped after its first object goes on with the second. */
async function judgeInterrupted(bench: Bench, format: string, check: Check): Promise<void> {
  const { judge, months, endpoint, key, directory } = bench;
  const { ask, stores } = months.installation;
  const made = await create(bench, { format });
  await ask('POST', `/api/v1/exports/${made['id']}/run`, { period: '2026-11' });
  const stopping = new AbortController();
  const first = jobOf(bench, () => {});
  const { saveRun } = first.store;
  first.store.saveRun = async (run, events) => {
    await saveRun(run, events);
    if (run.objects.length === 1 && run.upload !== null) stopping.abort(); // within the second object
  };
  await runExports(first, stopping.signal);
  const [stopped] = [...stores.tables.exportRuns.values()].slice(-1);
  // A group of Parquet is complete at once, so that the second object may be, too.
  const isInterrupted = stopped?.status === 'pending' && [1, 2].includes(stopped.objects.length);
  check(`${format}: the run is interrupted`, isInterrupted, true);
  await runExports(
    jobOf(bench, () => {}),
    new AbortController().signal,
  );
  const { data } = (await ask('GET', `/api/v1/exports/${made['id']}/runs`)).body as { data: Json[] };
  const run = data[0] ?? {};
  check(`${format}: the run`, [run['status'], run['error'], run['rows']], ['done', null, 5_014]);
  const found = await judge.ask({ ask: 'objects', endpoint, bucket: 'finance', ...key, directory });
  const objects = Object.entries(found['objects'] as Record<string, string>).filter(([name]) =>
    name.includes(String(made['id'])),
  );
  check(`${format}: no upload is left`, found['uploads'], 0);
  const parts = objects.filter(([name]) => name.endsWith(format));
  check(
    `${format}: the objects`,
    parts.map(([name]) => name),
    run['objects'],
  );
  const read = format === 'csv' ? 'read_csv' : 'read_parquet';
  const files = `${read}([${parts.map(([, path]) => `'${path}'`).join(', ')}])`;
  const sums = await judge.query(
    `SELECT COUNT(DISTINCT request_id), COUNT(*), SUM(CAST(balance_paid AS DECIMAL(18, 9))) FROM ${files}`,
  );
  check(`${format}: the rows`, sums[0], ['5014', '5014', await totalOf(months, '2026-11', 'used')]);
  const manifest = objects.find(([name]) => name.endsWith('manifest.json'))?.[1] ?? '';
  const { rows, objects: listed } = (await Bun.file(manifest).json()) as Json;
  check(`${format}: the manifest`, [rows, listed], [5_014, run['objects']]);
}
