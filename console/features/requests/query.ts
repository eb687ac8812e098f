// Translates the filters in the address to parameters of GET /usage. Pure: the current time is a parameter.

import { readAmount } from '../../amounts.ts';
import type { Query } from '../../api.ts';

const HOUR_MS = 3_600_000;

/** In display order. */
export const periodMs = {
  hour: HOUR_MS,
  day: 24 * HOUR_MS,
  week: 7 * 24 * HOUR_MS,
  month: 30 * 24 * HOUR_MS,
} as const;

export type Period = 'all' | keyof typeof periodMs | 'custom';

/** The period in the address; "all" if it is missing or unknown. */
export function periodOf({ period, since, until }: Readonly<Record<string, string>>): Period {
  if (period !== undefined && Object.hasOwn(periodMs, period)) return period as keyof typeof periodMs;
  return period === 'custom' || since !== undefined || until !== undefined ? 'custom' : 'all';
}

/** The parameters of GET /usage for the filters. Ignores other parameters of the address. */
export function usageQuery(values: Readonly<Record<string, string>>, nowMs: number): Query {
  const { account, key, model, model_search, outcome, error, provider, stream } = values;
  const { session, agent, person } = values;
  const names = { account, key, model, model_search, outcome, error, provider, stream, session, agent, person };
  const [status, cost_min] = [statusOf(values['status']), costOf(values['cost_min'])];
  return { ...names, status, cost_min, tag: tagOf(values['tag']), ...spanOf(values, nowMs) };
}

/** A tag, a status or an amount that is none does not filter. */
export function tagOf(text = ''): string | undefined {
  return /^[a-z][a-z0-9_-]{0,31}:[^,]{1,64}$/.test(text) ? text : undefined;
}

function statusOf(text = ''): string | undefined {
  return /^[1-5](xx|\d\d)$/.test(text) ? text : undefined;
}

export function costOf(text = ''): string | undefined {
  const { usd, fault } = readAmount(text);
  return fault === null && /^\d{1,6}(\.|$)/.test(usd) ? usd : undefined;
}

function spanOf(values: Readonly<Record<string, string>>, nowMs: number): { since?: string; until?: string } {
  const period = periodOf(values);
  if (period === 'all') return {};
  if (period !== 'custom') return { since: new Date(nowMs - periodMs[period]).toISOString() };
  const [since, until] = [isoOf(values['since']), isoOf(values['until'])];
  return { ...(since !== null && { since }), ...(until !== null && { until }) };
}

/** Parses a time from the address; null if it is invalid. */
function isoOf(text: string | undefined): string | null {
  const moment = new Date(text ?? '');
  return Number.isNaN(moment.getTime()) ? null : moment.toISOString();
}

export function isRequestId(text: string): boolean {
  return /^req_[0-9A-Za-z]{25}$/.test(text);
}
