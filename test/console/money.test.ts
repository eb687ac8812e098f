// The rule by which amounts are shown, held by properties over random amounts.

import { describe, expect, test } from 'bun:test';
import { axisOf } from '../../console/figures.ts';
import {
  chartFormats,
  digitsOf,
  formatExactMoney,
  formatMoney,
  formatRate,
  formatRequestMoney,
  nanoOf,
  usdOf,
} from '../../console/money.ts';
import { quantityText, recordUnitsText, unitsText, unitsWithout } from '../../console/units.ts';
import { makeRandom } from '../support/random.ts';

const random = makeRandom(20_261_122);
const NINE_DIGITS = 9;

/** Amounts of every size from one nanodollar to millions, many of them on or beside the half of a digit. */
function randomNano(): bigint {
  const digits = 1 + Math.floor(random() * 15);
  const figure = BigInt(Math.floor(random() * 10 ** digits));
  const kind = random();
  const unit = 10n ** BigInt(Math.floor(random() * 9));
  if (kind < 0.5) return figure;
  return (figure / unit) * unit + (kind < 0.75 ? unit / 2n : kind < 0.9 ? unit / 2n - 1n : unit - 1n);
}

const nanos = Array.from({ length: 5_000 }, randomNano).filter((nano) => nano >= 0n);

/** The amount that a text shows. */
const shownNano = (text: string) => nanoOf(text.replace('−', '-').replace(/[$,]/g, ''));
const shownDigits = (text: string) => text.split('.')[1]?.length ?? 0;

test('a total has two digits, is rounded half up, and has four significant digits below a cent', () => {
  const shown: [string, string][] = [
    ['0.106634', '$0.11'],
    ['0.999999', '$1.00'],
    ['0.005', '$0.005'],
    ['0.004999999', '$0.005'],
    ['-0.000000001', '−$0.000000001'],
    ['0.00999949', '$0.009999'],
    ['0.0123456', '$0.01'],
    ['1234.565', '$1,234.57'],
    ['1.005', '$1.01'],
    ['-1.004', '−$1.00'],
    ['0', '$0.00'],
  ];
  expect(shown.map(([usd]) => [usd, formatMoney(usd)])).toEqual(shown);
});

test('an amount of a request has four significant digits, and at least two after the point', () => {
  const shown: [string, string][] = [
    ['0.001812563', '$0.001813'],
    ['0.00018', '$0.00018'],
    ['0.000000001', '$0.000000001'],
    ['0.000000000012345', '$0.00000000001235'],
    ['0.99996', '$1.00'],
    ['1.23456', '$1.235'],
    ['12.3456', '$12.35'],
    ['1234.5678', '$1,234.57'],
    ['0.5', '$0.50'],
    ['-0.1065849', '−$0.1066'],
    ['0', '$0.00'],
  ];
  expect(shown.map(([usd]) => [usd, formatRequestMoney(usd)])).toEqual(shown);
});

describe.each([
  ['total', formatMoney],
  ['amount of a request', formatRequestMoney],
] as const)('a shown %s', (_, format) => {
  const amounts = nanos.filter((nano) => !/[<>]/.test(format(usdOf(nano))));
  test('is at most half a unit of its last digit from the exact amount, and a half is rounded up', () => {
    for (const nano of amounts) {
      const text = format(usdOf(nano));
      const unit = 10n ** BigInt(NINE_DIGITS - shownDigits(text));
      const difference = shownNano(text) - nano;
      expect({ nano, text, isNear: 2n * difference <= unit && 2n * difference > -unit }).toEqual({
        ...{ nano, text, isNear: true },
      });
    }
  });
  test('is never zero for a positive amount, and is the same with the other sign', () => {
    for (const nano of amounts.filter((one) => one > 0n)) {
      const text = format(usdOf(nano));
      expect(shownNano(text)).toBeGreaterThan(0n);
      expect(format(usdOf(-nano))).toBe(`−${text}`);
    }
  });
  test('never decreases when the amount increases', () => {
    let before = 0n;
    for (const nano of amounts.toSorted((one, other) => (one < other ? -1 : one > other ? 1 : 0))) {
      const shown = shownNano(format(usdOf(nano)));
      expect(shown).toBeGreaterThanOrEqual(before);
      before = shown;
    }
  });
});

