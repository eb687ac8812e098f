// A real browser on a page of another origin: what its rules let a caller do and read. Debian's
// Chromium; without it this is skipped, and says so.

import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTurnpike } from '../support/start-turnpike.ts';
import type { Seen } from './browser-page.ts';

const chromium = Bun.which('chromium') ?? Bun.which('chromium-browser') ?? Bun.which('google-chrome');
const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'];
const QUIET_FLAGS = ['--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** Opens a page with the script in the browser; resolves to what the script saw. */
async function openPage(settings: { url: string; key: string }): Promise<Seen> {
  const built = await Bun.build({ entrypoints: [join(import.meta.dir, 'browser-page.ts')], target: 'browser' });
  const script = (await built.outputs[0]?.text()) ?? '';
  const { promise, resolve } = Promise.withResolvers<Seen>();
  const page = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      if (pathname === '/seen') resolve((await request.json()) as Seen);
      if (pathname === '/script.js') return new Response(script, { headers: { 'content-type': 'text/javascript' } });
      const html = `<script>window.settings=${JSON.stringify(settings)}</script><script type="module" src="/script.js"></script>`;
      return new Response(html, { headers: { 'content-type': 'text/html' } });
    },
  });
  const profile = mkdtempSync(join(tmpdir(), 'turnpike-browser-'));
  const command = [chromium ?? '', ...FLAGS, ...QUIET_FLAGS, `--user-data-dir=${profile}`, page.url.href];
  const browser = Bun.spawn(command, { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' });
  try {
    return await promise;
  } finally {
    browser.kill();
    await browser.exited;
    await page.stop(true);
    rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

test.skipIf(chromium === null)(
  'a page of another origin sends messages, reads streams, errors, limits and costs, and never the admin API',
  async () => {
    await using turnpike = await startTurnpike();
    const { secret } = await turnpike.makeKey({}, { rpm: 100 });
    const seen = await openPage({ url: turnpike.url, key: secret });
    expect(seen).toEqual({
      text: 'whole',
      streamed: ['thinking ', 'text streamed'],
      refused: {
        name: 'BadRequestError',
        status: 400,
        code: 'model_not_found',
        requestId: expect.stringMatching(/^req_/),
      },
      vendor: { status: 200, requestId: expect.stringMatching(/^req_/), remaining: expect.stringMatching(/^9\d$/) },
      wrongKey: { status: 401, shouldRetry: 'false', code: 'key_invalid' },
      own: { prefix: secret.slice(0, 10), cost: '0.000006' }, // one token in, one out
      admin: 'blocked',
    });
  },
  60_000,
);
