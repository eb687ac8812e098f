// What needs somebody: money that runs out or was lost, quotas that end, providers that fail. It looks at who used most of
// late, by the daily totals, and at no record.

import { DAY_MS } from '../base/clock.ts';
import { formatId } from '../base/ids.ts';
import { formatUsd } from '../base/money.ts';
import { nextTurn } from '../base/next-turn.ts';
import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import type { TopQuestion, TopUsage, UsageTotal } from '../ledger/ledger.ts';
import { type AccountWithMeters, withMeters } from './account-json.ts';
import type { AdminApp } from './admin-app.ts';
import { jsonAnswer } from './answers.ts';
import { askingOf } from './asking.ts';
import { type AttentionJson, attention, attentionKinds, attentionListSchema } from './attention-json.ts';
import { defineRoute } from './define-route.ts';
import type { AdminDependencies } from './dependencies.ts';
import { listFailingProviders } from './failing-providers.ts';
import { everyone, makerOf, type Principal, seesBalance } from './principal.ts';

const showAttention = defineRoute({
  operationId: 'attention-list',
  summary: 'List what needs somebody',
  roles: everyone,
  method: 'get',
  path: '/api/v1/attention',
  responses: { 200: jsonAnswer(attentionListSchema, 'What needs somebody, as far as the caller sees it') },
});

export function addAttention(app: AdminApp, dependencies: AdminDependencies): void {
  app.openapi(showAttention, async (context) => {
    const principal = context.get('principal');
    const ask = (question: TopQuestion) => dependencies.usage.topUsage(question, askingOf(context));
    const used = await readUsed(ask, principal, dependencies.clock.nowMs());
    const found = [
      ...(seesBalance(principal) ? await listAccounts(dependencies, used) : []),
      ...(await listKeys(dependencies, used)),
      ...(principal.accountId === null ? listFailingProviders(dependencies) : []),
    ];
    const isoSince = new Date(used.sinceMs).toISOString();
    return context.json({ since: isoSince, data: found.sort(mostUrgentFirst) }, 200);
  });
}

interface Used {
  sinceMs: number;
  accounts: UsageTotal[];
  keys: UsageTotal[];
  writtenOff: UsageTotal[];
}

type AskTop = (question: TopQuestion) => Promise<TopUsage>;

/** Of a week; where that is too much to add up, of the present day, and where that is too, of none. */
async function readUsed(ask: AskTop, principal: Principal, nowMs: number): Promise<Used> {
  const todayMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  for (const sinceMs of [todayMs - (bounds.attentionDays - 1) * DAY_MS, todayMs])
    try {
      return await readUsedSince(ask, principal, sinceMs);
    } catch (failure) {
      if (!(failure instanceof TurnpikeError && failure.code === 'invalid_request')) throw failure;
    }
  return { sinceMs: nowMs, accounts: [], keys: [], writtenOff: [] };
}

async function readUsedSince(ask: AskTop, principal: Principal, sinceMs: number): Promise<Used> {
  const { accounts, keys, writtenOff } = await ask({
    account: principal.accountId,
    key: null,
    madeBy: makerOf(principal),
    model: null,
    sinceMs,
    untilMs: null,
    limit: bounds.attentionBusiestMax,
  });
  const ofHolders = { accounts: accounts.rows, writtenOff };
  return { sinceMs, keys: keys.rows, ...(seesBalance(principal) ? ofHolders : { accounts: [], writtenOff: [] }) };
}

async function listAccounts(dependencies: AdminDependencies, used: Used): Promise<AttentionJson[]> {
  const found: AttentionJson[] = [];
  for (const [at, total] of used.accounts.entries()) {
    if (at % bounds.rowsAtOnce === 0) await nextTurn();
    const account = await dependencies.accounts.getAccount(total.account as number);
    if (account === null) continue;
    const one = await withMeters(dependencies, account);
    if (account.status === 'disabled')
      found.push(attention('account_disabled', 'warning', { ...ofAccount(one), cost: formatUsd(total.cost) }));
    else found.push(...judgeBalance(one, total, used.sinceMs, dependencies.clock.nowMs()));
  }
  for (const total of used.writtenOff) {
    const account = await dependencies.accounts.getAccount(total.account as number);
    if (account === null) continue;
    const lost = { cost: formatUsd(total.cost), written_off: formatUsd(total.writtenOff) };
    found.push(attention('written_off', 'warning', { ...ofAccount(await withMeters(dependencies, account)), ...lost }));
  }
  return found;
}

/** At the pace since then, or since it was made, a day at least. */
function judgeBalance(one: AccountWithMeters, total: UsageTotal, sinceMs: number, nowMs: number): AttentionJson[] {
  const elapsedMs = Math.max(DAY_MS, nowMs - Math.max(sinceMs, one.account.createdAtMs));
  const costPerDay = (total.cost * BigInt(DAY_MS)) / BigInt(elapsedMs);
  const { available } = one.meters;
  const isEmpty = available <= 0;
  const daysLeft = costPerDay === 0n ? null : Number((BigInt(available) * 100n) / costPerDay) / 100;
  if (!isEmpty && (daysLeft === null || daysLeft >= bounds.attentionDaysLeft)) return [];
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
