// The arguments of every command: help, unknown and invalid flags, exit codes.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type CommandWorld, makeCommandWorld } from './command-world.ts';

let world: CommandWorld;
beforeAll(async () => {
  world = await makeCommandWorld();
});
afterAll(() => world[Symbol.dispose]());

const commands = [
  'serve',
  'apply',
  'account create',
  'account list',
  'account show',
  'account disable',
  'account enable',
  'credit',
  'key create',
  'key list',
  'key show',
  'key disable',
  'key enable',
  'key revoke',
  'model list',
  'group list',
  'provider list',
  'usage',
  'ledger',
  'check',
];

describe('every command', () => {
  test('prints its help on stdout without a request to the service, and exits 0', async () => {
    world.requests.length = 0;
    for (const command of commands) {
      for (const given of [
        [...command.split(' '), '--help'],
        ['help', ...command.split(' ')],
      ]) {
        const { exitCode, out, error } = await world.run(...given);
        expect([command, exitCode, error]).toEqual([command, 0, '']);
        expect(out).toStartWith(`usage: turnpike ${command}`);
        expect(out).toContain('--json');
      }
    }
    expect(world.requests).toEqual([]);
  });

  test('names an unknown flag and exits 2, with nothing on stdout', async () => {
    for (const command of commands) {
      const { exitCode, out, error } = await world.run(...command.split(' '), '--nonsense');
      expect([command, exitCode, out]).toEqual([command, 2, '']);
      expect(error).toContain('--nonsense');
      expect(error).toContain(`turnpike ${command} --help`);
    }
  });

  test('names a flag that is given twice and exits 2', async () => {
    for (const command of commands) {
      const { exitCode, error } = await world.run(...command.split(' '), '--data', 'a', '--data=b');
      expect([command, exitCode, error.split('\n')[0]]).toEqual([
        command,
        2,
        `turnpike ${command}: --data is given twice`,
      ]);
    }
  });

  test('names a missing or extra argument and exits 2', async () => {
    expect((await world.run('account', 'create')).error).toContain('NAME is missing');
    expect((await world.run('credit', 'acct_x')).error).toContain('AMOUNT is missing');
    expect((await world.run('key', 'revoke')).error).toContain('ID is missing');
    expect((await world.run('usage', 'acct_x')).error).toContain('unexpected argument "acct_x"');
    expect((await world.run('account', 'show', 'a', 'b')).exitCode).toBe(2);
  });
});

describe('turnpike', () => {
  test('lists every command in its help', async () => {
    const { exitCode, out } = await world.run('--help');
    expect(exitCode).toBe(0);
    for (const command of commands) expect(out).toContain(`\n  ${command.split(' ')[0]} `);
    expect((await world.run('help')).out).toBe(out);
  });

  test('prints its version', async () => {
    expect(await world.run('--version')).toEqual({ exitCode: 0, out: '1.2.3\n', error: '' });
  });

  test('without a command or with an unknown one exits 2', async () => {
    const { exitCode, out, error } = await world.run();
    expect([exitCode, out]).toEqual([2, '']);
    expect(error).toContain('usage: turnpike COMMAND');
    const unknown = await world.run('frobnicate');
    expect([unknown.exitCode, unknown.error]).toEqual([
      2,
      'turnpike: unknown command "frobnicate"\nSee turnpike --help.\n',
    ]);
  });

  test('lists the commands of a topic', async () => {
    const help = await world.run('key', '--help');
    expect([help.exitCode, help.error]).toEqual([0, '']);
    expect(help.out).toContain('turnpike key revoke ID');
    const bare = await world.run('key');
    expect([bare.exitCode, bare.out, bare.error]).toEqual([2, '', help.out]);
    const wrong = await world.run('key', 'destroy', 'key_x');
    expect([wrong.exitCode, wrong.out]).toEqual([2, '']);
    expect(wrong.error).toContain('unknown subcommand "destroy"');
  });
});

test('the help of a command has the description, choices and defaults of each field of its operation', async () => {
  const { out } = await world.run('account', 'create', '--help');
  expect(out.split('\n').slice(0, 4)).toEqual([
    'usage: turnpike account create NAME [flags]',
    '',
    'Create an account; owners one below theirs.',
    'Result: the account.',
  ]);
  expect(out).toMatch(
    /^ {2}--group A,B +the groups that its keys may be in; by default the group default, for owners /m,
  );
  expect(out).toMatch(/^ {2}--credit-kind payment\|promotion +the kind of its initial credit \(default: payment\)$/m);
  expect(out).toMatch(/^ {2}--credit-line AMOUNT .*\(default: 0\)$/m);
  expect((await world.run('key', 'create', '--help')).out).toMatch(/^ {2}--quota-period .*; default: total\)$/m);
  expect((await world.run('plan', 'give', '--help')).out).toMatch(/^ {2}--overflow .*\(default: yes,/m);
  expect((await world.run('plan', 'update', '--help')).out).toMatch(
    /^ {2}--plan TEXT .*; none ends its plan at once$/m,
  );
  const update = (await world.run('key', 'update', '--help')).out;
  expect(update).toMatch(/^ {2}--rpm N +requests per minute \(none removes it\)$/m);
  expect(update).toMatch(/^ {2}--models A,B .*\(any removes it\)$/m);
});

