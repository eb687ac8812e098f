// The files under /console/ and their headers.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleConsole } from '../../bin/bundle-console.ts';
import type { EarlyScripts } from '../../console/early-load.ts';
import { firstPageName, firstPages } from '../../console/first-table.ts';
import { publicScreens, readingScreens, screens } from '../../console/screens.ts';
import type { Manifest } from '../../src/console/built-files.ts';
import { negotiateEncoding } from '../../src/http/http.ts';
import { sharedTurnpike } from '../support/shared-turnpike.ts';
import { startTurnpike, type Turnpike } from '../support/start-turnpike.ts';

/** Bytes of brotli, as a checkout compresses: a second of a line of 50 KB/s is 50,000. */
const SIGN_IN_BYTES_MAX = 12_100;
/** Bytes of the first content of a page, without the answers of the admin API. */
const FIRST_BYTES_MAX = 46_000;
const PAGE_BYTES_MAX = 226_500;
/** Pages with large forms, with the answers of models, or with many parts. */
const pageBytesMax: Readonly<Record<string, number>> = {
  '/keys/$keyId': 241_400,
  '/playground': 269_500,
  '/providers/$providerName/models': 244_600,
  '/providers/new': 267_700,
  '/accounts/$accountId': 233_600,
};

const SETUP_MS_MAX = 30_000;

