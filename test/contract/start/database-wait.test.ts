// A start while PostgreSQL cannot be used yet: it waits as long as a setting says, and not for what only a changed setting cures.

import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cannotStartPostgres, startPostgres } from '../../support/start-postgres.ts';
import { serveCommand } from '../../support/start-turnpike.ts';

const TURNPIKE_SECRET = Buffer.alloc(32, 5).toString('base64');

function serve(directory: string, url: string, environment: Record<string, string> = {}) {
  const store = { TURNPIKE_DATABASE_URL: url };
  return Bun.spawn([...serveCommand(store), '--listen', '127.0.0.1:0', '--data', directory], {
    env: { ...process.env, TURNPIKE_SECRET, ...store, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Everything up to these words. */
async function readUntil(stream: ReadableStream<Uint8Array>, words: string): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true });
    if (text.includes(words)) return text;
  }
  throw new Error(`it ended without "${words}": ${text}`);
}

function withDirectory(): { path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), 'turnpike-wait-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

test.skipIf(cannotStartPostgres)('a start waits for a database that is down, and serves when it is there', async () => {
  using directory = withDirectory();
  const postgres = await startPostgres();
  try {
    await postgres.stop();
    const child = serve(directory.path, postgres.url);
    const waiting = await readUntil(child.stderr, 'database_awaited');
    expect(waiting).toContain('nothing listens there');
    await postgres.start();
    await readUntil(child.stdout, 'listening on http://');
    child.kill('SIGTERM');
    expect(await child.exited).toBe(0);
  } finally {
    await postgres.remove();
  }
});

test('a start waits no longer than its setting', async () => {
  using directory = withDirectory();
  const child = serve(directory.path, 'postgres://turnpike@127.0.0.1:9/turnpike', {
    TURNPIKE_DATABASE_WAIT_SECONDS: '0',
  });
  expect(await child.exited).toBe(1);
  const errors = await new Response(child.stderr).text();
  expect(errors).toContain('cannot connect to 127.0.0.1:9');
  expect(errors).not.toContain('database_awaited');
});

test.skipIf(cannotStartPostgres)('a start does not wait for a database that does not exist', async () => {
  using directory = withDirectory();
  const postgres = await startPostgres();
  try {
    const child = serve(directory.path, `${postgres.url}_elsewhere`);
    expect(await child.exited).toBe(1);
    const errors = await new Response(child.stderr).text();
    expect(errors).toContain('does not exist');
    expect(errors).not.toContain('database_awaited');
  } finally {
    await postgres.remove();
  }
});
