// The commands that are clients of the admin API: results, output, failures.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Json, TOKEN, useKey } from '../admin-api/installation.ts';
import { type CommandWorld, makeCommandWorld } from './command-world.ts';

let world: CommandWorld;
beforeEach(async () => {
  world = await makeCommandWorld();
});
afterEach(() => world[Symbol.dispose]());

describe('--json prints exactly one value on stdout:', () => {
  test('an account', async () => {
    const account = await world.runJson('account', 'create', 'acme', '--credit', '10.00', '--group', 'default,sandbox');
    expect(account).toMatchObject({
      name: 'acme',
      groups: ['default', 'sandbox'],
      balance: '10.00',
      status: 'enabled',
    });
    const id = String(account['id']);
    expect(await world.runJson('account', 'show', id)).toEqual(account);
    expect(await world.runJson('account', 'disable', id)).toEqual({ ...account, status: 'disabled' });
    expect(await world.runJson('account', 'enable', id)).toEqual(account);
    expect(await world.runJson('account', 'list')).toEqual([account] as never);
  });

  test('a key, with its secret only from create', async () => {
    const { id: account } = await world.runJson('account', 'create', 'acme');
    const flags = [
      '--name',
      'ci',
      '--models',
      'sandbox-*,claude-*',
      '--quota',
      '5',
      '--quota-period',
      'week',
      '--rpm',
      '60',
    ];
    const more = ['--input-tpm', '1', '--output-tpm=2', '--concurrency', '3', '--expires', '2027-01-31'];
    const scopes = ['--origins', 'https://a.example, https://b.example', '--addresses', '10.0.0.0/8,::1'];
    const created = await world.runJson('key', 'create', '--account', String(account), ...flags, ...more, ...scopes);
    const { key: secret, ...key } = created;
    expect(secret).toStartWith(String(key['prefix']));
    expect(key).toMatchObject({
      account,
      name: 'ci',
      groups: ['default'],
      models: ['sandbox-*', 'claude-*'],
      quota: '5.00',
      quota_period: 'week',
      rpm: 60,
      input_tpm: 1,
      output_tpm: 2,
      concurrency: 3,
      expires_at: '2027-01-31T00:00:00.000Z',
      origins: ['https://a.example', 'https://b.example'],
      addresses: ['10.0.0.0/8', '::1'],
    });
    const id = String(key['id']);
    expect(await world.runJson('key', 'show', id)).toEqual(key);
    expect(await world.runJson('key', 'list', '--account', String(account))).toEqual([key] as never);
    expect((await world.runJson('key', 'disable', id))['status']).toBe('disabled');
    expect((await world.runJson('key', 'enable', id))['status']).toBe('enabled');
    expect((await world.runJson('key', 'revoke', id, '--now'))['status']).toBe('revoked');
    expect(world.installation.notifications.at(-1)).toStartWith('end messages');
  });

  test('a list as an array, also when it is empty', async () => {
    for (const list of [['account', 'list'], ['key', 'list'], ['usage']])
      expect(await world.run(...list, '--json')).toEqual({ exitCode: 0, out: '[]\n', error: '' });
    const lists = [await world.runJson('model', 'list'), await world.runJson('group', 'list')] as unknown as Json[][];
    expect(lists.map((list) => list.map((one) => one['name']))).toEqual([['sandbox-echo'], ['default', 'sandbox']]);
    expect(await world.runJson('provider', 'list')).toEqual([
      {
        name: 'sandbox',
        kind: 'sandbox',
        base_url: null,
        residency: null,
        passthrough: null,
        batches: false,
        batch_cost: '0.5',
        batch_bucket: null,
        fetch_urls: 'off',
        has_credential: false,
        credentials: [],
        models: ['sandbox-echo'],
        model_list: null,
        health: { state: 'not_used', routes_degraded: 0, routes_down: 0, last_success_at: null, last_failure_at: null },
        routes: [],
      },
    ] as never);
  });
});

