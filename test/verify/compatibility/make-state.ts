// Makes the data of a build for the test beside it: `sh bin/with-bun all test/verify/compatibility/make-state.ts CHECKOUT NAME`.
// CHECKOUT is a working tree of the build with installed packages. Its service runs under load and is killed in the middle of streams; its
// data directory, and a dump of the same on PostgreSQL, become states/NAME.tgz and states/NAME-postgres.gz with the files beside it, and
// what the test must find states/NAME-facts.gz. STATES must not be states/ itself.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { $ } from 'bun';
import { ScriptedStripe } from '../../support/scripted-stripe.ts';
import { startPostgres, type TestPostgres } from '../../support/start-postgres.ts';
import type { Turnpike, TurnpikeProcess } from '../../support/start-turnpike.ts';
import { makeBatches } from './state-batches.ts';
import { makeFeatures, salesDocument, stripeEnvironment } from './state-features.ts';
import { postIdempotently, type Sent, type State, stateUpstream, TURNPIKE_SECRET } from './state-upstream.ts';

const [checkout = '', name = ''] = process.argv.slice(2);
const states = process.env['STATES'] ?? join(import.meta.dir, 'states');
const { spawnTurnpike } = (await import(join(resolve(checkout), 'test/support/start-turnpike.ts'))) as {
  spawnTurnpike(directory: string, environment: Record<string, string>): Promise<TurnpikeProcess>;
};

/** Builds that take payments have plans, codes and events, too. */
const hasSales = existsSync(join(checkout, 'src/admin-api/subscriptions.ts'));

const hasBatches = existsSync(join(checkout, 'src/batches/batches.ts'));
/** Batches that providers run. */
const hasParts = existsSync(join(checkout, 'src/batches/part-runner.ts'));

mkdirSync(states, { recursive: true });
const directory = mkdtempSync(join(tmpdir(), 'turnpike-state-'));
try {
  await makeSqlite();
  await makePostgres();
} finally {
  rmSync(directory, { recursive: true, force: true });
}

async function makeSqlite(): Promise<void> {
  const data = join(directory, 'sqlite');
  const state = await run(data, {});
  await $`tar -C ${data} -czf ${join(states, `${name}.tgz`)} ${readdirSync(data)}`;
  writeState(name, state);
}

async function makePostgres(): Promise<void> {
  const postgres: TestPostgres = await startPostgres();
  try {
    const data = join(directory, 'postgres');
    const place = hasBatches ? { TURNPIKE_FILES: join(data, 'files') } : {};
    const state = await run(data, { TURNPIKE_DATABASE_URL: postgres.url, TURNPIKE_SECRET, ...place });
    if (hasBatches) await $`tar -C ${data} -czf ${join(states, `${name}-postgres-files.tgz`)} files`;
    const dump = await $`pg_dump --inserts --no-owner --no-privileges ${postgres.url}`.quiet().text();
    const statements = dump.split('\n').filter((line) => !line.startsWith('\\') && !line.startsWith('--'));
    writeFileSync(join(states, `${name}-postgres.gz`), gzipSync(statements.join('\n'), { level: 9 }));
    writeState(`${name}-postgres`, state);
  } finally {
    await postgres.remove();
  }
}

function writeState(name: string, state: State): void {
  writeFileSync(join(states, `${name}-facts.gz`), gzipSync(JSON.stringify(state), { level: 9 }));
}

/** Serves until streams are in the middle, and kills the service. */
async function run(data: string, environment: Record<string, string>): Promise<State> {
  mkdirSync(data);
  await using upstream = await stateUpstream();
  const stripe = new ScriptedStripe();
  const listening = await stripe.listen();
  const payments = hasSales ? stripeEnvironment(stripe, listening.url) : {};
  const turnpike = await spawnTurnpike(data, { ...environment, ...payments });
  await applyDocument(turnpike, upstream.url, hasSales ? salesDocument(stripe) : {});
  const sent: Sent[] = [];
  const { secret, account } = await turnpike.makeKey({ credit: '20.00' }, {});
  const limited = await turnpike.makeKey({ credit: '5.00' }, { quota: '2.00', quota_period: 'month' });
  const keys = [secret, limited.secret];
  for (const [at, key] of [...keys, ...keys, ...keys].entries()) {
    sent.push(await postIdempotently(turnpike, key, `whole ${at}`, { stream: false }));
    sent.push(await postIdempotently(turnpike, key, `stream ${at}`, { stream: true }));
  }
  const features = await makeFeatures(turnpike, [account, limited.account], hasSales ? stripe : null);
  await turnpike.post(secret, { model: 'unknown', max_tokens: 10, messages: [{ role: 'user', content: 'x' }] });
  const batches = hasBatches ? await makeBatches(turnpike, hasParts) : null;
  const running = keys.flatMap((key, at) => [
    postIdempotently(turnpike, key, `slow ${at}`, { stream: true }),
    postIdempotently(turnpike, key, `slow without key ${at}`, { stream: true }, null),
    postIdempotently(turnpike, key, `slow whole ${at}`, { stream: false }),
  ]);
  await Bun.sleep(6_000); // checkpoints are written every second or two
  turnpike.process.kill('SIGKILL');
  await turnpike.process.exited;
  sent.push(...(await Promise.all(running)));
  await listening.stop();
  const made = (await batches?.finish()) ?? null;
  return { accounts: [account, limited.account], keys, sent, upstream: upstream.url, features, batches: made };
}

async function applyDocument(turnpike: Turnpike, url: string, more: object): Promise<void> {
  const document = {
    providers: { scripted: { kind: 'anthropic', base_url: url, private_network: true } },
    models: { scripted: { price: { input: '3', output: '15' }, routes: [{ provider: 'scripted' }] } },
    groups: { default: { models: ['*'] } },
    ...more,
  };
  await turnpike.admin('POST', '/apply', { document });
}
