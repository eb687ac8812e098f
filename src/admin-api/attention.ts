// Attention items: low balances, write-offs, quotas near their limit. Incidents have what fails already. Looks at the highest recent
// usage in the daily totals, never at records.

import { z } from '@hono/zod-openapi';
import { DAY_MS } from '../base/clock.ts';
import { formatId } from '../base/ids.ts';
import { formatUsd } from '../base/money.ts';
import { nextTurn } from '../base/timers.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import type { UsageTotal } from '../reports/reports.ts';
import { type AccountWithMeters, withMeters } from './accounts.ts';
import { type AdminDependencies, everyone, makerOf, seesBalance } from './dependencies.ts';
import { amountShown, idField, isoTime, timeShown } from './fields.ts';
import { forecastOfAccount, listRefused } from './forecast.ts';
import { requesterOf } from './pages.ts';
import { type AdminRoute, type Call, get } from './route.ts';

const attentionKinds = ['balance_low', 'written_off', 'key_quota_low', 'account_disabled'] as const;

export const attentionSchema = z
  .object({
    kind: z
      .enum(attentionKinds)
      .describe(
        'balance_low: the account’s balance is used up or will be soon, and no incident says that its requests are refused. written_off: the account used more than it could pay for. key_quota_low: the key has used most of its quota. account_disabled: a disabled account with recent usage.',
      ),
    severity: z.enum(['warning', 'critical']),
    account: idField('acct').nullable(),
    account_name: z.string().nullable(),
    key: idField('key').nullable(),
    key_name: z.string().nullable(),
    balance: amountShown.nullable(),
    available: amountShown.nullable().describe('Balance plus credit line, minus holds.'),
    cost: amountShown.nullable().describe('Since `since`.'),
    cost_per_day: amountShown.nullable(),
    days_left: z.number().min(0).nullable().describe('Days until the available amount is used up, at `cost_per_day`.'),
    written_off: amountShown.nullable().describe('Since `since`.'),
    quota: amountShown.nullable(),
    quota_used: amountShown.nullable(),
    share: z.number().min(0).max(1).nullable().describe('The used share of the quota.'),
  })
  .openapi('Attention');

export const attentionListSchema = z.object({
  since: timeShown.describe('Start of the period that was examined.'),
  data: z.array(attentionSchema).describe('Critical items first.'),
});

type AttentionJson = z.infer<typeof attentionSchema>;

const UNKNOWN = Object.fromEntries(
  Object.keys(attentionSchema.shape).map((member) => [member, null]),
) as unknown as AttentionJson;

/** One item; unknown or inapplicable figures are null. */
function attention(
  kind: AttentionJson['kind'],
  severity: AttentionJson['severity'],
  known: Partial<AttentionJson>,
): AttentionJson {
  return { ...UNKNOWN, ...known, kind, severity };
}

export const attentionRoutes: AdminRoute[] = [
  get('/attention', 'attention-list', 'List items that need attention', everyone, {
    answer: [attentionListSchema, 'Items that need attention and that the token may see'],
    async handle(call) {
      const { principal } = call;
      const used = await readUsed(call);
      const found = [
        ...(seesBalance(principal) ? await listAccounts(call, used) : []),
        ...(await listKeys(call, used)),
      ];
      return { since: isoTime(used.sinceMs), data: found.sort(mostUrgentFirst) };
    },
  }),
];

interface Used {
  sinceMs: number;
  accounts: UsageTotal[];
  keys: UsageTotal[];
  writtenOff: UsageTotal[];
}

/** Usage of the last week; of the current day if a week has too many rows; otherwise none. */
async function readUsed(call: Call): Promise<Used> {
  const nowMs = call.clock.nowMs();
  const todayMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  for (const sinceMs of [todayMs - (bounds.attentionDays - 1) * DAY_MS, todayMs])
    try {
      return await readUsedSince(call, sinceMs);
    } catch (failure) {
      if (!(failure instanceof TurnpikeError && failure.code === 'invalid_request')) throw failure;
    }
  return { sinceMs: nowMs, accounts: [], keys: [], writtenOff: [] };
}

