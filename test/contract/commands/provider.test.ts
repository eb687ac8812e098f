// `turnpike provider`: lists, shows and tests providers; the exit code tells scripts whether a test passed.

import { afterEach, beforeEach, expect, test } from 'bun:test';
import { scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { type CommandWorld, makeCommandWorld } from './command-world.ts';

let world: CommandWorld;
beforeEach(async () => {
  world = await makeCommandWorld();
});
afterEach(() => world[Symbol.dispose]());

async function configure(baseUrl: string): Promise<void> {
  const file = {
    providers: { vendor: { kind: 'anthropic', base_url: baseUrl, api_key: 'sk-ours', private_network: true } },
    models: { big: { price: { input: '3', output: '15' }, routes: [{ provider: 'vendor' }] } },
  };
  const ran = await world.run('apply', world.writeFile('file.yaml', JSON.stringify(file)));
  expect(ran.exitCode).toBe(0);
}

test('the list has a line for each provider, with the number of models routed to it', async () => {
  await configure('http://127.0.0.1:1');
  for (const [model, state] of [
    ['big', 'ready'],
    ['small', 'ready'],
    ['other', 'open'],
  ] as const) {
    const measured = {
      failuresInARow: 0,
      inFlight: 0,
      lastFailure: null,
      firstTokenMs: model === 'other' ? 420 : null,
    };
    const facts = { credential: 'default', untilMs: null, ...measured };
    world.installation.routeStates.push({ provider: 'vendor', model, state, ...facts });
  }
  const { out } = await world.run('provider', 'list');
  const { out: shown } = await world.run('provider', 'show', 'vendor');
  world.installation.routeStates.length = 0;
  expect(shown).toMatch(/^other +default +open +- +0 +0 +420 +-$/m);
  expect(out.split('\n')).toEqual([
    'NAME     KIND       BASE URL            CREDENTIAL  MODELS  STATE     ROUTES',
    'sandbox  sandbox    -                   no          1       not_used  -',
    'vendor   anthropic  http://127.0.0.1:1  yes         1       not_used  2 ready, 1 open',
    '',
  ]);
});

test('a provider is shown with its models by name, and never with its credential', async () => {
  await configure('http://127.0.0.1:1');
  const { out } = await world.run('provider', 'show', 'vendor');
  expect(out).toMatch(/^BASE URL +http:\/\/127\.0\.0\.1:1$/m);
  expect(out).toMatch(/^CREDENTIAL +yes$/m);
  expect(out).toMatch(/^MODELS +big$/m);
  expect(out).not.toContain('sk-ours');
  expect(await world.runJson('provider', 'show', 'vendor')).toMatchObject({ name: 'vendor', models: ['big'] });
});

test('the test of a provider that responds exits 0', async () => {
  await using upstream = await startScriptedUpstream(scripts.json('{"data":[{"id":"a"}]}'));
  await configure(upstream.url);
  const { exitCode, out } = await world.run('provider', 'test', 'vendor');
  expect(exitCode).toBe(0);
  expect(out).toMatch(/^OK +yes$/m);
  expect(out).toMatch(/^MODELS +1$/m);
  expect(await world.runJson('provider', 'test', 'sandbox')).toMatchObject({ provider: 'sandbox', ok: true });
});

test('the test of a provider that does not respond exits 1, with the result on stdout also with --json', async () => {
  await using upstream = await startScriptedUpstream(scripts.rateLimited('7'));
  await configure(upstream.url);
  const { exitCode, out, error } = await world.run('provider', 'test', 'vendor', '--json');
  expect(exitCode).toBe(1);
  expect(JSON.parse(out)).toMatchObject({ provider: 'vendor', ok: false, status: 429, fault: 'rate_limited' });
  expect(error).toBe('');
  const words = await world.run('provider', 'test', 'vendor');
  expect(words.exitCode).toBe(1);
  expect(words.out).toMatch(/^MESSAGE +It is reachable, but limits the request rate .* It asks for a wait of 7 s\.$/m);
});

test('each of several credentials has a line with its owner, and a failing one makes the test exit 1', async () => {
  const refusal = scripts.error(401, 'authentication_error', 'spent');
  await using upstream = await startScriptedUpstream((answer, request) =>
    (request.headers['x-api-key'] === 'sk-second' ? refusal : scripts.json('{"data":[]}'))(answer, request),
  );
  const { id: account } = await world.runJson('account', 'create', 'acme');
  const vendor = {
    kind: 'anthropic',
    base_url: upstream.url,
    api_key: 'sk-ours',
    private_network: true,
    credentials: {
      acme: { api_key: 'sk-acme', account },
      inner: { api_key: 'sk-inner', group: 'sandbox' },
      second: { api_key: 'sk-second' },
    },
  };
  await world.run('apply', world.writeFile('file.yaml', JSON.stringify({ providers: { vendor } })));
  const shown = await world.run('provider', 'show', 'vendor');
  expect(shown.out).toMatch(
    new RegExp(`^CREDENTIALS +default,acme \\(${account}\\),inner \\(group sandbox\\),second$`, 'm'),
  );
  const tested = await world.run('provider', 'test', 'vendor');
  expect(tested.exitCode).toBe(1);
  expect(tested.out).toMatch(/^MESSAGE +Credential "second": It rejects the credential/m);
  expect(tested.out).toMatch(/^CREDENTIAL +OK +STATUS +FAULT +MESSAGE$/m);
  expect(tested.out).toMatch(/^acme +yes +200 +- /m);
  expect(tested.out).toMatch(/^second +no +401 +credentials +It rejects the/m);
  const result = await world.runJson('provider', 'test', 'vendor').catch(() => null);
  expect(result).toBeNull();
  expect(shown.out + tested.out + tested.error).not.toContain('sk-');
});

test('an unknown provider is a failure, and a missing name is wrong usage', async () => {
  expect(await world.run('provider', 'test', 'none')).toEqual({
    exitCode: 1,
    out: '',
    error: 'turnpike provider test: There is no provider "none".\n',
  });
  expect((await world.run('provider', 'test')).exitCode).toBe(2);
});