describe('an update', () => {
  test("changes an account's limits, and leaves the rest", async () => {
    const account = await world.runJson('account', 'create', 'acme', '--credit', '10');
    const id = String(account['id']);
    const terms = ['--allowance', '100', '--allowance-period', 'week', '--credit-line', '3', '--name', 'acme & co'];
    const changed = {
      name: 'acme & co',
      allowance: '100.00',
      allowance_period: 'week',
      credit_line: '3.00',
      available: '13.00',
    };
    expect(await world.runJson('account', 'update', id, ...terms)).toEqual({ ...account, ...changed });
    expect(await world.runJson('account', 'update', id, '--group', 'default,sandbox')).toMatchObject({
      ...changed,
      groups: ['default', 'sandbox'],
    });
    expect((await world.runJson('account', 'update', id, '--allowance', 'none'))['allowance']).toBeNull();
    expect((await world.run('account', 'update', id)).exitCode).toBe(2);
  });

  test("changes and removes a key's limits", async () => {
    const { id: account } = await world.runJson('account', 'create', 'acme');
    const { key: _, ...key } = await world.runJson('key', 'create', '--account', String(account), '--models', 'a,b');
    const id = String(key['id']);
    const limits = [
      '--rpm',
      '5',
      '--input-tpm',
      '6',
      '--output-tpm',
      '7',
      '--concurrency',
      '8',
      '--expires',
      '2099-01-01',
    ];
    const bounded = await world.runJson('key', 'update', id, '--quota', '5', '--quota-period', 'month', ...limits);
    expect(bounded).toMatchObject({ quota: '5.00', quota_period: 'month', rpm: 5, output_tpm: 7, models: ['a', 'b'] });
    const none = ['--quota', '--rpm', '--input-tpm', '--output-tpm', '--concurrency', '--expires'].flatMap((flag) => [
      flag,
      'none',
    ]);
    const freed = await world.runJson('key', 'update', id, ...none, '--models', 'any', '--quota-period', 'total');
    expect(freed).toEqual({ ...key, models: null, locked: [] });
    expect((await world.run('key', 'update', id)).exitCode).toBe(2);
  });
});

describe('refund', () => {
  test('refunds an amount, or everything not refunded yet', async () => {
    const { id } = await world.runJson('account', 'create', 'acme', '--credit', '10');
    const key = await world.runJson('key', 'create', '--account', String(id));
    const [requestId = ''] = await useKey(world.installation, key, 1);
    expect(await world.runJson('refund', requestId, '0.0004', '--note', 'slow')).toEqual({
      request_id: requestId,
      account: id,
      amount: '0.0004',
      balance: '9.9994',
      note: 'slow',
    });
    expect((await world.run('refund', requestId)).out).toMatch(/^AMOUNT +0\.0006\nBALANCE +10\.00$/m);
    expect(await world.run('refund', requestId)).toMatchObject({
      exitCode: 1,
      error: expect.stringContaining('no cost left to refund'),
    });
    expect((await world.run('refund')).exitCode).toBe(2);
    expect((await world.run('ledger', String(id))).out).toMatch(
      new RegExp(` refund +0\\.0004 +revenue +${id} +${requestId} +slow`),
    );
  });
});

describe('credit', () => {
  let id: string;
  beforeEach(async () => {
    id = String((await world.runJson('account', 'create', 'acme', '--credit', '10'))['id']);
  });

  test('is added, and a negative correction is accepted, with or without --', async () => {
    expect((await world.runJson('credit', id, '2.50', '--note', 'thanks'))['balance']).toBe('12.50');
    expect((await world.runJson('credit', id, '-5'))['balance']).toBe('7.50');
    expect((await world.runJson('credit', '--note', 'n', id, '-0.5'))['balance']).toBe('7.00');
    const { exitCode, out } = await world.run('credit', id, '--json', '--', '-1');
    expect([exitCode, JSON.parse(out)['balance']]).toEqual([0, '6.00']);
    expect((await world.run('credit', id, '-7')).exitCode).toBe(1);
  });

  test('never confuses the amount with the value of a flag', async () => {
    const { exitCode } = await world.run('credit', id, '--note', '-5', '10');
    expect(exitCode).toBe(2);
    expect((await world.runJson('account', 'show', id))['balance']).toBe('10.00');
  });

  test('of kind write_off reduces a debt, at most to zero', async () => {
    await world.runJson('account', 'update', id, '--credit-line', '5');
    await world.runJson('credit', id, '-12');
    const tooMuch = await world.run('credit', id, '2.01', '--kind', 'write_off');
    expect(tooMuch).toMatchObject({
      exitCode: 1,
      error: expect.stringContaining('at most 2.00, the amount that the account owes'),
    });
    expect((await world.runJson('credit', id, '2', '--kind', 'write_off'))['balance']).toBe('0');
    expect((await world.run('ledger', id)).out).toMatch(/ debt_write_off +2\.00 +write_offs +acct_/);
    expect((await world.run('credit', id, '2', '--kind', 'gift')).exitCode).toBe(2);
  });

  test('with a repeated reference is added once, and the repetition is reported', async () => {
    const first = await world.runJson('credit', id, '1', '--reference', 'inv-7');
    expect(first['repeated']).toBe(false);
    const again = await world.run('credit', id, '1', '--reference', 'inv-7', '--json');
    expect(JSON.parse(again.out)).toEqual({ ...first, repeated: true });
    expect(again.error).toContain('no credit was added');
    const entries = (await world.runJson('ledger', id)) as unknown as Json[];
    expect(entries.map((entry) => [entry['change'], entry['reference']])).toEqual([
      ['1.00', 'inv-7'],
      ['10.00', null],
    ]);
  });
});

