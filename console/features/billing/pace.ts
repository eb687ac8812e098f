// How long a balance lasts, in words. The forecast is the service's, so that every page says the same. Pure.

import type { ForecastShape } from '../../../src/admin-api/shapes.ts';
import { countOf } from '../../figures.ts';

const LONG_DAYS = 365;

/** While requests are refused, pages say since when instead. */
export function daysLeftText({ state, days_left: left }: ForecastShape): string {
  if (state === 'refused') return 'Requests are refused';
  if (state === 'plan') return 'The plan pays first';
  if (state === 'parent') return 'Paid by the parent account';
  if (state === 'exhausted') return 'Nothing left';
  if (state === 'not_used' || left === null) return 'No use in the last 7 days';
  if (left > LONG_DAYS) return 'More than a year at the present pace';
  return `About ${durationText(left)} at the present pace`;
}

/** "9 hours", "3 days": as every page says how long money lasts. */
export function durationText(days: number): string {
  if (days < 1) return countOf(Math.max(1, Math.floor(days * 24)), 'hour');
  return countOf(Math.floor(days), 'day');
}
