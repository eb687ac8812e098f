// The time range of the page, and its choice. The address keeps it, and links and the navigation carry it to other pages.

import { Group } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useFilters } from '../filters.ts';
import { optionsOf } from '../labels.ts';
import {
  DEFAULT_RANGE,
  describeRange,
  monthOfRange,
  rangeLabels,
  rangeOf,
  rangeOfBucket,
  rangeOfMonth,
  rangeText,
  startOf,
  stepMs,
  type TimeRange,
} from '../range.ts';
import { Select } from './later.tsx';
import { ActionButton, useGoTo } from './link.tsx';
import { TimeField, useZone } from './times.tsx';

const LOOKED_EVERY_MS = 5_000;

/** How often figures of a range are fetched again, by its step. */
export const refreshMs = { minute: 15_000, five_minutes: 30_000, hour: 30_000, day: 60_000 } as const;

/** The range in the address. It stays the same until its last step has passed. */
export function useRange(): TimeRange {
  const { range: text } = useFilters().values;
  const [nowMs, setNowMs] = useState(thisMinute);
  useEffect(() => {
    const timer = setInterval(() => setNowMs(thisMinute()), LOOKED_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return rangeOf(text, nowMs);
}

function thisMinute(): number {
  return startOf(Date.now(), 'minute');
}

/** Changes the range; the history of the browser keeps the former one. */
export function useSetRange(): (text: string) => void {
  const { values, go } = useFilters();
  return (text) => go({ ...values, range: text }, false);
}

/**
 * Picks buckets of a chart: one leads to the requests that it counts, narrowed by `of`; several become the range. By default, the buckets
 * are steps of the range.
 */
export function usePickBuckets(
  buckets: readonly { at: string }[],
  of: Record<string, string> = {},
  lengthMs?: number,
): (first: number, last: number) => void {
  const range = useRange();
  const setRange = useSetRange();
  const goTo = useGoTo();
  return (first, last) => {
    const at = buckets[first]?.at;
    if (at === undefined) return;
    const text = rangeOfBucket(range, at, lengthMs ?? stepMs[range.step], last - first + 1);
    if (first === last) void goTo('/usage', { ...of, range: text });
    else setRange(text);
  };
}

/** The choice of a named range, or of two times. */
export function RangeFilter() {
  return (
    <Group gap="xs" align="flex-end">
      <RangeFields size="xs" />
    </Group>
  );
}

interface RangeFieldsProps {
  size?: 'xs' | 'sm';
}

/** The fields of the choice, for a bar of filters. */
export function RangeFields({ size = 'sm' }: RangeFieldsProps) {
  const { name, sinceMs, untilMs } = useRange();
  const set = useSetRange();
  const choose = (chosen: string | null) =>
    set(chosen === 'custom' ? rangeText(sinceMs, untilMs ?? thisMinute() + stepMs.minute) : (chosen ?? DEFAULT_RANGE));
  return (
    <>
      <Select
        {...(size === 'sm' ? { label: 'Time range' } : { 'aria-label': 'Time range' })}
        size={size}
        w={160}
        data={[...optionsOf(rangeLabels), { value: 'custom', label: 'Custom range' }]}
        value={name}
        onChange={choose}
        allowDeselect={false}
      />
      {name === 'custom' && (
        <>
          <EndField
            label="From"
            size={size}
            ms={sinceMs}
            onChange={(ms) => ms !== null && set(rangeText(ms, untilMs))}
          />
          <EndField label="To" size={size} ms={untilMs} onChange={(ms) => set(rangeText(sinceMs, ms))} />
          <ActionButton label="Reset range" variant="subtle" size={size} onClick={() => set(DEFAULT_RANGE)} />
        </>
      )}
    </>
  );
}

interface EndFieldProps {
  label: string;
  size: 'xs' | 'sm';
  /** null: now. */
  ms: number | null;
  onChange: (ms: number | null) => void;
}

/** An end of a custom range. While it is typed, it may be empty or after the other end: the range changes when the field is left. */
function EndField({ label, size, ms, onChange }: EndFieldProps) {
  const shown = ms === null ? '' : new Date(ms).toISOString();
  const [at, setAt] = useState(shown);
  useEffect(() => setAt(shown), [shown]);
  const leave = () => at !== shown && onChange(at === '' ? null : Date.parse(at));
  return (
    <TimeField
      label={label}
      size={size}
      value={at}
      onChange={setAt}
      onBlur={leave}
      onKeyDown={({ key }) => key === 'Enter' && leave()}
    />
  );
}

/** The month of the range, of reports that consist of months, and the choice of another one. */
export function useMonth(): [string, (month: string) => void] {
  const setRange = useSetRange();
  const current = new Date().toISOString().slice(0, 7);
  return [monthOfRange(useRange(), Date.now()), (month) => setRange(month === current ? 'month' : rangeOfMonth(month))];
}

/** What the range covers: "Last 7 days: Nov 24 – Nov 30 (UTC)". */
export function useRangeText(): string {
  const range = useRange();
  const covered = describeRange(range, Date.now(), useZone());
  return range.name === 'custom' ? covered : `${rangeLabels[range.name]}: ${covered}`;
}
