// Formats counts, shares, durations and days, and converts decimal strings. Floating point is used for charts only.

const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/** "1 request", "12,345 requests", "2 aliases": a count with its noun in the right number. */
export function countOf(count: number, noun: string, format = formatCount): string {
  return `${format(count)} ${count === 1 ? noun : `${noun}${noun.endsWith('s') ? 'es' : 's'}`}`;
}

/** "12,345" below 100,000, then "1.2M". */
export function formatShort(count: number): string {
  return Math.abs(count) < 100_000 ? formatCount(Math.round(count)) : compact.format(count);
}

/** "90K", "1.2M": for axes, whose labels share one form. */
export function formatCompact(count: number): string {
  return compact.format(count);
}

/** "1.3%" for 0.013. A positive share is never shown as 0%. */
export function formatShare(share: number): string {
  const percent = share * 100;
  if (percent > 0 && percent < 0.1) return '<0.1%';
  return `${percent.toLocaleString('en-US', { maximumFractionDigits: percent < 10 ? 1 : 0 })}%`;
}

/** "85 ms", "1.24 s", "2 min 5 s". */
export function formatMs(ms: number): string {
  if (ms < 1_000) return `${ms < 10 && !Number.isInteger(ms) ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Parses "1.5" to units of 10^-digits. Null for an invalid decimal or one with more digits. */
export function readDecimal(text: string | undefined, digits: number): bigint | null {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text ?? '');
  if (match === null) return null;
  const [, sign, whole = '', fraction = ''] = match;
  const kept = fraction.replace(/0+$/, '');
  if (kept.length > digits) return null;
  const units = BigInt(whole + kept.padEnd(digits, '0'));
  return sign === '-' ? -units : units;
}

/** Prints without trailing zeros: "1.5". */
export function printDecimal(units: bigint, digits: number): string {
  const size = (units < 0n ? -units : units).toString().padStart(digits + 1, '0');
  const fraction = size.slice(size.length - digits).replace(/0+$/, '');
  return `${units < 0n ? '-' : ''}${size.slice(0, size.length - digits)}${fraction === '' ? '' : `.${fraction}`}`;
}

/** Converts "0.0012" to a floating-point number, for charts only. */
export function toChartNumber(usd: string | null): number | null {
  return usd === null ? null : Number(usd);
}

const AXIS_STEPS_MAX = 5;
const ROUND_STEPS = [1, 2, 2.5, 5, 10];

/** The labels of an axis with zero, in round steps, and the values that it spans. Counts have no labels of fractions. */
export function axisOf(
  least: number,
  most: number,
  isOfCounts: boolean,
): { ticks: number[]; domain: readonly [number, number] } {
  const step = roundStep((most - least || 1) / AXIS_STEPS_MAX, isOfCounts);
  // A little below zero needs no label of its own.
  const first = -least > step / 4 ? Math.floor(least / step) : 0;
  const last = Math.max(Math.ceil(most / step), first + 1);
  const ticks = Array.from({ length: last - first + 1 }, (_, at) => Number(((first + at) * step).toPrecision(12)));
  return { ticks, domain: [Math.min(least, first * step), last * step] };
}

/** The smallest round step that is not below `least`. */
function roundStep(least: number, isOfCounts: boolean): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const step = (ROUND_STEPS.find((round) => round * power >= least) ?? 10) * power;
  return isOfCounts && !Number.isInteger(step) ? Math.ceil(step) : step;
}
