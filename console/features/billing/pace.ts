// How long a balance lasts at the present pace. Pure.

import type { AccountShape } from '../../../src/admin-api/shapes.ts';
import { countOf } from '../../figures.ts';
import { nanoOf } from '../../money.ts';

const DAY_MS = 86_400_000;
/** UTC days, the current one included. */
const PACE_DAYS = 7;

/** The start of the first of the days whose use makes the pace. */
export function paceSinceMs(nowMs: number): number {
  return (Math.floor(nowMs / DAY_MS) - (PACE_DAYS - 1)) * DAY_MS;
}

interface Used {
  cost: string;
  written_off: string;
}

/** In words, for the holder of the account. `used` is the usage since `paceSinceMs`. */
export function daysLeftText(
  { available, created_at }: Pick<AccountShape, 'available' | 'created_at'>,
  used: Used,
  nowMs: number,
): string {
  const sinceMs = Math.max(paceSinceMs(nowMs), Date.parse(created_at));
  const days = (nowMs - sinceMs) / DAY_MS;
  const cost = nanoOf(used.cost) - nanoOf(used.written_off);
  if (nanoOf(available) <= 0n) return 'Nothing left';
  if (cost <= 0n) return `No use in the last ${PACE_DAYS} days`;
  if (days < 1) return 'Too little use so far to say how long it lasts';
  const left = (Number(available) * days) / (Number(cost) / 1e9);
  const pace = `at the pace of the last ${days < PACE_DAYS - 1 ? countOf(Math.floor(days), 'day') : `${PACE_DAYS} days`}`;
  if (left < 1) return `Less than a day ${pace}`;
  return left > LONG_DAYS ? `More than a year ${pace}` : `About ${countOf(Math.floor(left), 'day')} ${pace}`;
}

const LONG_DAYS = 365;