test('a command that changes one member has no flags for others', async () => {
  for (const command of ['account disable', 'key enable', 'person disable', 'plan end', 'auto-recharge disable']) {
    const { out } = await world.run(...command.split(' '), '--help');
    expect([...out.matchAll(/^ {2}--([a-z-]+)/gm)].map(([, flag]) => flag)).toEqual([
      'url',
      'token',
      'data',
      'json',
      'help',
    ]);
  }
});

test('an invalid value is refused with the name of its flag, before any request', async () => {
  world.requests.length = 0;
  const wrong: [string[], string][] = [
    [['account', 'create', 'x', '--credit', 'ten'], '--credit'],
    [['account', 'create', 'x', '--credit', '0.0000000001'], '--credit'],
    [['account', 'create', 'x', '--credit=-5'], '--credit'],
    [['account', 'create', ''], 'NAME'],
    [['account', 'show', ''], 'ID'],
    [['credit', 'acct_x', ' '], 'AMOUNT'],
    [['ledger', ''], 'ACCOUNT'],
    [['apply', ''], 'FILE'],
    [['key', 'revoke', ''], 'ID'],
    [['account', 'create', 'x', '--allowance-period', 'day'], '--allowance'],
    [['account', 'create', 'x', '--allowance', '1', '--allowance-period', 'year'], '--allowance-period'],
    [['account', 'create', 'x', '--group', 'a,,b'], '--group'],
    [['credit', 'acct_x', 'lots'], 'AMOUNT'],
    [['key', 'create'], '--account'],
    [['key', 'create', '--account', 'acct_x', '--rpm', '0'], '--rpm'],
    [['key', 'create', '--account', 'acct_x', '--rpm', '1.5'], '--rpm'],
    [['key', 'create', '--account', 'acct_x', '--concurrency', 'many'], '--concurrency'],
    [['key', 'create', '--account', 'acct_x', '--rpm', '99999999999999'], '--rpm'],
    [['key', 'create', '--account', 'acct_x', '--quota=-5'], '--quota'],
    [['key', 'create', '--account', 'acct_x', '--quota-period', 'day'], '--quota'],
    [['key', 'create', '--account', 'acct_x', '--origins', 'https://a.example,foo'], '--origins'],
    [['key', 'create', '--account', 'acct_x', '--origins', 'https://a.example/'], '--origins'],
    [['key', 'create', '--account', 'acct_x', '--addresses', '300.1.1.1'], '--addresses'],
    [['key', 'create', '--account', 'acct_x', '--expires', 'tomorrow'], '--expires'],
    [['key', 'create', '--account', 'acct_x', '--expires', '2027-02-30'], '--expires'],
    [['key', 'create', '--account', 'acct_x', '--name', ''], '--name'],
    [['usage', '--limit', '-1'], '--limit'],
    [['usage', '--limit', '1e3'], '--limit'],
    [['usage', '--since', '20261101'], '--since'],
    [['usage', '--url', 'ftp://x', '--token', 't'], '--url'],
    [['usage', '--url', 'http://127.0.0.1:1'], '--token'],
    [['serve', '--listen', 'nowhere'], '--listen'],
    [['serve', '--tls-key', 'x'], '--tls-certificate'],
  ];
  for (const [given, flag] of wrong) {
    const { exitCode, out, error } = await world.run(...given);
    expect([given, exitCode, out]).toEqual([given, 2, '']);
    expect(error).toContain(flag);
  }
  expect(world.requests).toEqual([]);
});

test('the error about a wrong value has the choices, and how to have no limit', async () => {
  const errorOf = async (...given: string[]) => (await world.run(...given)).error.split('\n')[0];
  expect(await errorOf('usage', '--totals', '')).toBe(
    'turnpike usage: --totals must be day or model or key or account or provider or group or person or tag, not ""',
  );
  expect(await errorOf('key', 'create', '--account', 'acct_x', '--rpm', '1000000001')).toBe(
    'turnpike key create: --rpm must be at most 1000000000; leave it out for no limit',
  );
  expect(await errorOf('key', 'update', 'key_x', '--rpm', '1000000001')).toBe(
    'turnpike key update: --rpm must be at most 1000000000; none removes the limit',
  );
  expect(await errorOf('auto-recharge', 'enable', 'acct_x', '--per-day-max', '1001')).toBe(
    'turnpike auto-recharge enable: --per-day-max must be at most 1000',
  );
});

test('a wrong or unknown TURNPIKE_ setting is named and exits 2', async () => {
  world.environment['TURNPIKE_LISTN'] = 'x';
  try {
    const { exitCode, error } = await world.run('account', 'list');
    expect(exitCode).toBe(2);
    expect(error).toContain('TURNPIKE_LISTN');
  } finally {
    delete world.environment['TURNPIKE_LISTN'];
  }
});
