// `turnpike usage`: records with margins, and totals as table and JSON.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type Json, useKey } from '../admin-api/installation.ts';
import { type CommandWorld, makeCommandWorld } from './command-world.ts';

let world: CommandWorld;
let key: Json;
beforeAll(async () => {
  world = await makeCommandWorld();
  const { id } = await world.runJson('account', 'create', 'acme', '--credit', '10');
  key = await world.runJson('key', 'create', '--account', String(id));
  await useKey(world.installation, key, 2);
  await useKey(world.installation, key, 1, { model: 'big', providerCost: null, outcome: 'failed' });
});
afterAll(() => world[Symbol.dispose]());

test('shows the margin of each message, and none when the provider cost is unknown', async () => {
  const { out } = await world.run('usage');
  const [heading, ...lines] = out.trimEnd().split('\n');
  expect(heading).toEndWith('COST   MARGIN');
  expect(lines.map((line) => line.trim().split(/ +/).at(-1))).toEqual(['-', '0.0009', '0.0009']);
});

test('lists records of one outcome', async () => {
  expect(await world.runJson('usage', '--outcome', 'failed')).toMatchObject([{ model: 'big' }]);
  expect(await world.runJson('usage', '--outcome', 'completed')).toHaveLength(2);
  expect(await world.runJson('usage', '--model', 'big')).toMatchObject([{ outcome: 'failed' }]);
  expect((await world.run('usage', '--outcome', 'cut')).exitCode).toBe(2);
});

test('reports on stderr, once, that a ranking did not compare all records', async () => {
  expect((await world.run('usage', '--sort', 'cost')).error).toBe('');
  const { usage } = world.installation.stores;
  const { rankUsage } = usage;
  usage.rankUsage = async (ranking) => ({
    ...(await rankUsage({ ...ranking, limit: 1 })),
    searchedSinceMs: Date.UTC(2026, 10, 28, 12),
  });
  try {
    for (const flags of [[], ['--json'], ['--limit', '2']]) {
      world.requests.length = 0;
      const { exitCode, error } = await world.run('usage', '--sort', 'cost', ...flags);
      expect([exitCode, error]).toEqual([0, 'Only records since 2026-11-28T12:00:00.000Z were compared.\n']);
      expect(world.requests.length).toBeGreaterThan(1);
    }
  } finally {
    usage.rankUsage = rankUsage;
  }
  expect((await world.run('usage', '--help')).out).not.toContain('searched_since');
});

test('adds up by a group, with the total as the last row', async () => {
  const { out, error } = await world.run('usage', '--totals', 'model');
  const rows = out
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/));
  expect(rows.map(([name, messages]) => [name, messages])).toEqual([
    ['MODEL', 'MESSAGES'],
    ['sandbox-echo', '2'],
    ['big', '1'],
    ['all', '3'],
  ]);
  expect(rows[3]?.slice(-5)).toEqual(['0.003', '0', '0.0002', '0.0018', '0.001']);
  expect(error).toBe('');
});

test('reports how many groups it does not show', async () => {
  const { out, error } = await world.run('usage', '--totals', 'model', '--limit', '1');
  expect([out.trimEnd().split('\n').length, error]).toEqual([
    3,
    '1 more rows are included in the total but not shown.\n',
  ]);
});

test('prints the groups and their total as one JSON value', async () => {
  const totals = await world.runJson('usage', '--totals', 'day', '--key', String(key['id']));
  expect(totals).toMatchObject({ groups: 1, data: [{ day: '2026-11-20', messages: 3 }], total: { messages: 3 } });
});

test('refuses filters that totals do not have', async () => {
  for (const wrong of [
    ['--totals', 'hour'],
    ['--totals', 'day', '--limit', '1001'],
    ['--totals', 'day', '--outcome', 'failed'],
    ['--totals', 'day', '--provider', 'sandbox'],
  ])
    expect((await world.run('usage', ...wrong)).exitCode).toBe(2);
  expect((await world.run('usage', '--totals', 'day', '--since', '2027-01-01')).error).toBe('No usage matches.\n');
});
