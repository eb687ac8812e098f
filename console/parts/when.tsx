// A moment: in the reader's own time and words, exact and in UTC on pointing at it.

import { Text } from '@mantine/core';
import { words } from '../words.ts';

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
  /** ISO 8601; null or undefined: never. */
  at: string | null | undefined;
  /** "2 hours ago" for what is less than a month away. */
  isRelative?: boolean;
  /** With seconds. */
  isPrecise?: boolean;
  /** With seconds, and the year only where it is another: for rows of which there are many. */
  isInRow?: boolean;
}

export function When({ at, isRelative = false, isPrecise = false, isInRow = false }: WhenProps) {
  if (at === null || at === undefined)
    return (
      <Text component="span" inherit c="dimmed">
        {words.parts.never}
      </Text>
    );
  const moment = new Date(at);
  const isThisYear = moment.getFullYear() === new Date().getFullYear();
  const shown = (isInRow && isThisYear ? inRow : isInRow || isPrecise ? precise : short).format(moment);
  return (
    <Text component="time" inherit dateTime={at} title={`${precise.format(moment)} · ${at}`} className="tabular">
      {isRelative ? (agoOf(moment) ?? shown) : shown}
    </Text>
  );
}

function agoOf(moment: Date): string | null {
  const awayMs = moment.getTime() - Date.now();
  if (Math.abs(awayMs) > 30 * 86_400_000) return null;
  for (const [unit, unitMs] of steps)
    if (Math.abs(awayMs) >= unitMs) return relative.format(Math.round(awayMs / unitMs), unit);
  return words.parts.secondsAgo;
}
