// Translates the filters in the address to parameters of GET /usage. Pure.

import { readAmount } from '../../amounts.ts';
import type { Query } from '../../api.ts';
import { rangeQuery, type TimeRange } from '../../range.ts';

/** The parameters of GET /usage for the filters; without a range, of all times. Ignores other parameters of the address. */
export function usageQuery(values: Readonly<Record<string, string>>, range: TimeRange | null): Query {
  const { account, key, model, model_search, outcome, error, provider, stream } = values;
  const { session, agent, person } = values;
  const names = { account, key, model, model_search, outcome, error, provider, stream, session, agent, person };
  const [status, cost_min] = [statusOf(values['status']), costOf(values['cost_min'])];
  return { ...names, status, cost_min, tag: tagOf(values['tag']), ...(range !== null && rangeQuery(range)) };
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

export function isRequestId(text: string): boolean {
  return /^req_[0-9A-Za-z]{25}$/.test(text);
}
