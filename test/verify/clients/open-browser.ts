// A page in a real Chromium, of an origin of its own, with a script in it: what it posts to its own server is heard.
// No tests of its own.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Debian's Chromium, or another; null where none is installed. */
export const chromium = Bun.which('chromium') ?? Bun.which('chromium-browser') ?? Bun.which('google-chrome');
const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'];
const PAGE_MS_MAX = 60_000;
const QUIET_FLAGS = ['--disable-background-networking', '--disable-component-update', '--disable-sync'];

/**
 * Opens a page with the script, built for browsers, and `settings` in its window. Resolves when `hear`, which gets the path
 * and the body of each post, returns true.
 */
export async function openBrowser(
  script: string,
  settings: object,
  hear: (path: string, said: unknown) => boolean,
): Promise<void> {
  const built = await Bun.build({ entrypoints: [script], target: 'browser' });
  const code = (await built.outputs[0]?.text()) ?? '';
  const { promise, resolve } = Promise.withResolvers<void>();
  const page = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      if (request.method === 'POST') {
        if (hear(pathname, await request.json())) resolve();
        return new Response();
      }
      if (pathname === '/script.js') return new Response(code, { headers: { 'content-type': 'text/javascript' } });
      const shown = JSON.stringify(settings).replaceAll('<', '\\u003c');
      const html = `<meta charset="utf-8"><script>window.settings=${shown}</script><script type="module" src="/script.js"></script>`;
      return new Response(html, { headers: { 'content-type': 'text/html' } });
    },
  });
  const profile = mkdtempSync(join(tmpdir(), 'turnpike-browser-'));
  const command = [chromium ?? '', ...FLAGS, ...QUIET_FLAGS, `--user-data-dir=${profile}`, page.url.href];
  const browser = Bun.spawn(command, { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' });
  try {
    await Promise.race([
      promise,
      Bun.sleep(PAGE_MS_MAX).then(() => Promise.reject(new Error('the page came to no end'))),
    ]);
  } finally {
    browser.kill();
    await browser.exited;
    await page.stop(true);
    rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}
