// Data of earlier builds, killed in the middle of streams: this build starts on it, ends every hold, bills what the clients
// had got, and serves. make-state.ts makes the data.

import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { $ } from 'bun';
import { cannotStartPostgres, runOn, startPostgres, type TestPostgres } from '../../support/start-postgres.ts';
import { spawnTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import {
  PROMPT_TOKENS,
  postIdempotently,
  type Sent,
  type State,
  stateUpstream,
  TURNPIKE_SECRET,
} from './state-upstream.ts';

setDefaultTimeout(120_000);

const states = join(import.meta.dir, 'states');
const directories: string[] = [];
let postgres: TestPostgres | null = null;
afterAll(async () => {
  for (const path of directories) rmSync(path, { recursive: true, force: true });
  await postgres?.remove();
});

const names = readdirSync(states)
  .filter((name) => name.endsWith('.json'))
  .map((name) => name.replace('.json', ''))
  .sort();

test('there are states of several versions, on both stores', () => {
  expect(names.filter((name) => name.endsWith('-postgres')).length).toBeGreaterThan(4);
  expect(names.filter((name) => !name.endsWith('-postgres')).length).toBeGreaterThan(4);
});

/** A copy of the state, and the variables with which a service finds it. */
async function unpack(name: string, use = 'whole'): Promise<{ data: string; environment: Record<string, string> }> {
  const data = mkdtempSync(join(tmpdir(), 'turnpike-state-'));
  directories.push(data);
  if (!name.endsWith('-postgres')) {
    await $`tar -C ${data} -xzf ${join(states, `${name}.tgz`)}`;
    return { data, environment: {} };
  }
  postgres ??= await startPostgres();
  const database = `${use}_${name}`.replaceAll('-', '_');
  await runOn(postgres.url, `CREATE DATABASE ${database} TEMPLATE template0 ENCODING 'UTF8'`);
  const url = new URL(postgres.url);
  url.pathname = `/${database}`;
  await runOn(url.href, gunzipSync(readFileSync(join(states, `${name}.gz`))).toString());
  return { data, environment: { TURNPIKE_DATABASE_URL: url.href, TURNPIKE_SECRET } };
}

async function untilHoldsEnd(turnpike: Turnpike, left = 0): Promise<void> {
  for (let tries = 0; (await turnpike.check()).open_holds > left; tries++) {
    expect(tries).toBeLessThan(300);
    await Bun.sleep(100);
  }
}

async function readAll(turnpike: Turnpike, path: string): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = [];
  let cursor = '';
  do {
    const page = await turnpike.admin('GET', `${path}${cursor}`);
    rows.push(...(page['data'] as Record<string, unknown>[]));
    cursor = typeof page['next_cursor'] === 'string' ? `&cursor=${page['next_cursor']}` : '';
  } while (cursor !== '');
  return rows;
}

describe.each(names.filter((name) => !cannotStartPostgres || !name.endsWith('-postgres')))('the data of %s', (name) => {
  const { accounts, keys, sent } = JSON.parse(readFileSync(join(states, `${name}.json`), 'utf8')) as State;

  test('is served, with every hold ended and billed', async () => {
    const { data, environment } = await unpack(name);
    await using upstream = await stateUpstream();
    await using turnpike = await spawnTurnpike(data, environment);
    await untilHoldsEnd(turnpike);
    expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0, faults: [] });

    const records = new Map<unknown, Record<string, unknown>>();
    for (const account of accounts)
      for (const row of await readAll(turnpike, `/usage?account=${account}&limit=100`))
        records.set(row['request_id'], row);
    for (const one of sent) expectBilled(one, records.get(one.requestId));
    const unanswered = sent.filter(({ requestId }) => requestId === null);
    expect(records.size).toBe(sent.length);
    expect(unanswered.length).toBeGreaterThan(0);

    const scripted = { kind: 'anthropic', base_url: upstream.url, private_network: true };
    await turnpike.admin('POST', '/apply', { document: { providers: { scripted } } });
    for (const [at, key] of keys.entries()) {
      const repeated = await postIdempotently(
        turnpike,
        key,
        `slow ${at}`.replace('slow', 'again'),
        { stream: true },
        `slow-${at}-2`,
      );
      expect(repeated).toMatchObject({ isFinished: true, pieces: 5 });
    }
    await expectAllReads(turnpike);
    expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
  });
});

