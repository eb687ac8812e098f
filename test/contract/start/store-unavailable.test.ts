// A full disk, simulated with a limit on file sizes: the service refuses messages, logs the reason and continues.

import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootDirectory } from '../../check.ts';
import { runTurnpike } from '../../support/run-turnpike.ts';
import { attachTurnpike, spawnTurnpike, type Turnpike } from '../../support/start-turnpike.ts';

const FILE_BLOCKS_MAX = 4_096; // in blocks of 512 bytes per file; the database's log reaches the limit first

const directory = mkdtempSync(join(tmpdir(), 'turnpike-store-unavailable-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function spawnOnSmallDisk(data: string) {
  const main = join(rootDirectory, 'src', 'main.ts');
  const serve = [process.execPath, main, 'serve', '--listen', '127.0.0.1:0', '--data', data];
  return Bun.spawn(['sh', '-c', `trap '' XFSZ; ulimit -f ${FILE_BLOCKS_MAX}; exec "$@"`, 'sh', ...serve], {
    env: { PATH: '/usr/bin:/bin' },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
}

/** Sends messages until one is refused. */
async function fill(turnpike: Turnpike, secret: string): Promise<Response> {
  for (let sent = 0; sent < 2_000; sent++) {
    const body = { model: 'sandbox-echo', max_tokens: 5, messages: [{ role: 'user', content: 'hello' }] };
    const response = await turnpike.post(secret, body);
    if (!response.ok) return response;
    await response.text();
  }
  throw new Error('the disk never became full');
}

test('on a full disk messages are refused with the reason in the log, and a stream whose bill cannot be written ends with an error', async () => {
  const data = join(directory, 'data');
  const child = spawnOnSmallDisk(data);
  const turnpike = await attachTurnpike(child.stdout, data);
  const log = new Response(child.stderr).text();
  await turnpike.admin('POST', '/apply', { document: { settings: { settle_wait_seconds: 1 } } });
  const { secret, account } = await turnpike.makeKey();
  const long = { model: 'sandbox-lorem', max_tokens: 800, stream: true, messages: [{ role: 'user', content: 'go' }] };
  const streamed = turnpike.post(secret, long).then((response) => response.text());
  await Bun.sleep(300);
  await turnpike.admin('GET', `/accounts/${account}`); // a read writes young holds down before

  const refused = await fill(turnpike, secret);
  expect(refused.status).toBe(503);
  expect(await refused.text()).toContain('"store_unavailable"');
  expect((await fetch(`${turnpike.url}/readyz`)).status).toBe(503);
  expect((await fetch(`${turnpike.url}/healthz`)).status).toBe(200);
  expect(await (await turnpike.scrape()).text()).toContain('turnpike_store_available 0');
  expect(await streamed).toContain('"store_unavailable"');

  child.kill('SIGTERM');
  expect(await child.exited).toBe(1);
  const written = await log;
  expect(written).toMatch(/"event":"store_failed","cause":"SQLiteError: /);
  // Counts the stream, and the last message if the disk became full between its admission and its end.
  const [, count = '0'] = /"event":"endings_not_stored","count":(\d)/.exec(written) ?? [];
  expect(['1', '2']).toContain(count);
  expect(written).toContain(`turnpike serve: charges that the store did not accept: ${count}; their messages`);

  const again = await spawnTurnpike(data);
  const usage = (await again.admin('GET', `/usage?account=${account}&limit=1000`))['data'] as { outcome: string }[];
  const cut = usage.filter(({ outcome }) => outcome !== 'completed').map(({ outcome }) => outcome);
  expect(cut).toEqual(['service_cut']); // the stream; a young message without its bill leaves nothing
  await again.stop();
  expect((await runTurnpike(['check', '--data', data])).exitCode).toBe(0);
});
