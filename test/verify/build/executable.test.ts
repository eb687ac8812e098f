// `npm run build`: one file that is the whole program, on a machine without anything else of it.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { collectNotices } from '../../../src/licenses/licenses.ts';
import { versionOfCheckout } from '../../../src/version.ts';
import { rootDirectory } from '../../check.ts';
import { Browser, signUp } from '../../contract/sign-in/browser.ts';
import { readText } from '../../sources.ts';
import { holdRequests } from '../../support/held-requests.ts';
import { cannotStartPostgres, sharedPostgres } from '../../support/start-postgres.ts';
import { type BareMachine, buildExecutable, makeBareMachine } from './executable.ts';

const BUILD_MS_MAX = 60_000;
const AT_ONCE = 400; // The runtime's own limit is 256.
const WAIT_MS_MAX = 5_000; // Waits until all of them arrived.

let built: string;
let machine: BareMachine;
beforeAll(async () => {
  built = await buildExecutable();
  machine = makeBareMachine(built);
}, BUILD_MS_MAX);
afterAll(() => {
  machine?.[Symbol.dispose]();
  if (built !== undefined) rmSync(dirname(built), { recursive: true, force: true });
});

const echo = { model: 'sandbox-echo', max_tokens: 20, messages: [{ role: 'user', content: 'Hello' }] };

async function balanceOf(data: string): Promise<string> {
  const { out } = await machine.run('account', 'list', '--data', data, '--json');
  return (JSON.parse(out) as { balance: string }[])[0]?.balance ?? '';
}

test('it prints its version and commands, exits 2 on wrong usage, and leaves no files', async () => {
  const version = versionOfCheckout(rootDirectory);
  expect(await machine.run('--version')).toEqual({ exitCode: 0, out: `${version}\n`, error: '' });
  const help = await machine.run('--help');
  expect(help).toMatchObject({ exitCode: 0, error: '' });
  for (const command of ['serve', 'apply', 'backup', 'doctor']) expect(help.out).toContain(`\n  ${command} `);
  for (const wrong of [['serve', '--no-such-flag'], ['no-such-command'], ['account', 'show']]) {
    expect([wrong, (await machine.run(...wrong)).exitCode]).toEqual([wrong, 2]);
  }
  expect(readdirSync(machine.directory)).toEqual(['turnpike']);
});

test('it contains the licenses of all that it is built with', async () => {
  const { exitCode, out, error } = await machine.run('licenses', '--json');
  expect([exitCode, error]).toEqual([0, '']);
  expect(JSON.parse(out)).toEqual(collectNotices(rootDirectory));
  expect((await machine.run('licenses')).out).toContain('Copyright (c) Meta Platforms, Inc. and affiliates.');
});

test('everything works as in a checkout, from the first start to the end', async () => {
  await using service = await machine.serve('data');
  expect(service.key).toStartWith('sk-tp-');
  const answer = await service.post(service.key, { ...echo, stream: true });
  expect(await answer.text()).toContain('event: message_stop');
  expect(await balanceOf('data')).toBe('4.999988');

  writeFileSync(
    join(machine.directory, 'sold.yaml'),
    'groups:\n  team: { models: ["sandbox-*"], multiplier: "1.1" }\n',
  );
  expect(await machine.run('apply', 'sold.yaml')).toMatchObject({ exitCode: 0, error: '' });
  expect((await machine.run('group', 'list')).out).toContain('team');
  expect((await machine.run('usage')).out).toContain('sandbox-echo'); // Runs in the report thread.
  expect(await (await service.scrape()).text()).toContain('turnpike_messages_total{');
  const page = await (await fetch(`${service.url}/console/`)).text(); // Read from the executable itself.
  const early = await fetch(service.url + (/\/console\/early-\w+\.js/.exec(page)?.[0] ?? ''));
  const names = new Set((await early.text()).match(/[\w-]+-\w+\.js(?=")/g));
  const scripts = await Promise.all([...names].map((name) => fetch(`${service.url}/console/${name}`)));
  expect(scripts.map(({ status }) => status)).toEqual(scripts.map(() => 200));
  const bytes = (await Promise.all(scripts.map((one) => one.text()))).reduce((sum, { length }) => sum + length, 0);
  expect(bytes).toBeGreaterThan(300_000);
  await signUp(service, 'ann@example.com');
  const browser = new Browser(service.url);
  expect((await browser.signIn('ann@example.com')).status).toBe(200); // Runs in the sign-in thread.
  expect(await browser.me()).toMatchObject({ email: 'ann@example.com' });

  expect((await machine.run('backup', 'copy.db', '--json')).exitCode).toBe(0); // Runs in a thread of its own.
  const check = await machine.run('check', '--json');
  expect(JSON.parse(check.out)).toMatchObject({ ok: true, accounts: 1, open_holds: 0, faults: [] });
  const doctor = await machine.run('doctor', '--json');
  expect(JSON.parse(doctor.out).filter(({ severity }: { severity: string }) => severity === 'error')).toEqual([]);

  const streamed = await service.post(service.key, {
    model: 'sandbox-lorem',
    max_tokens: 100,
    stream: true,
    messages: echo.messages,
  });
  service.process.kill('SIGTERM');
  expect(await streamed.text()).toContain('event: message_stop');
  expect(await service.process.exited).toBe(0);
  expect((await machine.run('check', '--data', 'data')).exitCode).toBe(0);
});

test('after a kill it still has every bill', async () => {
  const first = await machine.serve('killed');
  for (let count = 0; count < 5; count++) expect((await first.post(first.key, echo)).status).toBe(200);
  first.process.kill('SIGKILL');
  await first.process.exited;
  await using _again = await machine.serve('killed');
  expect(await balanceOf('killed')).toBe('4.99994');
  expect(JSON.parse((await machine.run('check', '--data', 'killed', '--json')).out)).toMatchObject({
    ok: true,
    entries: 6,
  });
});

test('no file in its directory changes what runs', async () => {
  const strange = 'throw new Error("this file was run");\n';
  const files: Record<string, string> = {
    '.env': 'TURNPIKE_LISTEN=nowhere\nTURNPIKE_NO_SUCH=1\n',
    'bunfig.toml': 'preload = ["./strange.ts"]\n',
    'package.json': '{ "type": "commonjs", "imports": { "#x": "./strange.ts" } }',
    'tsconfig.json': '{ "compilerOptions": { "paths": { "*": ["./strange.ts"] } } }',
    'strange.ts': strange,
    'node_modules/zod/index.js': strange,
    'src/threads/ledger-worker.ts': strange,
    'ledger-worker.ts': strange,
    'ledger-worker.js': strange,
  };
  using other = makeBareMachine(built);
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(other.directory, file)), { recursive: true });
    writeFileSync(join(other.directory, file), text);
  }
  await using service = await other.serve('data');
  expect((await service.post(service.key, echo)).status).toBe(200);
});

