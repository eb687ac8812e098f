// What the filters of the list of requests ask the API for. Pure: the present time is a parameter.

import type { Query } from '../../api.ts';

const HOUR_MS = 3_600_000;

/** In the order in which they are offered. */
export const periodMs = {
  hour: HOUR_MS,
  day: 24 * HOUR_MS,
  week: 7 * 24 * HOUR_MS,
  month: 30 * 24 * HOUR_MS,
} as const;

export type Period = 'all' | keyof typeof periodMs | 'custom';

/** Of what the address says; "all" where it says nothing that is known. */
export function periodOf({ period, since, until }: Readonly<Record<string, string>>): Period {
  if (period !== undefined && Object.hasOwn(periodMs, period)) return period as keyof typeof periodMs;
  return period === 'custom' || since !== undefined || until !== undefined ? 'custom' : 'all';
}

/** The filters as parameters of GET /usage; what the address has besides is left out. */
export function usageQuery(values: Readonly<Record<string, string>>, nowMs: number): Query {
  const { account, key, model, outcome } = values;
  return { account, key, model, outcome, ...spanOf(values, nowMs) };
}

function spanOf(values: Readonly<Record<string, string>>, nowMs: number): { since?: string; until?: string } {
  const period = periodOf(values);
  if (period === 'all') return {};
  if (period !== 'custom') return { since: new Date(nowMs - periodMs[period]).toISOString() };
  const [since, until] = [isoOf(values['since']), isoOf(values['until'])];
  return { ...(since !== null && { since }), ...(until !== null && { until }) };
}

/** A moment of the address, which anybody can write; null for what is none. */
function isoOf(text: string | undefined): string | null {
  const moment = new Date(text ?? '');
  return Number.isNaN(moment.getTime()) ? null : moment.toISOString();
}

/** As a field of type datetime-local has it, in the reader's own time. */
export function localText(iso: string | undefined): string {
  const moment = new Date(iso ?? '');
  if (Number.isNaN(moment.getTime())) return '';
  return new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Null for what is no moment. */
export function isoOfLocal(text: string): string | null {
  return isoOf(text === '' ? undefined : text);
}

export function isRequestId(text: string): boolean {
  return /^req_[0-9A-Za-z]{25}$/.test(text);
}
