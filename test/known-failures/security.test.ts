// Incidents of others: a door that was opened by its own question, a key that was another's, an address that a caller
// chose, a program that was run, packages that were not those meant. docs/known-failures.md says whose each was.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { makeKeySecret } from '../../src/accounts/accounts.ts';
import { bodyOf, expectError, type Json } from '../post-messages/world.ts';
import { projectFiles, readText } from '../sources.ts';
import { type ScriptedUpstream, scripts, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { KINDS, type KindsWorld, speak, startKindsWorld } from './provider-kinds.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const HOSTILE = [
  "' OR '1'='1",
  "' OR 1=1 --",
  "'; DROP TABLE keys; --",
  "sk-tp-' UNION SELECT * FROM accounts --",
  `sk-tp-${"'".repeat(49)}`,
  'sk-tp-%',
  'sk-tp-_________________________________________________',
  '") OR ("a"="a',
  '\\x27 or sleep(1)',
  '{"$ne":null}',
  '$1; SELECT 1',
  '\u00ff\u0080',
  "'".repeat(2_000),
];

let world: KindsWorld;
let elsewhere: ScriptedUpstream;
beforeAll(async () => {
  world = await startKindsWorld();
  elsewhere = await startScriptedUpstream(scripts.good());
});
afterAll(async () => {
  expect(await world.check()).toMatchObject({ ok: true, open_holds: 0, faults: [] });
  await world.stop();
  await elsewhere.close();
});

let asks = 0;
/** Each from an address of its own, so that nobody is told to wait for having guessed too often. */
const ask = (path: string, headers: Record<string, string>, init: RequestInit = {}) => {
  const address = `10.1.${++asks >> 8}.${asks & 255}`;
  const all = { 'content-type': 'application/json', 'x-forwarded-for': address, ...headers };
  return fetch(`${world.url}${path}`, { ...init, headers: all });
};

describe('who is not known', () => {
  test('opens nothing with words of the database, in a key or in a token, and is told what every stranger is', async () => {
    const before = await world.admin('GET', '/accounts');
    // What a stranger is told who shows nothing like a key or a token.
    const told = new Map<string, unknown>();
    for (const [path, token] of [
      ['/v1/models', 'a'],
      ['/api/v1/accounts', 'a'],
      ['/v1/models', ''],
      ['/api/v1/accounts', ''],
    ] as const) {
      const { error } = await (await ask(path, { authorization: `Bearer ${token}` })).json();
      told.set(error.code, [error.code, error.message]);
    }
    for (const words of HOSTILE) {
      const message = { method: 'POST', body: JSON.stringify(bodyOf({ model: words })) };
      const asked = [
        await ask('/v1/messages', { 'x-api-key': words }, message),
        await ask('/v1/messages', { authorization: `Bearer ${words}` }, message),
        await ask(`/v1/models/${encodeURIComponent(words)}`, { 'x-api-key': words }),
        await ask('/v1/chat/completions', { authorization: `Bearer ${words}` }, message),
        await ask(`/api/v1/accounts/${encodeURIComponent(words)}`, { authorization: `Bearer ${words}` }),
        await ask(`/api/v1/usage?account=${encodeURIComponent(words)}`, { authorization: `Bearer ${words}` }),
      ];
      for (const response of asked) {
        const { error } = (await response.json()) as { error: Json };
        expect([words, response.status]).toEqual([words, 401]);
        expect([error['code'], error['message']]).toEqual(told.get(String(error['code'])) as never);
      }
    }
    expect(await world.admin('GET', '/accounts')).toEqual(before);
  });

  test('is nobody with a key that differs from another, just used, in its last characters alone', async () => {
    world.upstream.play(scripts.good());
    const { secret } = await world.makeKey();
    const near = neighbourOf(secret);
    expect([near.slice(0, 40), near.length, near === secret]).toEqual([secret.slice(0, 40), secret.length, false]);
    const body = bodyOf({ model: 'anthropic' });
    for (let turn = 0; turn < 2; turn++) {
      expect((await world.post(secret, body)).status).toBe(200);
      await expectError(await world.post(near, body), 401, 'authentication_error', 'key_invalid');
    }
  });
});

/** The key next to this one: of the same form, with check digits of its own, and never given out. */
function neighbourOf(secret: string): string {
  const digits = secret.slice('sk-tp-'.length, 'sk-tp-'.length + 43);
  const number = [...digits].reduce((sum, digit) => sum * 62n + BigInt(BASE62.indexOf(digit)), 0n);
  const bytes = Buffer.from((number ^ 1n).toString(16).padStart(64, '0'), 'hex');
  return makeKeySecret(bytes).secret.reveal();
}

describe('a caller', () => {
  test.each(KINDS)('chooses no upstream address and no credential, over a provider of the kind %s', async (kind) => {
    world.upstream.play(speak(kind, ['Hello.']));
    const { secret } = await world.makeKey();
    const { url } = elsewhere;
    const names = ['api_base', 'base_url', 'baseURL', 'custom_host', 'proxy', 'upstream', 'url', 'endpoint'];
    const members = {
      ...Object.fromEntries(names.map((name) => [name, url])),
      api_key: 'sk-of-the-caller',
      custom_llm_provider: 'openai',
      extra_headers: { authorization: 'Bearer sk-of-the-caller', host: new URL(url).host },
      metadata: { api_base: url },
    };
    const headers = {
      'x-api-key': secret,
      'x-portkey-custom-host': url,
      'x-litellm-api-base': url,
      'x-upstream-url': url,
      'x-forwarded-host': new URL(url).host,
      'x-original-url': url,
      'x-rewrite-url': url,
    };
    const before = world.upstream.requests.length;
    const body = JSON.stringify(bodyOf({ model: kind, stream: true, ...members }));
    const response = await ask(`/v1/messages?api_base=${url}&key=sk-of-the-caller`, headers, { method: 'POST', body });
    expect([response.status, (await response.text()).includes('event: message_stop')]).toEqual([200, true]);
    expect(elsewhere.connectionCount).toBe(0);
    const sent = world.upstream.requests.slice(before);
    expect(sent).toHaveLength(1);
    expect(JSON.stringify([sent[0]?.path, sent[0]?.headers])).not.toContain('sk-of-the-caller');
    expect(JSON.stringify(sent[0]?.headers)).toContain('sk-of-the-provider');
  });
});