describe('text output', () => {
  test('aligns the columns of tables', async () => {
    await world.run('account', 'create', 'a', '--credit', '1');
    world.installation.clock.advance(1);
    await world.run('account', 'create', 'a much longer name');
    const { exitCode, out, error } = await world.run('account', 'list');
    expect([exitCode, error]).toEqual([0, '']);
    const lines = out.trimEnd().split('\n');
    expect(lines).toHaveLength(3);
    expect(new Set(lines.map((line) => line.search(/(STATUS|enabled)/))).size).toBe(1);
    expect(lines[0]).toStartWith('ID ');
  });

  test('reports an empty list on stderr', async () => {
    expect(await world.run('key', 'list')).toEqual({ exitCode: 0, out: '', error: 'There are no keys.\n' });
  });

  test('has a new key on a line of its own', async () => {
    const { id } = await world.runJson('account', 'create', 'acme');
    const { out, error } = await world.run('key', 'create', '--account', String(id));
    expect(out).toMatch(/^KEY +sk-tp-[0-9A-Za-z]{49}$/m);
    expect(error).toContain('not shown again');
  });

  test('contains no control characters for the terminal', async () => {
    const { id } = await world.runJson('account', 'create', 'acme');
    await world.run('credit', String(id), '1', '--note', '\u001b]0;owned\u0007\u001b[2J');
    const { out } = await world.run('ledger', String(id));
    expect(out.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });
});

test('usage reads as many pages as its limit needs, newest first', async () => {
  const { id } = await world.runJson('account', 'create', 'acme', '--credit', '10');
  const key = await world.runJson('key', 'create', '--account', String(id));
  const newestFirst = (await useKey(world.installation, key, 1_203)).toReversed();
  const idsOf = async (...flags: string[]) =>
    ((await world.runJson('usage', ...flags)) as unknown as Json[]).map((record) => record['request_id']);
  expect(await idsOf()).toEqual(newestFirst.slice(0, 100));
  expect(await idsOf('--limit', '3')).toEqual(newestFirst.slice(0, 3));
  world.requests.length = 0;
  expect(await idsOf('--limit', '1000000', '--key', String(key['id']))).toEqual(newestFirst);
  expect(world.requests).toHaveLength(2);
  const { out } = await world.run('usage', '--limit', '1100');
  expect(out.trimEnd().split('\n')).toHaveLength(1_101);
  expect(await idsOf('--since', '2026-11-20T10:20:02Z')).toEqual(newestFirst.slice(0, 2));
  expect(((await world.runJson('ledger', String(id), '--limit', '2000')) as unknown as Json[]).length).toBe(1_204);
});

test('lists are filtered and sorted by the parameters of their operations', async () => {
  const ids: unknown[] = [];
  for (const name of ['beta', 'alpha'])
    ids.push((await world.runJson('account', 'create', name, '--credit', '1'))['id']);
  expect(await world.runJson('account', 'list', '--name', 'LPH')).toMatchObject([{ id: ids[1] }]);
  expect(await world.runJson('account', 'list', '--sort', 'name', '--order', 'desc')).toMatchObject([
    { id: ids[0] },
    { id: ids[1] },
  ]);
  expect(await world.runJson('ledger', String(ids[0]), '--kind', 'payment')).toHaveLength(1);
  expect(await world.runJson('ledger', String(ids[0]), '--kind', 'refund')).toHaveLength(0);
  expect((await world.run('account', 'list', '--order', 'up')).error).toContain('--order must be asc or desc');
});

describe('a failure', () => {
  test("of the service exits 1, with the service's message on stderr and nothing on stdout", async () => {
    const account = String((await world.runJson('account', 'create', 'acme'))['id']);
    for (const given of [
      ['account', 'show', 'acct_000000000'],
      ['key', 'revoke', 'key_000000000'],
      ['key', 'create', '--account', 'acct_000000000'],
      ['account', 'create', 'x', '--group', 'vip'],
      ['key', 'create', '--account', account, '--expires', '2020-01-01'],
      ['credit', account, '-1'],
      ['credit', 'no such account', '5'],
      ['ledger', '../keys'],
      ['usage', '--key', 'x'],
    ])
      for (const flags of [[], ['--json']]) {
        const { exitCode, out, error } = await world.run(...given, ...flags);
        expect([given, exitCode, out]).toEqual([given, 1, '']);
        expect(error).toMatch(/^turnpike [a-z ]+: .+\n$/);
      }
  });

  test('to find a service says how to start or name one', async () => {
    rmSync(join(world.directory, 'operator.json'));
    const { exitCode, error } = await world.run('account', 'list');
    expect(exitCode).toBe(1);
    expect(error).toContain('turnpike serve');
    expect(error).toContain('operator.json does not exist');
  });

  test('to reach the service names its address', async () => {
    writeFileSync(join(world.directory, 'operator.json'), JSON.stringify({ url: 'http://127.0.0.1:9', token: 't' }));
    const { exitCode, error } = await world.run('account', 'list');
    expect(exitCode).toBe(1);
    expect(error).toContain('cannot connect to http://127.0.0.1:9');
    expect(error).toContain('turnpike serve');
  });

  test('is reported when another program answers at the address', async () => {
    using stranger = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () => new Response('<html>', { status: 200 }),
    });
    const { exitCode, error } = await world.run('account', 'list', '--url', String(stranger.url), '--token', 't');
    expect([exitCode, error.includes("is not Turnpike's admin API")]).toEqual([1, true]);
  });

  test('is reported when the token is unknown', async () => {
    const { exitCode, error } = await world.run('account', 'list', '--url', world.url, '--token', 'wrong');
    expect([exitCode, error]).toEqual([1, 'turnpike account list: The token is unknown, expired or revoked.\n']);
  });

  test('caused by a damaged file of the data directory names the file', async () => {
    for (const text of ['', '{"url":', '{"url":1}', 'null', '{"url":"x","token":"t"}']) {
      writeFileSync(join(world.directory, 'operator.json'), text);
      const { exitCode, error } = await world.run('account', 'list');
      expect([exitCode, error.includes('operator.json is damaged')]).toEqual([1, true]);
    }
  });
});

