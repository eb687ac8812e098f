// Moments on the page, and fields for days and times, in the zone that the user chose: that of the device or UTC. The
// browser keeps the choice.

import { Text, TextInput, type TextInputProps } from '@mantine/core';
import { useSyncExternalStore } from 'react';
import { deviceZone, formatMoment, formatRelative, formatTime, momentOf, nameOfZone, wallText } from '../times.ts';

const STORED = 'turnpike-times';
export const UTC = 'UTC';

export type Times = 'local' | 'utc';

const listeners = new Set<() => void>();
let chosen = storedTimes();

/** The zone in which the console shows times and reads days. */
export function useZone(): string {
  return useSyncExternalStore(subscribe, () => chosen) === 'utc' ? UTC : deviceZone();
}

function subscribe(onChange: () => void): () => void {
  const onStored = ({ key }: StorageEvent) => {
    if (key !== STORED && key !== null) return;
    chosen = storedTimes();
    onChange();
  };
  listeners.add(onChange);
  window.addEventListener('storage', onStored);
  return () => {
    listeners.delete(onChange);
    window.removeEventListener('storage', onStored);
  };
}

/** A browser that stores nothing keeps the choice until the page is reloaded. */
export function chooseTimes(times: Times): void {
  chosen = times;
  try {
    window.localStorage.setItem(STORED, times);
  } catch {}
  for (const listener of listeners) listener();
}

function storedTimes(): Times {
  try {
    return window.localStorage.getItem(STORED) === 'utc' ? 'utc' : 'local';
  } catch {
    return 'local';
  }
}

interface WhenProps {
  /** ISO 8601; null or undefined is shown as "Never". */
  at: string | null | undefined;
  /** "2 hours ago" within a month. */
  isRelative?: boolean;
  /** Shows seconds. */
  isPrecise?: boolean;
}

export function When({ at, isRelative = false, isPrecise = false }: WhenProps) {
  const zone = useZone();
  if (at === null || at === undefined)
    return (
      <Text component="span" inherit c="dimmed">
        Never
      </Text>
    );
  const nowMs = Date.now();
  const shown = formatMoment(at, nowMs, zone, isPrecise);
  const title = `${formatTime(at, 'precise', zone)} (${nameOfZone(zone)}) · ${at}`;
  return (
    <Text component="time" inherit dateTime={at} title={title} className="tabular">
      {isRelative ? (formatRelative(at, nowMs) ?? shown) : shown}
    </Text>
  );
}

interface ZoneLabelProps {
  label: string;
  /** More about the label, before the zone. */
  note?: string;
}

/** "From (New York time)". */
function useZoneLabel({ label, note }: ZoneLabelProps): string {
  return `${label} (${[note, nameOfZone(useZone())].filter((part) => part !== undefined).join(', ')})`;
}

export interface DayFieldProps extends Omit<TextInputProps, 'label'>, ZoneLabelProps {}

/** A day in the zone of the console: "2026-11-22". `startOfDay` of console/times.ts says when it begins. */
export function DayField({ label, note, ...input }: DayFieldProps) {
  return <TextInput type="date" {...input} label={useZoneLabel({ label, ...(note !== undefined && { note }) })} />;
}

export interface TimeFieldProps extends Omit<TextInputProps, 'label' | 'value' | 'onChange'>, ZoneLabelProps {
  /** ISO 8601; empty or undefined: no time. */
  value?: string | undefined;
  /** An empty text if there is no valid time. */
  onChange: (at: string) => void;
}

/** A time in the zone of the console, to the minute. */
export function TimeField({ label, note, value, onChange, ...input }: TimeFieldProps) {
  const zone = useZone();
  const change = (text: string) => {
    const ms = momentOf(text, zone);
    onChange(ms === null ? '' : new Date(ms).toISOString());
  };
  return (
    <TextInput
      type="datetime-local"
      {...input}
      label={useZoneLabel({ label, ...(note !== undefined && { note }) })}
      value={wallText(value, zone)}
      onChange={({ currentTarget }) => change(currentTarget.value)}
    />
  );
}