describe('a cache that a provider keeps for its customer', () => {
  test('tells an account nothing of the prompts of another, where each has a credential of its own', async () => {
    const seen = new Set<string>();
    // A provider that keeps prompts by the credential that it is shown, and tells by its counts what it knew.
    world.upstream.play(async (answer, request) => {
      const prompt = `${request.headers['x-api-key']}: ${JSON.stringify(JSON.parse(request.body).messages)}`;
      const known = seen.has(prompt);
      seen.add(prompt);
      const counts = known ? { cache_read_input_tokens: 2_000 } : { cache_creation_input_tokens: 2_000 };
      await scripts.good({ usage: { input_tokens: 1, output_tokens: 1, ...counts } })(answer, request);
    });
    const [victim, prober, another] = [await world.makeKey(), await world.makeKey(), await world.makeKey()];
    const own = (caller: { account: string }) => ({ api_key: `sk-${caller.account}`, account: caller.account });
    const credentials = { victim: own(victim), prober: own(prober) };
    const provider = { kind: 'anthropic', base_url: world.upstream.url, api_key: 'sk-of-all', private_network: true };
    const model = { price: { input: '3', output: '15' }, routes: [{ provider: 'caching', model: 'theirs' }] };
    const document = { providers: { caching: { ...provider, credentials } }, models: { cached: model } };
    await world.admin('POST', '/apply', { document });
    const body = bodyOf({ model: 'cached', messages: [{ role: 'user', content: 'The salary of Ada is 4,711.' }] });
    const readByCache = async (caller: { secret: string }) => {
      const answer = (await (await world.post(caller.secret, body)).json()) as { usage: Record<string, number> };
      return answer.usage['cache_read_input_tokens'] ?? 0;
    };
    expect([await readByCache(victim), await readByCache(victim)]).toEqual([0, 2_000]);
    expect([await readByCache(prober), await readByCache(another)]).toEqual([0, 0]);
  });
});

describe('the service', () => {
  const sources = projectFiles().filter((path) => path.startsWith('src/') && path.endsWith('.ts'));

  test('has no place in which a process is started, or a text is run as a program', () => {
    const starts =
      /Bun\.(?:spawn|\$)|\bspawn(?:Sync)?\(|child_process|node:(?:vm|repl|cluster|inspector)|\beval\(|new Function\(|dlopen|bun:ffi/;
    // But for one, of the runtime itself with a file of its own, to which nothing of a request or a setting goes.
    const bundlesConsole = `const command = [process.execPath, '--no-env-file', '--config=/dev/null', join(root, 'bin/bundle-console.ts')];
  const child = Bun.spawn(command, limits);`;
    const ownFile =
      /^(?:'\.[\w./-]+\.ts'|new URL\('\.[\w./-]+\.ts', import\.meta\.url\)|workerScript\('[\w-]+'\)\.href|script\.href|this\.#(?:parts\.)?script\.href)/;
    expect(sources.length).toBeGreaterThan(100);
    for (const path of sources) {
      const text = (readText(path) ?? '').replace(/^\s*(?:\/\/|\*|\/\*).*$/gm, '').replace(bundlesConsole, '');
      expect([path, starts.exec(text)?.[0]]).toEqual([path, undefined]);
      // Modules and threads are files of its own, named in the code.
      for (const [, named = ''] of text.matchAll(/(?:\bimport\(|new Worker\()([^)\n]*\)?[^)\n]*)/g))
        expect([path, named, ownFile.test(named)]).toEqual([path, named, true]);
    }
  });

  test('is made of packages that are pinned by version and hash, and runs nothing of them when they are installed', () => {
    const manifest = JSON.parse(readText('package.json') ?? '{}');
    const lock = JSON.parse(readText('package-lock.json') ?? '{}') as { packages: Record<string, Json> };
    for (const [name, version] of Object.entries<string>({ ...manifest.dependencies, ...manifest.devDependencies }))
      expect([name, version]).toEqual([name, expect.stringMatching(/^(?:npm:@?[\w/.-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/)]);
    const packages = Object.entries(lock.packages).filter(([path]) => path !== '');
    expect(packages.length).toBeGreaterThan(20);
    // Builds of development tools for other machines than those they were added on have no hash.
    const isForeignTool = ({ dev, optional, os }: Json) => dev === true && optional === true && os !== undefined;
    for (const [path, { integrity, ...rest }] of packages)
      if (integrity !== undefined || !isForeignTool(rest))
        expect([path, integrity]).toEqual([path, expect.stringMatching(/^sha512-/)]);
    const withScripts = packages.filter(([, { hasInstallScript }]) => hasInstallScript === true);
    const allowed = manifest.allowScripts as Record<string, boolean>;
    for (const [path] of withScripts)
      expect([path, allowed[path.replace(/^.*node_modules\//, '')]]).toEqual([path, false]);
  });
});
