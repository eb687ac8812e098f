// How amounts, rates, used limits and times are shown. The API sends exact decimal strings; they are shortened for
// display only.

import { Group, Progress, Stack, Text, type TextProps } from '@mantine/core';
import { printDecimal, readDecimal } from '../figures.ts';
import { Hint } from './page.tsx';

const NANO_DIGITS = 9;

/** "$1,234.56", and more digits for small amounts: "$0.000123". */
export function formatMoney(usd: string): string {
  const nano = nanoOf(usd);
  const isNegative = nano < 0n;
  const size = isNegative ? -nano : nano;
  const whole = size / 10n ** 9n;
  const fraction = (size % 10n ** 9n).toString().padStart(NANO_DIGITS, '0');
  const shown = whole > 0n ? roundedCents(size) : smallFraction(fraction);
  return `${isNegative ? '−' : ''}$${shown}`;
}

/** "$1,234.567" with all digits, and at least `digitsLeast` fraction digits, so that printed columns add up. */
export function formatExactMoney(usd: string, digitsLeast = 2): string {
  const [whole = '0', fraction = ''] = usdOf(nanoOf(usd.replace('-', ''))).split('.');
  const sign = nanoOf(usd) < 0n ? '−' : '';
  return `${sign}$${BigInt(whole).toLocaleString('en-US')}.${fraction.padEnd(Math.max(2, digitsLeast), '0')}`;
}

/** The highest number of fraction digits of these amounts. */
export function digitsOf(amounts: readonly string[]): number {
  return Math.max(0, ...amounts.map((usd) => usdOf(nanoOf(usd)).split('.')[1]?.length ?? 0));
}

/** Parses "1.5" to nanodollars. */
export function nanoOf(usd: string): bigint {
  const [, sign = '', whole = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d{1,9}))?$/.exec(usd) ?? [];
  const size = BigInt(whole) * 10n ** 9n + BigInt(fraction.padEnd(NANO_DIGITS, '0'));
  return sign === '-' ? -size : size;
}

/** Prints nanodollars in the format of the API. */
export function usdOf(nano: bigint): string {
  const size = nano < 0n ? -nano : nano;
  const fraction = (size % 10n ** 9n).toString().padStart(NANO_DIGITS, '0').replace(/0+$/, '');
  return `${nano < 0n ? '-' : ''}${size / 10n ** 9n}${fraction === '' ? '' : `.${fraction}`}`;
}

function roundedCents(size: bigint): string {
  const cents = (size + 5_000_000n) / 10_000_000n;
  return `${(cents / 100n).toLocaleString('en-US')}.${(cents % 100n).toString().padStart(2, '0')}`;
}

/** At least two digits, or up to the third significant digit. */
function smallFraction(fraction: string): string {
  const first = fraction.search(/[1-9]/);
  if (first < 0) return '0.00';
  return `0.${fraction.slice(0, Math.max(2, first + 3)).replace(/(..+?)0+$/, '$1')}`;
}

interface MoneyProps extends TextProps {
  usd: string | null | undefined;
  /** Shown for a missing amount. */
  none?: string;
}

export function Money({ usd, none = '–', ...text }: MoneyProps) {
  if (usd === null || usd === undefined)
    return (
      <Text component="span" inherit c="dimmed" {...text}>
        {none}
      </Text>
    );
  return (
    <Text component="span" inherit className="tabular" title={`${usd} USD`} {...text}>
      {formatMoney(usd)}
    </Text>
  );
}

const RATE_DIGITS = 12;
const MULTIPLIER_DIGITS = 6;

