// Text that is let through without an estimate never needs more cover than was left.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type ByteClasses, totalBytes } from '../../../src/usage/byte-classes.ts';
import { BASELINE_ESTIMATE, bytesWithin, coverText, type OutputEstimate } from '../../../src/usage/output-estimate.ts';

const ratio = fc.double({ min: 0.25, max: 4, noNaN: true });
const share = fc.double({ min: 0, max: 1, noNaN: true });
const six = <Value>(one: fc.Arbitrary<Value>) => fc.tuple(one, one, one, one, one, one);
const spread = fc
  .tuple(ratio, ratio)
  .map(([one, other]) => ({ low: Math.min(one, other), high: Math.max(one, other) }));
const kind = fc.tuple(six(share), spread).map(([shares, { low, high }]) => ({ shares, low, high }));
const fit = fc
  .tuple(six(fc.double({ min: 0.01, max: 3, noNaN: true })), fc.array(kind, { maxLength: 3 }), spread)
  .map(([coefficients, kinds, { low, high }]) => ({ coefficients, kinds, low, high }));
const estimate: fc.Arbitrary<OutputEstimate> = fc
  .record({ own: fc.option(fit), votes: fc.array(fit, { maxLength: 4 }) })
  .map((fits) => ({ ...BASELINE_ESTIMATE, ...fits }));
const classes = six(fc.nat(5_000));

test('text of the free bytes, whatever its classes, costs no more than the tokens', () => {
  let freeCount = 0;
  fc.assert(
    fc.property(estimate, classes, fc.nat(2_000), six(share), share, (sampled, before, tokens, weights, part) => {
      const bytes = bytesWithin(sampled, before, tokens);
      if (bytes > 0) freeCount++;
      const sum = weights.reduce((total, weight) => total + weight, 0) || 1;
      const after = before.map((count, at) => count + Math.floor((bytes * part * (weights[at] as number)) / sum));
      expect(totalBytes(after as ByteClasses)).toBeLessThanOrEqual(totalBytes(before) + bytes);
      expect(coverText(sampled, after as ByteClasses)).toBeLessThanOrEqual(coverText(sampled, before) + tokens + 1e-6);
    }),
    { numRuns: 5_000 },
  );
  expect(freeCount).toBeGreaterThan(500);
});

test('without samples the free bytes are exactly those that the tokens pay for', () => {
  expect(bytesWithin(BASELINE_ESTIMATE, [40, 0, 0, 0, 0, 0], 100)).toBe(400);
  expect(bytesWithin(BASELINE_ESTIMATE, [40, 0, 0, 0, 0, 0], 0)).toBe(0);
  expect(bytesWithin(BASELINE_ESTIMATE, [40, 0, 0, 0, 0, 0], -5)).toBe(0);
});
