// The company's episodes as part of every test run: that a seed gives the same episode, and that their judge sees what it should.
// Long runs are `npm run economy`.

import { expect, test } from 'bun:test';
import { parseId } from '../../../../src/base/ids.ts';
import { directCompany } from './director.ts';
import { allOperations, runCompanyEpisode } from './episode.ts';
import type { CompanyMove } from './moves.ts';
import type { CompanyWorld } from './world.ts';

const SEEDS = [1, 2, 3, 4];

const own: CompanyMove[] = [
  { move: 'begin', coalition: 'members' },
  ...directCompany(1).filter(({ move }) => move === 'send'),
  { move: 'wait', ms: 60_000 },
];

/** Plays the moves, and lets something happen to the company before the judge looks. */
function spoiled(spoil: (world: CompanyWorld) => void): string | null {
  return runCompanyEpisode(own, spoil).finding;
}

function accountOf({ tables, accounts }: CompanyWorld, name: keyof CompanyWorld['accounts']) {
  const id = parseId('acct', accounts[name]) ?? 0;
  const row = tables.accountMeters.get(id);
  if (row === undefined) throw new Error(`there is no ${name}`);
  return { id, row };
}

test('the same seed gives the same episode, in which no rule is broken', () => {
  const results = () => SEEDS.map((seed) => runCompanyEpisode(directCompany(seed)));
  const first = results();
  expect(first.map(({ finding }) => finding)).toEqual(SEEDS.map(() => null));
  expect(new Set(first.map(({ hash }) => hash)).size).toBe(SEEDS.length);
  expect(results().map(({ hash }) => hash)).toEqual(first.map(({ hash }) => hash));
});

test('every operation of the API that answers JSON can be called', () => {
  const names = allOperations().map(({ name }) => name);
  for (const name of ['PATCH /api/v1/keys/{id}', 'PATCH /api/v1/people/{id}/budget', 'POST /api/v1/tokens'])
    expect(names).toContain(name);
  expect(names.length).toBeGreaterThan(100);
});

test('an episode that nothing happens to breaks no rule', () => {
  expect(spoiled(() => {})).toBeNull();
});

test('a limit that was raised from below is found', () => {
  const finding = spoiled((world) => {
    const { id, row } = accountOf(world, 'quay');
    world.tables.accountMeters.set(id, { ...row, allowance: null });
  });
  expect(finding).toMatch(/^terms: account quay/);
});

test('spending beyond a budget is found', () => {
  const finding = spoiled(({ tables }) => {
    for (const [id, ending] of tables.endings) {
      const { record } = ending;
      tables.endings.set(id, { ...ending, record: { ...record, requestId: id, writtenOff: -1_000_000_000 } });
    }
  });
  expect(finding).toMatch(/^(?:allowance|budget): /);
});

test('money that comes from nowhere is found', () => {
  const finding = spoiled((world) => {
    const { tables } = world;
    const { id, row } = accountOf(world, 'south');
    const gift = { kind: 'payment', debit: 1, credit: id, amount: 5, reference: null, note: null } as const;
    const [sample] = tables.entries;
    if (sample !== undefined) tables.entries.push({ ...sample, ...gift });
    tables.accountMeters.set(id, { ...row, balance: row.balance + 5, month: { ...row.month } });
  });
  expect(finding).toMatch(/^(?:money|ledger): /);
});

test('a key that changed its person is found', () => {
  const finding = spoiled(({ tables, keys }) => {
    const key = tables.keys.get(keys.find(({ person }) => person === 'mia')?.id ?? 0);
    if (key !== undefined) tables.keys.set(key.id, { ...key, personId: null });
  });
  expect(finding).toMatch(/^terms: key of mia/);
});
