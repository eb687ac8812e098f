// Rates in USD per million tokens: exact decimals of the API, with two digits after the point at least, so that
// columns of them can be compared.

import { Text, type TextProps } from '@mantine/core';
import { printDecimal, readDecimal } from '../decimals.ts';

const RATE_DIGITS = 12;
const MULTIPLIER_DIGITS = 6;

/** "$3.00", "$0.003625". */
export function formatRate(rate: string): string {
  const [, sign = '', whole = rate, fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(rate) ?? [];
  return `${sign === '' ? '' : '−'}$${whole}.${fraction.padEnd(2, '0')}`;
}

/** A rate with the factor of a group, exact. The rate itself where one of them is no decimal. */
export function rateOfGroup(rate: string, multiplier: string): string {
  const [units, factor] = [readDecimal(rate, RATE_DIGITS), readDecimal(multiplier, MULTIPLIER_DIGITS)];
  return units === null || factor === null ? rate : printDecimal(units * factor, RATE_DIGITS + MULTIPLIER_DIGITS);
}

interface RateProps extends TextProps {
  usd: string | null | undefined;
  /** What stands where there is none. */
  none?: string;
}

export function Rate({ usd, none = '–', ...text }: RateProps) {
  return (
    <Text component="span" inherit className="tabular" {...(usd == null && { c: 'dimmed' })} {...text}>
      {usd == null ? none : formatRate(usd)}
    </Text>
  );
}
