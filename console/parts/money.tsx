// Amounts in USD. The API gives exact decimal texts: they are shortened for the eye here, never calculated with as
// fractions, and the exact one is there to be read on pointing at it.

import { Text, type TextProps } from '@mantine/core';

const NANO_DIGITS = 9;

/** "$1,234.56", and as many digits as a small amount needs to be seen: "$0.000123". */
export function formatMoney(usd: string): string {
  const nano = nanoOf(usd);
  const isNegative = nano < 0n;
  const size = isNegative ? -nano : nano;
  const whole = size / 10n ** 9n;
  const fraction = (size % 10n ** 9n).toString().padStart(NANO_DIGITS, '0');
  const shown = whole > 0n ? roundedCents(size) : smallFraction(fraction);
  return `${isNegative ? '−' : ''}$${shown}`;
}

/** "$1,234.567", to the last digit, and at least so many of them: what is on paper adds up. */
export function formatExactMoney(usd: string, digitsLeast = 2): string {
  const [whole = '0', fraction = ''] = usdOf(nanoOf(usd.replace('-', ''))).split('.');
  const sign = nanoOf(usd) < 0n ? '−' : '';
  return `${sign}$${BigInt(whole).toLocaleString('en-US')}.${fraction.padEnd(Math.max(2, digitsLeast), '0')}`;
}

/** How many digits after the point the longest of these amounts has. */
export function digitsOf(amounts: readonly string[]): number {
  return Math.max(0, ...amounts.map((usd) => usdOf(nanoOf(usd)).split('.')[1]?.length ?? 0));
}

/** "1.5" as whole nanodollars. */
export function nanoOf(usd: string): bigint {
  const [, sign = '', whole = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d{1,9}))?$/.exec(usd) ?? [];
  const size = BigInt(whole) * 10n ** 9n + BigInt(fraction.padEnd(NANO_DIGITS, '0'));
  return sign === '-' ? -size : size;
}

/** Whole nanodollars as the API writes them. */
export function usdOf(nano: bigint): string {
  const size = nano < 0n ? -nano : nano;
  const fraction = (size % 10n ** 9n).toString().padStart(NANO_DIGITS, '0').replace(/0+$/, '');
  return `${nano < 0n ? '-' : ''}${size / 10n ** 9n}${fraction === '' ? '' : `.${fraction}`}`;
}

function roundedCents(size: bigint): string {
  const cents = (size + 5_000_000n) / 10_000_000n;
  return `${(cents / 100n).toLocaleString('en-US')}.${(cents % 100n).toString().padStart(2, '0')}`;
}

/** Two digits at least, else up to the second one that counts. */
function smallFraction(fraction: string): string {
  const first = fraction.search(/[1-9]/);
  if (first < 0) return '0.00';
  return `0.${fraction.slice(0, Math.max(2, first + 3)).replace(/(..+?)0+$/, '$1')}`;
}

interface MoneyProps extends TextProps {
  usd: string | null | undefined;
  /** What stands where there is none. */
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