describe('the service is found', () => {
  test('by flags before the environment, by the environment before the data directory', async () => {
    rmSync(join(world.directory, 'operator.json'));
    world.environment['TURNPIKE_URL'] = `${world.url}/`;
    world.environment['TURNPIKE_TOKEN'] = TOKEN;
    expect((await world.run('account', 'list')).exitCode).toBe(0);
    world.environment['TURNPIKE_TOKEN'] = 'wrong';
    expect((await world.run('account', 'list')).exitCode).toBe(1);
    expect((await world.run('account', 'list', '--token', TOKEN)).exitCode).toBe(0);
    expect((await world.run('account', 'list', '--token', TOKEN, '--url', 'http://127.0.0.1:9')).exitCode).toBe(1);
  });

  test('in the data directory that --data names', async () => {
    world.environment['TURNPIKE_DATA'] = '/nowhere';
    expect((await world.run('account', 'list')).exitCode).toBe(1);
    expect((await world.run('account', 'list', '--data', world.directory)).exitCode).toBe(0);
  });

  test('without sending its local token to a remote address', async () => {
    using stranger = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: (request) => Response.json({ seen: request.headers.get('authorization') }, { status: 500 }),
    });
    const { exitCode, error } = await world.run('account', 'list', '--url', String(stranger.url));
    expect([exitCode, error.includes(TOKEN)]).toEqual([2, false]);
  });
});
