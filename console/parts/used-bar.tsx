// How much of a bounded amount is used: a bar, and the figures in words.

import { Group, Progress, Stack, Text } from '@mantine/core';
import { words } from '../words.ts';
import { formatMoney, nanoOf } from './money.tsx';

interface UsedBarProps {
  used: string;
  /** Null: there is no limit, and only what was used is said. */
  limit: string | null;
  /** What it is of, for readers of the screen. */
  label: string;
  /** "a day". */
  period?: string;
  widthPx?: number;
}

export function UsedBar({ used, limit, label, period, widthPx }: UsedBarProps) {
  if (limit === null)
    return (
      <Text size="sm" c="dimmed" className="tabular">
        {words.parts.usedWithoutLimit(formatMoney(used))}
      </Text>
    );
  const percent = percentOf(used, limit);
  return (
    <Stack gap={4} miw={0} {...(widthPx !== undefined && { w: widthPx })}>
      <Progress.Root size="sm">
        <Progress.Section
          value={Math.min(100, percent)}
          color={percent >= 100 ? 'red' : percent >= 90 ? 'orange' : 'road'}
          aria-label={`${label}: ${shownPercent(percent)}`}
        />
      </Progress.Root>
      <Group gap="xs" justify="space-between" wrap="nowrap">
        <Text size="xs" className="tabular" title={`${used} / ${limit} USD`}>
          {words.parts.usedOf(formatMoney(used), formatMoney(limit), period)}
        </Text>
        <Text size="xs" c="dimmed" className="tabular">
          {shownPercent(percent)}
        </Text>
      </Group>
    </Stack>
  );
}

/** What is above nothing is not shown as nothing, nor what is not all as all. */
function shownPercent(percent: number): string {
  return percent > 0 && percent < 1 ? words.parts.usedLittle : words.parts.usedPercent(Math.floor(percent));
}

/** Of 0 all is used. Two digits after the point are enough for a bar. */
export function percentOf(used: string, limit: string): number {
  const whole = nanoOf(limit);
  return whole <= 0n ? 100 : Number((nanoOf(used) * 10_000n) / whole) / 100;
}