test('the labels of an axis have the same digits and are exact', () => {
  for (const most of nanos.slice(0, 500).map((nano) => Number(nano) / 1e9)) {
    if (most < 1e-6) continue;
    // A step of an axis is at least a fourth of the largest value, with two significant digits.
    const power = 10 ** (Math.floor(Math.log10(most / 4)) - 1);
    const step = Math.ceil(most / 4 / power) * power;
    const labels = [0, 1, 2, 3, 4].map((count) => chartFormats.format(count * step, most));
    expect([most, new Set(labels.map(shownDigits)).size]).toEqual([most, 1]);
    const shown = labels.map((label) => Number(shownNano(label)) / 1e9);
    for (const [count, label] of shown.entries()) expect(Math.abs(label - count * step)).toBeLessThan(power / 2);
  }
  const labels = [0, 0.0015, 0.003, 0.0045, 0.006].map((usd) => chartFormats.format(usd, 0.0047));
  expect(labels).toEqual(['$0.0000', '$0.0015', '$0.0030', '$0.0045', '$0.0060']);
  expect([0, 150, 600].map((usd) => chartFormats.format(usd, 485))).toEqual(['$0.00', '$150.00', '$600.00']);
});

test('an axis has zero, covers all values in at most six or seven round steps, and its labels are exact', () => {
  expect(axisOf(0, 627, true)).toEqual({ ticks: [0, 200, 400, 600, 800], domain: [0, 800] });
  expect(axisOf(0, 0, true)).toEqual({ ticks: [0, 1], domain: [0, 1] });
  expect(axisOf(-0.4, 285, false)).toEqual({ ticks: [0, 100, 200, 300], domain: [-0.4, 300] });
  expect(axisOf(-120, 285, false).ticks).toEqual([-200, -100, 0, 100, 200, 300]);
  for (const most of nanos.slice(0, 500).map((nano) => Number(nano) / 1e9)) {
    if (most < 1e-6) continue;
    for (const least of [0, -most / 100, -most / 3]) {
      const { ticks, domain } = axisOf(least, most, false);
      expect([most, ticks.includes(0), ticks.length < 9, domain[0] <= least, domain[1] >= most]).toEqual([
        ...[most, true, true, true, true],
      ]);
      for (const tick of ticks) expect(Number(shownNano(chartFormats.format(tick, most))) / 1e9).toBeCloseTo(tick, 9);
    }
    const counts = axisOf(0, Math.ceil(most), true).ticks;
    expect([most, counts.every(Number.isInteger)]).toEqual([most, true]);
  }
});

test('an exact amount keeps every digit, its sign and at least two digits', () => {
  const written: [string, number | undefined, string][] = [
    ['0', undefined, '$0.00'],
    ['-0.5', undefined, '−$0.50'],
    ['1234567.000000001', undefined, '$1,234,567.000000001'],
    ['-12.30', 5, '−$12.30000'],
    ['0.000000000000125', 4, '$0.000000000000125'],
  ];
  for (const [usd, digits, shown] of written) expect(formatExactMoney(usd, digits)).toBe(shown);
  expect(digitsOf(['1', '0.10', '-0.0003', null])).toBe(4);
  expect(digitsOf([])).toBe(0);
  expect([formatRate('3'), formatRate('0.003625'), formatRate('3', 6)]).toEqual(['$3.00', '$0.003625', '$3.000000']);
});

test('amounts survive the round trip through nanodollars', () => {
  for (const usd of ['0', '-0.000000001', '9007199.254740991', '12.5']) expect(usdOf(nanoOf(usd))).toBe(usd);
});

describe('units', () => {
  const use = (quantity: number, cost = '0') => ({ quantity, cost });

  test('are shown as counts, and sound as a time', () => {
    expect(unitsText({ images: use(1), searches: use(1), seconds: use(59), characters: use(1_204) })).toBe(
      '1 image · 1,204 characters · 59 s of sound · 1 search',
    );
    expect(unitsText({ seconds: use(200), input_audio_tokens: use(2_000), output_image_tokens: use(1) })).toBe(
      '2,000 audio input tokens · 1 image output token · 3 min 20 s of sound',
    );
    expect([3_599, 3_600, 5_000_000].map((seconds) => quantityText('seconds', seconds))).toEqual([
      '59 min 59 s',
      '1 h 0 min',
      '1,388 h 53 min',
    ]);
    expect([unitsText({}), unitsText(null), recordUnitsText({ images: 0 })]).toEqual(['', '', '']);
  });

  test('of accounts below are those of all without its own', () => {
    const whole = { images: use(5, '0.000000007'), seconds: use(3, '1') };
    expect(unitsWithout(whole, { images: use(2, '0.000000001') })).toEqual({
      images: use(3, '0.000000006'),
      seconds: use(3, '1'),
    });
    expect(unitsWithout(null, whole)).toBeNull();
  });
});
