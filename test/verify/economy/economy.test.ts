// The economy as part of every test run: that a seed gives the same episode, and that its judge sees what it should.
// Long runs are `npm run economy`.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootDirectory } from '../../check.ts';
import { makeDirector } from './director.ts';
import { type Director, inOrder, runEpisode } from './episode.ts';
import { checkHoles } from './holes.ts';
import { exceptions } from './judge.ts';
import type { Move } from './moves.ts';
import { runJudged } from './neighbours.ts';
import { shrink } from './shrink.ts';

const SEEDS = [1, 2, 3, 4, 5, 6];
const once: Move[] = [
  {
    move: 'send',
    by: 'ann',
    key: 0,
    times: 1,
    model: 'kinds',
    isStream: true,
    prompt: [['prose', 300]],
    answer: [['prose', 2_000]],
    maxTokens: 1_000,
    luck: 700,
    hasIdempotencyKey: false,
    reads: null,
    leavesAt: null,
    file: null,
    thinking: 0,
    tool: null,
    uses: 0,
    resultTokens: 0,
    ending: 'answer',
  },
  { move: 'wait', ms: 5_000 },
];

/** Makes the moves, and then lets something happen to what they came to. */
function spoiling(spoil: (...given: Parameters<Director>) => void): Director {
  let turn = 0;
  return (facts, world) => {
    if (turn++ === 0) return once;
    spoil(facts, world);
    return null;
  };
}

function spoiled(spoil: (...given: Parameters<Director>) => void): string | null {
  return runEpisode(spoiling(spoil)).finding;
}

test('the same seed gives the same episode', () => {
  const hashes = () => SEEDS.map((seed) => runEpisode(makeDirector(seed)).hash);
  const first = hashes();
  expect(new Set(first).size).toBe(SEEDS.length);
  expect(hashes()).toEqual(first);
});

test('replaying the moves of an episode gives the same result', () => {
  for (const seed of SEEDS) {
    const { hash, moves } = runEpisode(makeDirector(seed));
    expect(runEpisode(inOrder(moves)).hash).toBe(hash);
  }
});

test('an answer that is read and paid for breaks no rule', () => {
  expect(spoiled(() => {})).toBeNull();
});

test('a slot that is not freed is found', () => {
  expect(spoiled((_, { gateway }) => void gateway.slots.take(1))).toMatch(/^left over: 1 slots/);
});

test('a balance that differs from its entries is found', () => {
  const finding = spoiled((_, { tables }) => {
    const { account } = tables.entries.find(({ kind }) => kind === 'usage') as { account: number };
    const row = tables.accountMeters.get(account) as NonNullable<ReturnType<typeof tables.accountMeters.get>>;
    const used = tables.entries.filter(({ kind }) => kind === 'usage').reduce((sum, { amount }) => sum + amount, 0);
    tables.accountMeters.set(account, { ...row, balance: row.balance + used });
  });
  expect(finding).toMatch(/^ledger: /);
});

test('a record that differs from what the client saw is found', () => {
  const finding = spoiled(({ messages }) => {
    for (const message of messages) message.status = 500;
  });
  expect(finding).toMatch(/^record: ann got 500/);
});

test('an honest account that is billed for more than was produced is found', () => {
  const finding = spoiled(({ productions }) => {
    for (const [production] of productions.values()) if (production !== undefined) production.bytes /= 2;
  });
  expect(finding).toMatch(/^bill: ann was billed/);
});

test('a message that is billed less than its provider charges is found', () => {
  const finding = spoiled(({ productions }) => {
    for (const [production] of productions.values()) if (production !== undefined) production.thinking += 100;
  });
  expect(finding).toMatch(/^unpaid: ann paid/);
});

test('an account that waits longer beside others than alone is found', () => {
  const { finding } = runJudged(
    spoiling(({ messages }) => {
      for (const message of messages) message.endedMs = (message.endedMs ?? 0) + 5_000;
    }),
  );
  expect(finding).toMatch(/^neighbour: message 0 of ann, beside attackers: an answer after/);
});

const PAID: Move[] = [
  { move: 'pay', by: 'moe', cents: 200 },
  { move: 'reverse', by: 'moe', how: 'refund', payment: 0, cents: 150 },
];

test('a bonus that stays when its payment is taken back is found, and so is credit beyond what was paid', () => {
  expect(runEpisode(inOrder(PAID)).finding).toBeNull();
  const spoiledBy = (prefix: string) => {
    let turn = 0;
    return runEpisode((_, { tables }) => {
      if (turn++ === 0) return PAID;
      for (const entry of tables.entries.filter(({ reference }) => reference?.startsWith(prefix)))
        Object.assign(entry, { reference: null });
      return null;
    }).finding;
  };
  expect(spoiledBy('bonus:')).toBe('bonus: moe may keep 125000000 of it, and has 0');
  expect(spoiledBy('stripe:')).toBe('payments: moe paid 500000000, less what was taken back, and has 0');
});

test('a message that spends what a reversal has taken is found', () => {
  let turn = 0;
  const { finding } = runEpisode(({ paid, messages }) => {
    if (turn++ === 0) return [...PAID, ...once.map((move) => ('by' in move ? { ...move, by: 'moe' as const } : move))];
    expect(messages.at(-1)?.isWhole).toBe(true);
    for (const { books } of paid) Object.assign(books, { paid: -10_000_000_000n });
    return null;
  });
  expect(finding).toMatch(/^owed: moe spent \d+, and had -\d+ after a reversal$/);
});

test('every exception from the bill of the provider is in docs/ledger.md', () => {
  const lines = readFileSync(join(rootDirectory, 'docs/ledger.md'), 'utf8').split('\n');
  for (const { row } of exceptions)
    expect({ row, lines: lines.filter((line) => line.replace(/^- /, '').startsWith(row)).length }).toEqual({
      row,
      lines: 1,
    });
});

test('every hole can be put back', () => {
  expect(checkHoles).not.toThrow();
});

test('shrinking keeps the moves that matter', () => {
  const moves: Move[] = [1, 2, 3, 4, 5].map((ms) => ({ move: 'wait', ms }));
  const least = shrink(moves, (fewer) => fewer.some((move) => move.move === 'wait' && move.ms === 4), 100);
  expect(least).toEqual([{ move: 'wait', ms: 4 }]);
});