test('the runtime has the environment that bin/with-bun sets, under the same process id', async () => {
  await using service = await machine.serve('environment', [], { DO_NOT_TRACK: 'as the operator says' });
  const { pid } = JSON.parse(readFileSync(join(service.dataDirectory, 'operator.json'), 'utf8')) as { pid: number };
  expect(pid).toBe(service.process.pid);
  const running = new Set(readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0'));
  const exported = [...(readText('bin/with-bun') ?? '').matchAll(/export (\w+)=(?:"\$\{\w+-(\w+)\}"|(\w+))/g)];
  expect(exported.length).toBe(5);
  const expected = exported.map(([, name, usual, always]) => `${name}=${always ?? usual}`);
  const missing = expected.filter((setting) => !running.has(setting));
  expect(missing).toEqual(['DO_NOT_TRACK=1']);
  expect(running).toContain('DO_NOT_TRACK=as the operator says');
});

test('more concurrent messages reach a provider than the runtime’s default allows', async () => {
  const all = Promise.withResolvers<void>();
  let count = 0;
  await using upstream = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch() {
      if (++count === AT_ONCE) all.resolve();
      await Promise.race([all.promise, Bun.sleep(WAIT_MS_MAX)]);
      const usage = { input_tokens: 1, output_tokens: 1 };
      return Response.json({
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        content: [],
        stop_reason: 'end_turn',
        usage,
      });
    },
  });
  await using service = await machine.serve('many');
  const providers = { far: { kind: 'anthropic', base_url: upstream.url.origin, api_key: 'x', private_network: true } };
  const models = { far: { price: { input: '1', output: '1' }, routes: [{ provider: 'far' }] } };
  await service.admin('POST', '/apply', { document: { providers, models } });
  const { secret } = await service.makeKey();
  const held = await holdRequests(service.url, Array(AT_ONCE).fill({ secret, body: { ...echo, model: 'far' } }));
  const answered = held.release();
  await Promise.race([all.promise, Bun.sleep(WAIT_MS_MAX)]);
  expect(count).toBe(AT_ONCE);
  expect((await answered).filter(({ status }) => status !== 200)).toEqual([]);
});

describe.skipIf(cannotStartPostgres)('over PostgreSQL', () => {
  test('two of them are nodes of one service', async () => {
    await using database = await (await sharedPostgres()).newDatabase();
    const environment = {
      TURNPIKE_DATABASE_URL: database.url,
      TURNPIKE_SECRET: Buffer.alloc(32, 'executables').toString('base64'),
    };
    const first = await machine.serve('node-1', [], environment);
    const second = await machine.serve('node-2', [], environment);
    const { secret, account } = await first.makeKey({ credit: '1.00' });
    for (const node of [first, second, first, second]) expect((await node.post(secret, echo)).status).toBe(200);
    for (const node of [first, second]) {
      expect(await node.admin('GET', `/accounts/${account}`)).toMatchObject({ balance: '0.999952', held: '0' });
      node.process.kill('SIGTERM');
      expect(await node.process.exited).toBe(0);
    }
  });
});