describe.each(['version-16', 'version-16-postgres'].filter((name) => names.includes(name)))(
  'of the data of %s',
  (name) => {
    test.skipIf(cannotStartPostgres)('one hold that cannot be read stays, and keeps no other', async () => {
      const { data, environment } = await unpack(name, 'damaged');
      const { TURNPIKE_DATABASE_URL: url } = environment;
      const damage = `UPDATE holds SET document = '{"v":99}' WHERE request_id = (SELECT min(request_id) FROM holds)`;
      if (url !== undefined) await runOn(url, damage);
      else {
        using database = new Database(join(data, 'turnpike.db'));
        database.run(damage);
      }
      await using turnpike = await spawnTurnpike(data, environment);
      await untilHoldsEnd(turnpike, 1);
      const { ok, faults } = await turnpike.check();
      expect(ok).toBe(false);
      expect(faults.join('\n')).toMatch(
        /req_\w+: its hold cannot be read, because a later release wrote it, in version 99/,
      );
      expect(await (await turnpike.scrape()).text()).toContain('\nturnpike_stuck_holds 1\n');
      expect((await turnpike.post(turnpike.key || 'none', {})).status).toBeLessThan(500);
    });
  },
);

/** A row of each table becomes unreadable, where others stay. Audit records and the journal are never updated. */
const DAMAGES = [
  ['accounts', 'document', `'{"name":"one"}'`, 'id'],
  ['keys', 'document', `'{"name":"one"}'`, 'id'],
  ['account_meters', 'group_rates', `'[]'`, 'id'],
  ['key_meters', 'limits', `'{}'`, 'id'],
  ['usage_records', 'details', `'{"others":[]}'`, 'request_id'],
  ['events', 'document', `'[]'`, 'seq'],
  ['learned', 'document', `'{"version":7}'`, 'model'],
  ['route_hours', 'document', `'{"answered":"x"}'`, 'at_ms'],
].map(
  ([table, column, text, id]) =>
    `UPDATE ${table} SET ${column} = ${text} WHERE ${id} = (SELECT min(${id}) FROM ${table})`,
);
const BROKEN_MODEL = `UPDATE catalog SET document = '[]' WHERE kind = 'model' AND name = (SELECT min(name) FROM catalog WHERE kind = 'model')`;

describe.each(['version-16', 'version-16-postgres'].filter((name) => names.includes(name)))(
  'of the data of %s',
  (name) => {
    test.skipIf(cannotStartPostgres)('rows that cannot be read stop no others', async () => {
      const { data, environment } = await unpack(name, 'unreadable');
      const { TURNPIKE_DATABASE_URL: url } = environment;
      for (const damage of [...DAMAGES, BROKEN_MODEL])
        if (url !== undefined) await runOn(url, damage);
        else {
          using database = new Database(join(data, 'turnpike.db'));
          database.run(damage);
        }
      await using turnpike = await spawnTurnpike(data, environment);
      await expectAllReads(turnpike);
      expect((await readAll(turnpike, '/accounts?limit=1')).length).toBe(2);
      expect((await readAll(turnpike, '/keys?limit=1')).length).toBe(2);
      expect((await readAll(turnpike, '/usage?limit=100')).length).toBeGreaterThan(8);
      await turnpike.admin('POST', '/apply', { document: { groups: { later: { models: ['*'] } } } });
      const { secret } = await turnpike.makeKey({ groups: ['later'] });
      const answer = await turnpike.post(secret, {
        model: 'sandbox-error-529',
        max_tokens: 5,
        messages: [{ role: 'user', content: 'Hello' }],
      });
      expect(answer.status).toBe(529);
    });
  },
);

/** As received, or not at all: a checkpoint is at most a few seconds old. */
function expectBilled(
  { stream, isFinished, pieces, requestId }: Sent,
  record: Record<string, unknown> | undefined,
): void {
  if (requestId === null) return;
  if (isFinished) {
    expect(record).toMatchObject({ outcome: 'completed', input_tokens: PROMPT_TOKENS, output_tokens: 8 * pieces });
    return;
  }
  expect(stream).toBe(true);
  expect(record).toMatchObject({ input_tokens: PROMPT_TOKENS });
  expect(record?.['output_tokens']).toBeGreaterThanOrEqual(8 * (pieces - 30));
  expect(record?.['output_tokens']).toBeLessThanOrEqual(9 * (pieces + 1));
}

/** Every list and report of the admin API that needs no id. */
async function expectAllReads(turnpike: Turnpike): Promise<void> {
  const { paths } = (await turnpike.admin('GET', '/openapi.json')) as {
    paths: Record<string, Record<string, unknown>>;
  };
  const readable = Object.keys(paths).filter((path) => 'get' in (paths[path] ?? {}) && !path.includes('{'));
  expect(readable.length).toBeGreaterThan(20);
  const failed: string[] = [];
  for (const path of readable) {
    const failure = await turnpike.admin('GET', path.replace('/api/v1', '')).then(
      () => null,
      (fault: Error) => fault.message,
    );
    if (failure !== null && !/: 400 /.test(failure)) failed.push(failure); // 400: it needs parameters
  }
  expect(failed).toEqual([]);
}
