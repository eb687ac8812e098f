// How amounts, rates and used limits are shown, with the exact amount on hover.

import { Group, Progress, Stack, Text, type TextProps } from '@mantine/core';
import { formatAmount, formatExactMoney, formatMoney, formatRate, type Precision, percentOf } from '../money.ts';
import { Hint, lengthOf } from './page.tsx';

interface MoneyProps extends TextProps {
  usd: string | null | undefined;
  precision?: Precision;
  /** Shows the sign of a positive amount. */
  isSigned?: boolean;
  /** Shown for a missing amount. */
  none?: string;
}

export function Money({ usd, precision = 'total', isSigned = false, none = '–', ...text }: MoneyProps) {
  if (usd === null || usd === undefined)
    return (
      <Text component="span" inherit c="dimmed" {...text}>
        {none}
      </Text>
    );
  const shown = `${isSigned && /^[^-]*[1-9]/.test(usd) ? '+' : ''}${formatAmount(usd, precision)}`;
  return (
    <Text component="span" inherit className="tabular" title={formatExactMoney(usd)} style={lengthOf(shown)} {...text}>
      {shown}
    </Text>
  );
}

interface RateProps extends TextProps {
  usd: string | null | undefined;
  /** The fraction digits of the other rates of a column, at least. */
  digits?: number | undefined;
  /** Shown for a missing amount. */
  none?: string;
}

export function Rate({ usd, digits, none = '–', ...text }: RateProps) {
  return (
    <Text component="span" inherit className="tabular" {...(usd == null && { c: 'dimmed' })} {...text}>
      {usd == null ? none : formatRate(usd, digits)}
    </Text>
  );
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
  if (limit === null)
    return (
      <Hint className="tabular">
        <Money usd={used} /> used, no limit
      </Hint>
    );
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
        <Text size="xs">
          <span
            className="tabular"
            title={`${formatExactMoney(used)} of ${formatExactMoney(limit)}`}
          >{`${formatMoney(used)} of ${formatExactMoney(limit)}`}</span>
          {period !== undefined && ` ${period}`}
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
