// Security incidents of other systems: SQL injection before authentication, a confused key, a target address chosen
// by the client, a program started by a request, replaced packages. docs/known-failures.md has the sources.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { makeKeySecret } from '../../../src/accounts/accounts.ts';
import { projectFiles, readText } from '../../sources.ts';
import { type ScriptedUpstream, scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { bodyOf, expectError, type Json } from '../post-messages/world.ts';
import { KINDS, type KindsWorld, startKindsWorld, streamText } from './provider-kinds.ts';

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
/** Each request comes from an address of its own, so that none is refused for too many failed attempts. */
const ask = (path: string, headers: Record<string, string>, init: RequestInit = {}) => {
  const address = `10.1.${++asks >> 8}.${asks & 255}`;
  const all = { 'content-type': 'application/json', 'x-forwarded-for': address, ...headers };
  return fetch(`${world.url}${path}`, { ...init, headers: all });
};

describe('a client without a valid key', () => {
  test('gets the same error for a key or token with SQL in it as for any other invalid one', async () => {
    const before = await world.admin('GET', '/accounts');
    // The message names the header that was sent.
    const wordsOf = ({ code, message }: Json) => [
      code,
      String(message).replace(/^(?:invalid x-api-key|Invalid bearer token):/, ''),
    ];
    // The error for a key or token of invalid form.
    const errors = new Map<string, unknown>();
    for (const [path, token] of [
      ['/v1/models', 'a'],
      ['/api/v1/accounts', 'a'],
      ['/v1/models', ''],
      ['/api/v1/accounts', ''],
    ] as const) {
      const { error } = await (await ask(path, { authorization: `Bearer ${token}` })).json();
      errors.set(error.code, wordsOf(error));
    }
    for (const words of HOSTILE) {
      const message = { method: 'POST', body: JSON.stringify(bodyOf({ model: words })) };
      const attempts = [
        await ask('/v1/messages', { 'x-api-key': words }, message),
        await ask('/v1/messages', { authorization: `Bearer ${words}` }, message),
        await ask(`/v1/models/${encodeURIComponent(words)}`, { 'x-api-key': words }),
        await ask('/v1/chat/completions', { authorization: `Bearer ${words}` }, message),
        await ask(`/api/v1/accounts/${encodeURIComponent(words)}`, { authorization: `Bearer ${words}` }),
        await ask(`/api/v1/usage?account=${encodeURIComponent(words)}`, { authorization: `Bearer ${words}` }),
      ];
      for (const response of attempts) {
        const { error } = (await response.json()) as { error: Json };
        expect([words, response.status]).toEqual([words, 401]);
        expect(wordsOf(error)).toEqual(errors.get(String(error['code'])) as never);
      }
    }
    expect(await world.admin('GET', '/accounts')).toEqual(before);
  });

  test('is refused even if the key differs only in its last characters from one that was just used', async () => {
    world.upstream.play(scripts.good());
    const { secret } = await world.makeKey();
    const near = similarKeyOf(secret);
    expect([near.slice(0, 40), near.length, near === secret]).toEqual([secret.slice(0, 40), secret.length, false]);
    const body = bodyOf({ model: 'anthropic' });
    for (let turn = 0; turn < 2; turn++) {
      expect((await world.post(secret, body)).status).toBe(200);
      await expectError(await world.post(near, body), 401, 'authentication_error', 'key_invalid');
    }
  });
});

/** A key that differs only slightly from this one: the same form, valid check digits, never issued. */
function similarKeyOf(secret: string): string {
  const digits = secret.slice('sk-tp-'.length, 'sk-tp-'.length + 43);
  const number = [...digits].reduce((sum, digit) => sum * 62n + BigInt(BASE62.indexOf(digit)), 0n);
  const bytes = Buffer.from((number ^ 1n).toString(16).padStart(64, '0'), 'hex');
  return makeKeySecret(bytes).secret.reveal();
}

describe('a client', () => {
  test.each(KINDS)(
    'cannot choose the upstream address or the credential of a provider of the kind %s',
    async (kind) => {
      world.upstream.play(streamText(kind, ['Hello.']));
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
      const response = await ask(`/v1/messages?api_base=${url}&key=sk-of-the-caller`, headers, {
        method: 'POST',
        body,
      });
      expect([response.status, (await response.text()).includes('event: message_stop')]).toEqual([200, true]);
      expect(elsewhere.connectionCount).toBe(0);
      const sent = world.upstream.requests.slice(before);
      expect(sent).toHaveLength(1);
      expect(JSON.stringify([sent[0]?.path, sent[0]?.headers])).not.toContain('sk-of-the-caller');
      expect(JSON.stringify(sent[0]?.headers)).toContain('sk-of-the-provider');
    },
  );
});

describe('a prompt cache of a provider', () => {
  test('reveals nothing to an account about prompts of another, if each has its own credential', async () => {
    const seen = new Set<string>();
    // A provider that caches prompts by credential, and shows in its counts what was cached.
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

  test('never starts a process or runs text as a program', () => {
    const starts =
      /Bun\.(?:spawn|\$)|\bspawn(?:Sync)?\(|child_process|node:(?:vm|repl|cluster|inspector)|\beval\(|new Function\(|dlopen|bun:ffi/;
    // Two exceptions, in a checkout only, pass nothing from a request or a setting: one starts the runtime itself with a
    // file of the project, and one asks git for the commit.
    const bundlesConsole = `const command = [process.execPath, '--no-env-file', '--config=/dev/null', join(root, 'bin/bundle-console.ts')];
  const child = Bun.spawn(command, limits);`;
    const namesCommit = "Bun.spawnSync(['git', ...place, 'describe', ...options], { cwd: root })";
    const ownFile =
      /^(?:'\.[\w./-]+\.ts'|new URL\('\.[\w./-]+\.ts', import\.meta\.url\)|workerScript\('[\w-]+'\)\.href|script\.href|this\.#(?:parts\.)?script\.href)/;
    // Packages that are loaded only when a setting needs them.
    const lazyPackage =
      /^'(?:nodemailer|stripe|@fastify\/busboy|google-auth-library|@azure\/identity|@aws-sdk\/credential-providers|@smithy\/(?:eventstream-codec|signature-v4)|gpt-tokenizer\/[\w/]+|@zxcvbn-ts\/(?:core|language-common)|@anthropic-ai\/tokenizer\/claude\.json)'\)/;
    expect(sources.length).toBeGreaterThan(100);
    for (const path of sources) {
      const text = (readText(path) ?? '')
        .replace(/^\s*(?:\/\/|\*|\/\*).*$/gm, '')
        .replace(bundlesConsole, '')
        .replace(namesCommit, '');
      expect([path, starts.exec(text)?.[0]]).toEqual([path, undefined]);
      // Modules and threads are files of the project, named in the code.
      for (const [, named = ''] of text.matchAll(/(?:\bimport\(|new Worker\()([^)\n]*\)?[^)\n]*)/g))
        expect([path, named, ownFile.test(named) || lazyPackage.test(named)]).toEqual([path, named, true]);
    }
  });

  test('uses only packages pinned by version and hash, and runs none of their code during installation', () => {
    const manifest = JSON.parse(readText('package.json') ?? '{}');
    const lock = JSON.parse(readText('package-lock.json') ?? '{}') as { packages: Record<string, Json> };
    for (const [name, version] of Object.entries<string>({ ...manifest.dependencies, ...manifest.devDependencies }))
      expect([name, version]).toEqual([name, expect.stringMatching(/^(?:npm:@?[\w/.-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/)]);
    const packages = Object.entries(lock.packages).filter(([path]) => path !== '');
    expect(packages.length).toBeGreaterThan(20);
    // Development tools for platforms other than the one they were added on have no hash.
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