let turnpike: Turnpike;
beforeAll(async () => {
  turnpike = await sharedTurnpike();
}, SETUP_MS_MAX);
afterAll(() => turnpike?.stop());

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${turnpike.url}${path}`, { method, headers, redirect: 'manual' });

/** The directives of the Content-Security-Policy of a response. */
function policyOf(answer: Response): Map<string, string> {
  const text = answer.headers.get('content-security-policy') ?? '';
  return new Map(
    text.split('; ').map((part) => [part.slice(0, part.indexOf(' ')), part.slice(part.indexOf(' ') + 1)] as const),
  );
}

describe('the page', () => {
  test('is served on every path under /console/, so that addresses can be reloaded and shared', async () => {
    const pages = await Promise.all(['/console/', '/console/keys', '/console/usage/req_1'].map((path) => get(path)));
    for (const page of pages) {
      expect(page.status).toBe(200);
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(await page.text()).toContain('<div id="root">');
    }
  });

  test('may run no script but our own files, and be in no frame', async () => {
    const policy = policyOf(await get('/console/'));
    expect(policy.get('default-src')).toBe("'none'");
    expect(policy.get('script-src')).toBe("'self'");
    expect(policy.get('connect-src')).toBe("'self'");
    expect(policy.get('frame-ancestors')).toBe("'none'");
    expect(policy.get('base-uri')).toBe("'none'");
  });

  test('has a fresh style nonce, which its own style has, and no inline script', async () => {
    const [one, other] = await Promise.all([get('/console/'), get('/console/')]);
    const nonces = [one, other].map(
      (answer) => /'nonce-([^']+)'/.exec(answer.headers.get('content-security-policy') ?? '')?.[1],
    );
    expect(nonces[0]).not.toBe(nonces[1]);
    const text = await one.text();
    expect(text).toContain(`content="${nonces[0]}"`);
    expect([...text.matchAll(/<script\b[^>]*>([\s\S]*?)<\/script>/g)].map((match) => match[1])).toEqual(['']);
    expect(text.match(/<style[^>]*>/g)).toEqual([`<style nonce="${nonces[0]}">`]);
    expect(text).not.toMatch(/\son[a-z]+=|\sstyle=|javascript:/i);
  });

  test('is not cached and sends no referrer', async () => {
    const { headers } = await get('/console/');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  test('has no CORS headers', async () => {
    const preflight = { origin: 'https://elsewhere.example', 'access-control-request-method': 'GET' };
    for (const method of ['GET', 'OPTIONS']) {
      const answer = await get('/console/', preflight, method);
      const names = [...answer.headers.keys()].filter((name) => name.startsWith('access-control-'));
      expect(names).toEqual([]);
    }
  });

  test('allows only GET and HEAD', async () => {
    const answer = await get('/console/', {}, 'POST');
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('GET, HEAD');
  });
});

describe('the address of the service', () => {
  test('redirects a browser to the console and answers other clients as before', async () => {
    const browser = await get('/', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' });
    expect([browser.status, browser.headers.get('location')]).toEqual([302, '/console/']);
    const client = await get('/', { accept: 'application/json' });
    expect(client.status).toBe(200);
    expect(await client.json()).toMatchObject({ name: 'turnpike' });
  });

  test('redirects to the console without the trailing slash, too', async () => {
    const answer = await get('/console');
    expect([answer.status, answer.headers.get('location')]).toEqual([302, '/console/']);
  });

  test('has no console if the admin API has a separate address', async () => {
    await using apart = await startTurnpike({ settings: { admin_listen: '127.0.0.1:0' } });
    const { url } = JSON.parse(readFileSync(join(apart.dataDirectory, 'operator.json'), 'utf8')) as { url: string };
    expect(new URL(url).port).not.toBe(new URL(apart.url).port);
    expect((await fetch(`${apart.url}/console/`)).status).toBe(404);
    const page = await fetch(`${url}/console/`);
    expect(page.status).toBe(200);
    // The playground sends messages to the other port.
    expect(policyOf(page).get('connect-src')).toBe(`'self' ${apart.url}`);
  });
});

describe('the files', () => {
  const built = async () => JSON.parse(readFileSync(join(await bundleConsole(), 'manifest.json'), 'utf8')) as Manifest;

  const readEarly = async (manifest: Manifest) => {
    const name = /early-\w+\.js/.exec(readFileSync(manifest['index.html']?.path ?? '', 'utf8'))?.[0] ?? '';
    return { name, scripts: readScripts(readFileSync(manifest[name]?.path ?? '', 'utf8')) };
  };

  const mainScript = async () => {
    const { names, main } = (await readEarly(await built())).scripts;
    return names[main[0] ?? -1];
  };

  test('are immutable, and their names contain a content hash', async () => {
    const names = Object.keys(await built()).filter((name) => name !== 'index.html');
    expect(names.filter((name) => !/-[0-9a-z]{8}\.[a-z]+$/.test(name))).toEqual([]);
    const answer = await get(`/console/${await mainScript()}`, { 'accept-encoding': 'identity' });
    expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(answer.headers.get('content-type')).toStartWith('text/javascript');
  });

  test('are compressed if the client accepts it, with the same content', async () => {
    const script = await mainScript();
    const texts = new Set<string>();
    for (const encoding of ['br', 'gzip', 'identity']) {
      const answer = await get(`/console/${script}`, { 'accept-encoding': encoding });
      expect(answer.headers.get('content-encoding')).toBe(encoding === 'identity' ? null : encoding);
      expect(answer.headers.get('vary')).toBe('accept-encoding');
      texts.add(await answer.text());
    }
    expect(texts.size).toBe(1);
  });

  test.each([
    ['br, gzip', 'br'],
    ['gzip, deflate', 'gzip'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
    ['BR', 'br'],
    ['identity', null],
    ['', null],
    [null, null],
  ])('accept-encoding %p selects %p', (accepted, form) => {
    expect(negotiateEncoding(accepted, ['br', 'gzip'])).toBe(form);
  });

  test('outside the manifest are 404', async () => {
    for (const name of [
      'missing.js',
      'manifest.json',
      '../package.json',
      '..%2f..%2fpackage.json',
      '%2e%2e/package.json',
      'index.js.br',
    ])
      expect([name, (await get(`/console/${name}`)).status]).toEqual([name, 404]);
  });

  test('before the first content of a page are within its budget of compressed bytes', async () => {
    const manifest = await built();
    const page = readFileSync(manifest['index.html']?.path ?? '', 'utf8');
    // The style sheet would delay the frame if it came before.
    expect(page.indexOf('class="early"')).toBeLessThan(page.indexOf('rel="stylesheet"'));
    const styles = /styles-\w+\.css/.exec(page)?.[0] ?? '';
    const { name: early, scripts } = await readEarly(manifest);
    const sizeOf = (name: string) => readFileSync(manifest[name]?.encoded['br'] ?? manifest[name]?.path ?? '').length;
    const bytesOf = (names: Iterable<string>) => page.length + [...names].reduce((sum, name) => sum + sizeOf(name), 0);
    const filesOf = (places: readonly number[]) =>
      closure(
        manifest,
        places.map((place) => scripts.names[place] ?? ''),
      );
    expect(bytesOf([early, ...filesOf(scripts.signIn)])).toBeLessThan(SIGN_IN_BYTES_MAX);
    const first = screens.flatMap(({ path }) => {
      const drawn = firstPages[path]?.path === undefined ? [firstPageName(path, scripts.drawn)] : [];
      const bytes = bytesOf([early, styles, ...filesOf(scripts.first), ...drawn]);
      return bytes < FIRST_BYTES_MAX ? [] : [`${path}: ${bytes} bytes`];
    });
    expect(first).toEqual([]);
    const over = Object.entries(scripts.pages).flatMap(([path, places]) => {
      const bytes = bytesOf(new Set([early, styles, ...filesOf([...scripts.main, ...places])]));
      return bytes > (pageBytesMax[path] ?? PAGE_BYTES_MAX) ? [`${path}: ${bytes} bytes`] : [];
    });
    expect(over).toEqual([]);
    expect(Object.keys(scripts.pages)).toEqual(
      [...screens, ...publicScreens, ...readingScreens].map(({ path }) => path),
    );
  });
});

/** The scripts that early.ts starts, as bin/console-files.ts wrote them into it. */
function readScripts(early: string): EarlyScripts {
  const [literal] = /\{main:\[.*?laterStyles:"[^"]+"\}/s.exec(early) ?? [];
  if (literal === undefined) throw new Error('early.ts does not name the scripts');
  return new Function(`return ${literal}`)() as EarlyScripts;
}

/** Scripts and their static imports, without those that load on demand: none is missing from what starts early. */
function closure(manifest: Manifest, entries: readonly string[]): Set<string> {
  const wanted = new Set<string>();
  const queue = [...entries];
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    if (wanted.has(name)) continue;
    wanted.add(name);
    const text = readFileSync(manifest[name]?.path ?? '', 'utf8');
    for (const match of text.matchAll(/(?:^|[;}\n])(?:import|export)\b[^;"']*?["']\/console\/([\w.-]+\.js)["']/g))
      queue.push(match[1] ?? '');
  }
  return wanted;
}
