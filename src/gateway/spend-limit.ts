// The limit on spending that a coding agent shows: the one of key, person, accounts and plan that leaves the least. Headers and words are those
// of Anthropic's gateway (https://code.claude.com/docs/en/claude-apps-gateway-spend-limits, 2026-08-22) as Claude Code 2.1.332 reads
// them, and those that Codex CLI 0.171.0 reads of any provider.

import type { AgentClient } from '../accounts/accounts.ts';
import { DAY_MS, periodEndMs } from '../base/clock.ts';
import type { Nano } from '../base/money.ts';
import { TurnpikeError } from '../errors.ts';
import { type CallerMeters, readWindows } from '../ledger/ledger.ts';

/** A limit of one period. */
export interface SpendLimit {
  limit: Nano;
  used: Nano;
  /** Never below zero; without what messages in progress hold. */
  remaining: Nano;
  period: '5h' | 'day' | 'week' | 'month' | 'total';
  /** null: it is never reset. */
  resetsAtMs: number | null;
}

/** null: nothing but the balance limits the caller. */
export function spendLimitOf({ account, above, payer, key, budgets }: CallerMeters, nowMs: number): SpendLimit | null {
  const limits: SpendLimit[] = [];
  if (key.quota !== null) limits.push(limitOf(key.quota, key.quotaUsed, key.quotaPeriod, nowMs));
  for (const { allowance, allowanceUsed, allowancePeriod } of [account, ...above.map(({ meters }) => meters)])
    if (allowance !== null) limits.push(limitOf(allowance, allowanceUsed, allowancePeriod, nowMs));
  for (const { limit, used, length, stops, resetsAtMs } of budgets)
    if (stops) limits.push({ limit, used, remaining: Math.max(0, limit - used), period: length, resetsAtMs });
  if (payer.plan !== null && !payer.plan.overflow)
    for (const { length, limit, used, resetsAtMs } of readWindows(payer.plan))
      limits.push({ limit, used, remaining: Math.max(0, limit - used), period: length, resetsAtMs });
  return limits.reduce<SpendLimit | null>(
    (least, one) => (least === null || one.remaining < least.remaining ? one : least),
    null,
  );
}

function limitOf(
  limit: Nano,
  used: Nano,
  period: SpendLimit['period'] & ('day' | 'week' | 'month' | 'total'),
  nowMs: number,
) {
  return { limit, used, remaining: Math.max(0, limit - used), period, resetsAtMs: periodEndMs(period, nowMs) };
}

const UNIFIED = 'anthropic-ratelimit-unified';
const WARNING = 0.75;
const LAST_WARNING = 0.95;

/** Headers of an answer that was admitted. None without a limit. */
export function spendHeaders(client: AgentClient, limit: SpendLimit | null): Record<string, string> {
  if (limit === null) return {};
  const used = shareUsed(limit);
  if (client === 'codex') return codexHeaders(limit, used);
  const status = used >= WARNING ? 'allowed_warning' : 'allowed';
  const threshold = used >= LAST_WARNING ? LAST_WARNING : used >= WARNING ? WARNING : null;
  return {
    [`${UNIFIED}-status`]: status,
    [`${UNIFIED}-representative-claim`]: 'overage',
    [`${UNIFIED}-overage-status`]: status,
    [`${UNIFIED}-overage-utilization`]: String(used),
    ...(threshold !== null && { [`${UNIFIED}-overage-surpassed-threshold`]: String(threshold) }),
    ...resetHeaders(limit),
  };
}

/** To a hundredth, downward: a limit with something left is not shown as reached. */
function shareUsed({ limit, used }: SpendLimit): number {
  return limit === 0 ? 1 : Math.floor((used / limit) * 100) / 100;
}

function resetHeaders({ resetsAtMs }: SpendLimit): Record<string, string> {
  if (resetsAtMs === null) return {};
  const second = String(Math.floor(resetsAtMs / 1_000));
  return { [`${UNIFIED}-reset`]: second, [`${UNIFIED}-overage-reset`]: second };
}

const MINUTES = { '5h': 300, day: 1_440, week: 10_080, month: 43_200, total: 43_200 };