async function readUsedSince(call: Call, sinceMs: number): Promise<Used> {
  const { principal } = call;
  const question = {
    account: principal.accountId,
    below: principal.role === 'owner',
    key: null,
    madeBy: makerOf(principal),
    model: null,
    sinceMs,
    untilMs: null,
    limit: bounds.attentionBusiestMax,
  };
  const { accounts, keys, writtenOff } = await call.usage.topUsage(question, requesterOf(call));
  const ofHolders = { accounts: accounts.rows, writtenOff };
  return { sinceMs, keys: keys.rows, ...(seesBalance(principal) ? ofHolders : { accounts: [], writtenOff: [] }) };
}

async function listAccounts(dependencies: AdminDependencies, used: Used): Promise<AttentionJson[]> {
  const found: AttentionJson[] = [];
  const refused = await listRefused(dependencies);
  for (const [at, total] of used.accounts.entries()) {
    if (at % bounds.rowsAtOnce === 0) await nextTurn();
    const account = await dependencies.accounts.getAccount(total.account as number);
    if (account === null) continue;
    const one = await withMeters(dependencies, account);
    if (account.status === 'disabled')
      found.push(attention('account_disabled', 'warning', { ...ofAccount(one), cost: formatUsd(total.cost) }));
    else if (!refused.has(account.id))
      found.push(...judgeBalance(one, total, used.sinceMs, dependencies.clock.nowMs()));
  }
  for (const total of used.writtenOff) {
    const account = await dependencies.accounts.getAccount(total.account as number);
    if (account === null) continue;
    const lost = { cost: formatUsd(total.cost), written_off: formatUsd(total.writtenOff) };
    found.push(attention('written_off', 'warning', { ...ofAccount(await withMeters(dependencies, account)), ...lost }));
  }
  return found;
}

/** An account whose requests are refused has an incident instead. */
function judgeBalance(one: AccountWithMeters, total: UsageTotal, sinceMs: number, nowMs: number): AttentionJson[] {
  const { state, costPerDay, daysLeft } = forecastOfAccount(one, { ...total, sinceMs }, null, nowMs);
  const isEmpty = state === 'exhausted';
  if (!isEmpty && (state !== 'lasts' || daysLeft === null || daysLeft >= bounds.attentionDaysLeft)) return [];
  const isCritical = isEmpty || (daysLeft !== null && daysLeft < 1);
  const pace = { cost: formatUsd(total.cost), cost_per_day: formatUsd(costPerDay), days_left: daysLeft };
  return [attention('balance_low', isCritical ? 'critical' : 'warning', { ...ofAccount(one), ...pace })];
}

async function listKeys({ accounts, ledger, clock }: AdminDependencies, { keys }: Used): Promise<AttentionJson[]> {
  const found: AttentionJson[] = [];
  for (const [at, total] of keys.entries()) {
    if (at % bounds.rowsAtOnce === 0) await nextTurn();
    const key = await accounts.getKey(total.key as number);
    const meters = key?.status === 'enabled' ? await ledger.keyMeters(key.id, clock.nowMs()) : null;
    if (key === null || meters === null || meters.quota === null) continue;
    const share = meters.quota === 0 ? 1 : Math.min(1, meters.quotaUsed / meters.quota);
    if (share < bounds.attentionQuotaShare) continue;
    const account = await accounts.getAccount(key.accountId);
    const figures = { quota: formatUsd(meters.quota), quota_used: formatUsd(meters.quotaUsed), share };
    const names = { account: formatId('acct', key.accountId), account_name: account?.name ?? null };
    const of = { ...names, key: formatId('key', key.id), key_name: key.name };
    found.push(attention('key_quota_low', share === 1 ? 'critical' : 'warning', { ...of, ...figures }));
  }
  return found;
}

function ofAccount({ account, meters }: AccountWithMeters): Partial<AttentionJson> {
  return {
    account: formatId('acct', account.id),
    account_name: account.name,
    balance: formatUsd(meters.balance),
    available: formatUsd(meters.available),
  };
}

function mostUrgentFirst(one: AttentionJson, other: AttentionJson): number {
  const rank = ({ kind, severity }: AttentionJson) =>
    attentionKinds.indexOf(kind) + (severity === 'critical' ? 0 : attentionKinds.length);
  return rank(one) - rank(other) || (one.days_left ?? 0) - (other.days_left ?? 0);
}
