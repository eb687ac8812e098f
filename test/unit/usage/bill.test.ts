// The bill of a message is the one that docs/ledger.md states, for everyone who can end it and everything that can be known.

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { billEvidence, type Evidence, type Known } from '../../../src/usage/bill.ts';
import { BILLS, type Ending, type Held, knownOf } from '../../../src/usage/usage.ts';
import { NO_TOKENS } from '../../../src/wire/wire.ts';

const COLUMNS: readonly Known[] = ['nothing', 'hidden', 'part', 'final'];
const HELD: Held = { inputTokens: 1_000, outputTokens: 500, webSearches: 3 };
const PART: Evidence = {
  hasBegun: true,
  isFinal: false,
  isHidden: false,
  mayHide: false,
  prompt: { ...NO_TOKENS, input: 40, cacheRead: 60 },
  isPromptReported: true,
  reportedOutput: 7,
  compactions: NO_TOKENS,
  summaries: 0,
  webSearches: 1,
  countedPrompt: null,
  countedOutput: 20,
  outputMost: 90,
};

test('the table of docs/ledger.md is the table of the code', async () => {
  const page = await Bun.file(join(import.meta.dir, '../../../docs/ledger.md')).text();
  const rows = [...page.matchAll(/^\| `(\w+)`: [^|]*\|(.*)\|$/gm)].map(([, ending = '', cells = '']) => {
    const bills = cells.split('|').map((cell) => cell.trim());
    return [ending, Object.fromEntries(COLUMNS.map((known, at) => [known, bills[at]]))];
  });
  expect(Object.fromEntries(rows)).toEqual(BILLS);
});

test('what is known follows from the evidence', () => {
  expect(knownOf({ ...PART, hasBegun: false })).toBe('nothing');
  expect(knownOf({ ...PART, isHidden: true })).toBe('hidden');
  expect(knownOf(PART)).toBe('part');
  expect(knownOf({ ...PART, isFinal: true })).toBe('final');
  expect(knownOf({ ...PART, isFinal: true, isPromptReported: false })).toBe('part');
});

test('evidence is the largest of what was reported and counted', () => {
  expect(billEvidence('client', PART, HELD)).toEqual({
    ...NO_TOKENS,
    input: 40,
    cacheRead: 60,
    output: 20,
    webSearches: 1,
  });
  expect(billEvidence('client', { ...PART, reportedOutput: 400 }, HELD)?.output).toBe(400);
  const uncounted = { ...PART, isPromptReported: false, prompt: NO_TOKENS };
  expect(billEvidence('client', { ...uncounted, countedPrompt: 333 }, HELD)?.input).toBe(333);
});

test('without any count the upper bound is billed', () => {
  const uncounted = { ...PART, isPromptReported: false, prompt: NO_TOKENS, countedOutput: null };
  expect(billEvidence('provider', uncounted, HELD)).toMatchObject({ input: 1_000, output: 90 });
});

test('a summary that was seen and not reported has read the prompt once more', () => {
  const unreported = { ...PART, prompt: NO_TOKENS, isPromptReported: false, reportedOutput: null, countedPrompt: 300 };
  expect(billEvidence('answered', unreported, HELD)?.input).toBe(300);
  expect(billEvidence('answered', { ...unreported, summaries: 1 }, HELD)?.input).toBe(600);
  const reported = { ...NO_TOKENS, input: 290, output: 4 };
  expect(billEvidence('answered', { ...unreported, summaries: 1, compactions: reported }, HELD)).toMatchObject({
    input: 590,
    output: 24,
  });
  // The hold includes it, and a provider that reports its usage is believed.
  expect(billEvidence('answered', { ...unreported, summaries: 1, countedPrompt: null }, HELD)?.input).toBe(1_000);
  expect(billEvidence('client', { ...unreported, summaries: 1, isHidden: true }, HELD)?.input).toBe(1_000);
  expect(billEvidence('answered', { ...PART, summaries: 1 }, HELD)?.input).toBe(40);
});

test('what was held is billed in addition to no more than it', () => {
  const hidden = billEvidence('revoked', { ...PART, isHidden: true }, HELD);
  expect(hidden).toEqual({ ...NO_TOKENS, input: 940, cacheRead: 60, output: 500, webSearches: 3 });
  const dearer = { ...PART, isHidden: true, reportedOutput: 900 };
  expect(billEvidence('client', dearer, HELD)?.output).toBe(900);
});

test('output beyond the money is not billed, unless it could not be seen', () => {
  expect(billEvidence('money', { ...PART, countedOutput: 800 }, HELD)?.output).toBe(500);
  const unseen = { ...PART, isFinal: true, mayHide: true, reportedOutput: 800 };
  expect(billEvidence('money', unseen, HELD)?.output).toBe(800);
});

test('a bill never falls when more is known, for every ending', () => {
  const sum = (ending: Ending, evidence: Evidence) => {
    const counts = billEvidence(ending, evidence, HELD) ?? NO_TOKENS;
    return counts.input + counts.output + counts.cacheRead;
  };
  for (const ending of Object.keys(BILLS) as Ending[])
    for (const more of [
      { reportedOutput: 30 },
      { countedOutput: 30 },
      { reportedOutput: 30, isFinal: true, countedOutput: null },
    ])
      expect(sum(ending, { ...PART, countedOutput: 20, ...more })).toBeGreaterThanOrEqual(sum(ending, PART));
});
