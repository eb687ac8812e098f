// A page of the database that cannot be read: the service is not ready and says so, at its start and when a message meets the page.

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { closeSync, cpSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnTurnpike, type TurnpikeProcess } from '../../support/start-turnpike.ts';

const hello = { model: 'sandbox-echo', max_tokens: 5, messages: [{ role: 'user', content: 'hello' }] };

let directory: string;
let sound: string;
let key: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'turnpike-damaged-'));
  sound = join(directory, 'sound');
  const turnpike = await spawnTurnpike(sound);
  ({ key } = turnpike);
  await turnpike.stop();
  // Pages that a stop has left in the write-ahead log would hide the damage.
  const database = new Database(join(sound, 'turnpike.db'));
  database.run('PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function copyOf(name: string): string {
  const data = join(directory, name);
  cpSync(sound, data, { recursive: true });
  return data;
}

/** Makes the root page of the table unreadable, and leaves the others. */
function damage(data: string, table: string): void {
  const path = join(data, 'turnpike.db');
  const database = new Database(path, { readonly: true });
  const { rootpage } = database.query('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(table) as {
    rootpage: number;
  };
  const { page_size: bytes } = database.query('PRAGMA page_size').get() as { page_size: number };
  database.close();
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(16, 0xff), 0, 16, (rootpage - 1) * bytes);
  closeSync(file);
}

async function stateOf(turnpike: TurnpikeProcess) {
  const metrics = await (await turnpike.scrape()).text();
  return {
    ready: (await fetch(`${turnpike.url}/readyz`)).status,
    alive: (await fetch(`${turnpike.url}/healthz`)).status,
    available: /^turnpike_store_available (\d)$/m.exec(metrics)?.[1],
  };
}

const RED = { ready: 503, alive: 200, available: '0' };
const GREEN = { ready: 200, alive: 200, available: '1' };

/** Stops it, and returns its log. */
async function logOf(turnpike: TurnpikeProcess): Promise<string> {
  const log = new Response(turnpike.process.stderr).text();
  await turnpike.stop();
  return log;
}

for (const table of ['account_meters', 'key_meters', 'keys'])
  test(`a damaged page of ${table} is noticed at the start`, async () => {
    const data = copyOf(`started-${table}`);
    damage(data, table);
    const turnpike = await spawnTurnpike(data, { TURNPIKE_LOG: 'json' });
    expect(await stateOf(turnpike)).toEqual(RED);
    const log = await logOf(turnpike);
    expect(log).toContain('"event":"store_damaged"');
    expect(log).toContain(`malformed: ${table}`);
  });

test('a page that is damaged while the service runs is noticed by the first message that needs it', async () => {
  const data = copyOf('running');
  const turnpike = await spawnTurnpike(data, { TURNPIKE_LOG: 'json' });
  expect(await stateOf(turnpike)).toEqual(GREEN);
  damage(data, 'account_meters');
  const response = await turnpike.post(key, hello);
  const { error } = (await response.json()) as { error: { code: string } };
  const state = await stateOf(turnpike);
  const log = await logOf(turnpike); // shown with any failure
  expect({ status: response.status, code: error.code, state, log }).toEqual({
    status: 503,
    code: 'store_unavailable',
    state: RED,
    log: expect.stringContaining('"event":"store_damaged"'),
  });
});

test('other failures of a request leave it ready', async () => {
  await using turnpike = await spawnTurnpike(copyOf('other'));
  expect((await turnpike.post(key, hello)).status).toBe(200);
  expect((await turnpike.post(key, { ...hello, model: 'sandbox-error-500' })).status).toBe(502);
  expect((await turnpike.post('sk-tp-unknown', hello)).status).toBe(401);
  expect(await stateOf(turnpike)).toEqual(GREEN);
});