function codexHeaders({ period, resetsAtMs }: SpendLimit, used: number): Record<string, string> {
  return {
    'x-codex-primary-used-percent': String(Math.min(100, Math.floor(used * 100))),
    'x-codex-primary-window-minutes': String(MINUTES[period]),
    ...(resetsAtMs !== null && { 'x-codex-primary-reset-at': String(Math.floor(resetsAtMs / 1_000)) }),
  };
}

const PERIODS = { '5h': 'daily', day: 'daily', week: 'weekly', month: 'monthly', total: 'monthly' };
const HOLDS_RETRY_MS = 2_000;

/**
 * The refusal in the form that the client shows as it is: Claude Code the text of a 429 with these headers, Codex that of a 400. A
 * refusal that only messages in progress cause is retried.
 */
export function agentRefusal(
  error: TurnpikeError,
  client: AgentClient,
  limit: SpendLimit | null,
  contact: string | null,
  nowMs: number,
): TurnpikeError {
  const { headers = {}, ...details } = error.details;
  if (error.retry) {
    const busy = { status: 429, type: 'rate_limit_error', retryAfterMs: HOLDS_RETRY_MS };
    return new TurnpikeError(error.code, error.message, { ...details, headers, ...busy });
  }
  const reset = limit?.resetsAtMs ?? null;
  const parts = [
    'spend limit reached',
    ...(limit === null ? ['the balance of the account is exhausted'] : []),
    ...(reset === null ? [] : [`resets ${dayText(reset, nowMs)}`]),
    ...(contact === null ? [] : [`ask ${contact}`]),
  ];
  const message = parts.join(' · ');
  if (client === 'codex') return new TurnpikeError(error.code, message, { ...details, headers, status: 400 });
  return new TurnpikeError(error.code, message, {
    ...details,
    status: 429,
    ...(reset !== null && { retryAfterMs: reset - nowMs }),
    headers: {
      ...headers,
      [`${UNIFIED}-status`]: 'rejected',
      [`${UNIFIED}-overage-utilization`]: String(limit === null ? 1 : Math.max(1, shareUsed(limit))),
      [`${UNIFIED}-overage-surpassed-threshold`]: '1',
      [`${UNIFIED}-overage-period`]: PERIODS[limit?.period ?? 'month'],
      [`${UNIFIED}-overage-disabled-reason`]: 'org_spend_cap_reached',
      ...(limit !== null && resetHeaders(limit)),
    },
  });
}

/** "Dec 1", or the time of a reset within a day: "14:30 UTC". */
function dayText(atMs: number, nowMs: number): string {
  const at = new Date(atMs);
  if (atMs - nowMs < DAY_MS) return `${at.toISOString().slice(11, 16)} UTC`;
  return at.toLocaleDateString('en-US', { month: 'short', day: 'numeric', timeZone: 'UTC' });
}

const NANO_PER_CENT = 10_000_000;
const GROUPS = { '5h': 'daily', day: 'daily', week: 'weekly', month: 'monthly', total: 'monthly' } as const;

/** The JSON of GET /api/oauth/usage: cents and whole percent. */
export function usageOf(meters: CallerMeters, nowMs: number): object {
  const limit = spendLimitOf(meters, nowMs);
  const cents = (amount: Nano) => Math.round(amount / NANO_PER_CENT);
  const group = limit === null ? null : GROUPS[limit.period];
  const percent = limit === null ? null : Math.floor(shareUsed(limit) * 100);
  const spending = (of: string, used: Nano) =>
    limit !== null && of === group
      ? { limit: cents(limit.limit), used_credits: cents(limit.used), utilization: percent }
      : { limit: null, used_credits: cents(used), utilization: null };
  const monthly = spending('monthly', meters.key.quotaUsed);
  return {
    extra_usage: {
      is_enabled: true,
      monthly_limit: monthly.limit,
      used_credits: monthly.used_credits,
      utilization: monthly.utilization,
      currency: 'USD',
    },
    daily: spending('daily', 0),
    weekly: spending('weekly', 0),
    limits:
      limit === null
        ? []
        : [
            {
              kind: 'spend',
              group,
              percent,
              resets_at:
                limit.resetsAtMs === null ? null : new Date(Math.floor(limit.resetsAtMs / 1_000) * 1_000).toISOString(),
              severity:
                percent !== null && percent >= 100
                  ? 'critical'
                  : percent !== null && percent >= 75
                    ? 'warning'
                    : 'normal',
              is_active: true,
            },
          ],
  };
}