/** "$3.00", "$0.003625". */
export function formatRate(rate: string): string {
  const [, sign = '', whole = rate, fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(rate) ?? [];
  return `${sign === '' ? '' : '−'}$${whole}.${fraction.padEnd(2, '0')}`;
}

/** The exact rate with the multiplier of a group; the rate itself if one of them is invalid. */
export function rateOfGroup(rate: string, multiplier: string): string {
  const [units, factor] = [readDecimal(rate, RATE_DIGITS), readDecimal(multiplier, MULTIPLIER_DIGITS)];
  return units === null || factor === null ? rate : printDecimal(units * factor, RATE_DIGITS + MULTIPLIER_DIGITS);
}

interface RateProps extends TextProps {
  usd: string | null | undefined;
  /** Shown for a missing amount. */
  none?: string;
}

export function Rate({ usd, none = '–', ...text }: RateProps) {
  return (
    <Text component="span" inherit className="tabular" {...(usd == null && { c: 'dimmed' })} {...text}>
      {usd == null ? none : formatRate(usd)}
    </Text>
  );
}

const short = new Intl.DateTimeFormat(undefined, {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
});
const precise = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const inRow = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });
const steps: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];

interface WhenProps {
  /** ISO 8601; null or undefined is shown as "Never". */
  at: string | null | undefined;
  /** "2 hours ago" within a month. */
  isRelative?: boolean;
  /** Shows seconds. */
  isPrecise?: boolean;
  /** Shows seconds, and omits the current year. */
  isInRow?: boolean;
}

export function When({ at, isRelative = false, isPrecise = false, isInRow = false }: WhenProps) {
  if (at === null || at === undefined)
    return (
      <Text component="span" inherit c="dimmed">
        Never
      </Text>
    );
  const moment = new Date(at);
  const isThisYear = moment.getFullYear() === new Date().getFullYear();
  const shown = (isInRow && isThisYear ? inRow : isInRow || isPrecise ? precise : short).format(moment);
  return (
    <Text component="time" inherit dateTime={at} title={`${precise.format(moment)} · ${at}`} className="tabular">
      {isRelative ? (relativeTime(moment) ?? shown) : shown}
    </Text>
  );
}

function relativeTime(moment: Date): string | null {
  const distanceMs = moment.getTime() - Date.now();
  if (Math.abs(distanceMs) > 30 * 86_400_000) return null;
  for (const [unit, unitMs] of steps)
    if (Math.abs(distanceMs) >= unitMs) return relative.format(Math.round(distanceMs / unitMs), unit);
  return 'just now';
}

interface UsedBarProps {
  used: string;
  /** Null: no limit. */
  limit: string | null;
  /** For screen readers. */
  label: string;
  /** "per day". */
  period?: string;
  /** At least. */
  widthPx?: number;
}

export function UsedBar({ used, limit, label, period, widthPx }: UsedBarProps) {
  if (limit === null) return <Hint className="tabular">{`${formatMoney(used)} used, no limit`}</Hint>;
  const percent = percentOf(used, limit);
  return (
    <Stack gap={4} {...(widthPx !== undefined && { miw: widthPx })}>
      <Progress.Root size="sm">
        <Progress.Section
          value={Math.min(100, percent)}
          color={percent >= 100 ? 'red' : percent >= 90 ? 'orange' : 'road'}
          aria-label={`${label}: ${shownPercent(percent)}`}
        />
      </Progress.Root>
      <Group gap="xs" justify="space-between" wrap="nowrap">
        <Text size="xs" className="tabular" title={`${used} / ${limit} USD`}>
          {`${formatMoney(used)} of ${formatMoney(limit)}${period === undefined ? '' : ` ${period}`}`}
        </Text>
        <Hint size="xs" className="tabular">
          {shownPercent(percent)}
        </Hint>
      </Group>
    </Stack>
  );
}

/** A positive share is never shown as 0%, and an incomplete one never as 100%. */
function shownPercent(percent: number): string {
  return percent > 0 && percent < 1 ? '<1%' : `${Math.floor(percent)}%`;
}

/** 100 for a limit of zero. Two fraction digits are enough for a bar. */
export function percentOf(used: string, limit: string): number {
  const whole = nanoOf(limit);
  return whole <= 0n ? 100 : Number((nanoOf(used) * 10_000n) / whole) / 100;
}
