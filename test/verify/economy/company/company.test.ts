// The company's episodes as part of every test run: that a seed gives the same episode, and that their judge sees what it should.
// Long runs are `npm run economy`.

import { expect, test } from 'bun:test';
import { parseId } from '../../../../src/base/ids.ts';
import { dialects } from './bulk.ts';
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

const wanted = directCompany(1).flatMap((move) => (move.move === 'send' ? [move.wanted] : []));
const ofBatches: CompanyMove[] = [
  { move: 'begin', coalition: 'company' },
  {
    move: 'batch',
    secret: 0,
    form: 'messages',
    odd: null,
    items: wanted.slice(0, 3).map((of) => ({ ...of, model: 'quarters', maxTokens: 64 })),
  },
  {
    move: 'batch',
    secret: 2,
    form: 'chat',
    odd: null,
    items: wanted.slice(0, 2).map((of) => ({ ...of, model: 'kinds', maxTokens: 64 })),
  },
  { move: 'buy', secret: 0, wish: { use: 'images', amount: 2, fails: false } },
  { move: 'buy', secret: 0, wish: { use: 'transcription', amount: 3, fails: false } },
  { move: 'upload', secret: 0, purpose: 'user_data', bytes: 100, seconds: null },
  { move: 'wait', ms: 60_000 },
];

test('batches, files and goods that are billed as they should be break no rule', () => {
  let messages = 0;
  const { finding } = runCompanyEpisode(ofBatches, ({ tables }) => {
    messages = tables.endings.size;
  });
  expect([finding, messages]).toEqual([null, 7]);
});

test('batches whose leading node is killed, and whose prices change while they run, break no rule', () => {
  const meanwhile: CompanyMove[] = [
    { move: 'wait', ms: 1_000 },
    { move: 'kill' },
    { move: 'price', multiplier: '0.5', price: 3, group: '2' },
    { move: 'wait', ms: 1_300 },
    { move: 'kill' },
  ];
  const moves = [...ofBatches.slice(0, 3), ...meanwhile, ...ofBatches.slice(-1)];
  const costs = new Set<number>();
  const outcomes = new Map<string, number>();
  const { finding } = runCompanyEpisode(moves, ({ tables }) => {
    for (const { record } of tables.endings.values()) {
      outcomes.set(record.outcome, (outcomes.get(record.outcome) ?? 0) + 1);
      costs.add(record.cost);
    }
  });
  expect(finding).toBeNull();
  expect(outcomes.get('completed')).toBe(5);
  expect([...outcomes.keys()].length).toBeGreaterThan(1); // some were cut off by a kill
});

test('batches that providers run are answered, billed and told by each of their protocols', () => {
  const item = { words: 20, output: 9, maxTokens: 16, fate: 'answered', luck: 0 } as const;
  const moves: CompanyMove[] = [
    { move: 'begin', coalition: 'outsiders' },
    ...dialects.map((bulk) => {
      const items = [item, { ...item, fate: 'failed' } as const].map((each) => ({ ...each, bulk }));
      return { move: 'batch', secret: 0, form: 'chat', odd: null, items } as const;
    }),
    { move: 'kill', steps: 40 },
  ];
  let ran: unknown[] = [];
  const { finding } = runCompanyEpisode(moves, ({ bulk }) => {
    ran = [bulk.batches, bulk.done].map(({ length }) => length);
  });
  // A request that failed is sent once more, alone.
  expect([finding, ran]).toEqual([null, [dialects.length, 3 * dialects.length]]);
});

const spoils: [rule: string, spoil: (world: CompanyWorld) => void][] = [
  [
    'bill',
    ({ multipliers }) => {
      multipliers.clear();
      multipliers.add(2);
    },
  ],
  ['left over', ({ memory }) => void memory.kept.set('file_x', new Uint8Array(1))],
];

test.each(spoils)('a batch at a wrong price, and bytes without a file, are found: %s', (rule, spoil) => {
  let isSpoiled = false;
  const { finding } = runCompanyEpisode(ofBatches, (world) => {
    isSpoiled = true;
    spoil(world);
  });
  expect(isSpoiled).toBe(true);
  expect(finding).toStartWith(rule);
});

test('a key that changed its person is found', () => {
  const finding = spoiled(({ tables, keys }) => {
    const key = tables.keys.get(keys.find(({ person }) => person === 'mia')?.id ?? 0);
    if (key !== undefined) tables.keys.set(key.id, { ...key, personId: null });
  });
  expect(finding).toMatch(/^terms: key of mia/);
});
