// When a bucket of a timeline begins, as short as its step allows. Days are those of UTC, all else the reader's own.

import type { UsageTimelineShape } from '../../../src/admin-api/shapes.ts';

const dayShort = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', timeZone: 'UTC' });
const timeShort = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const momentShort = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
});

export function formatAt(at: string, step: UsageTimelineShape['step'], isWhole = false): string {
  if (step === 'day') return dayShort.format(new Date(at));
  return (isWhole ? momentShort : timeShort).format(new Date(at));
}
