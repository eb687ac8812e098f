// Which accounts have metrics of their own: those that a setting names, and those with the highest cost, whom the leading node
// ranks, so that all nodes show the same.

import type { Account } from '../accounts/accounts.ts';
import { parseWholeNumber } from '../base/checked-number.ts';
import { type Clock, DAY_MS, periodEndMs } from '../base/clock.ts';
import { parseId } from '../base/ids.ts';
import type { Settings } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { Outpaced, windowEndMs } from '../ledger/ledger.ts';
import type { AccountReading, AccountReadings, ShownAccount } from '../observability/observability.ts';
import type { Stores } from '../storage/storage.ts';

/** The fact that has the ranked accounts: the day since 1970, then their numbers, "20787 8589934592 8589934593". */
export const RANKED_ACCOUNTS = 'ranked_accounts';

type AccountSettings = Pick<Settings, 'accountsInMetrics' | 'topAccountsInMetrics'>;

interface AccountParts {
  stores: Pick<Stores, 'accounts' | 'events' | 'ledger'>;
  settings(): AccountSettings;
  clock: Clock;
}

type Labels = Map<number, { shown: ShownAccount; atMs: number }>;

export class AccountsInMetrics implements AccountReadings {
  readonly #parts: AccountParts;
  /** As they were found, and for which settings. */
  #found: { accounts: readonly ShownAccount[]; settings: AccountSettings; atMs: number } | null = null;
  /** Labels change seldom, because each change is a new series. */
  #labels: Labels = new Map();

  constructor(parts: AccountParts) {
    this.#parts = parts;
  }

  /** Throws store_unavailable. */
  async find(): Promise<readonly ShownAccount[]> {
    const { clock, settings: read } = this.#parts;
    const [settings, nowMs] = [read(), clock.nowMs()];
    const found = this.#found;
    if (found !== null && found.settings === settings && nowMs < found.atMs + bounds.accountsFoundMs)
      return found.accounts;
    const accounts = await this.#read(settings, nowMs);
    this.#found = { accounts, settings, atMs: nowMs };
    return accounts;
  }

  async read(id: number): Promise<AccountReading | null> {
    const { stores, clock } = this.#parts;
    const nowMs = clock.nowMs();
    const [account, meters] = await Promise.all([
      stores.accounts.getAccount(id),
      stores.ledger.accountMeters(id, nowMs),
    ]);
    if (account === null || meters === null) return null;
    const { available, allowance, allowancePeriod, allowanceUsed, plan } = meters;
    const endsAtMs = periodEndMs(allowancePeriod, nowMs);
    const ofAllowance = { limit: 'allowance', window: allowancePeriod, used: allowanceUsed, endsAtMs } as const;
    const ofPlan = (plan?.windows ?? []).map((window) => ({
      limit: 'plan' as const,
      window: window.length,
      amount: window.limit,
      used: window.used,
      endsAtMs: plan === null ? null : windowEndMs(plan, window),
    }));
    return {
      available: account.paysFrom === 'parent' ? null : available,
      limits: [...(allowance === null ? [] : [{ ...ofAllowance, amount: allowance }]), ...ofPlan],
    };
  }

  async #read({ accountsInMetrics, topAccountsInMetrics }: AccountSettings, nowMs: number): Promise<ShownAccount[]> {
    const { stores } = this.#parts;
    const named = accountsInMetrics.flatMap((id) => parseId('acct', id) ?? []);
    const ranked = topAccountsInMetrics === 0 ? [] : readRanked(await stores.events.readFact(RANKED_ACCOUNTS)).accounts;
    const others = ranked.filter((id) => !named.includes(id)).slice(0, topAccountsInMetrics);
    const labels: Labels = new Map();
    for (const id of [...named, ...others]) {
      const known = this.#labels.get(id);
      const account = await stores.accounts.getAccount(id);
      if (account === null) continue;
      const isKept = known !== undefined && nowMs < known.atMs + bounds.accountLabelsKeptMs;
      labels.set(id, isKept ? known : { shown: shownOf(account), atMs: nowMs });
    }
    this.#labels = labels;
    return [...labels.values()].map(({ shown }) => shown);
  }
}

function shownOf({ id, name, parentId = null }: Account): ShownAccount {
  return { id, name, parent: parentId };
}

/** Text that another program wrote is as good as none: accounts are ranked again. */
function readRanked(text: string): { day: number | null; accounts: number[] } {
  const [day, ...accounts] = text.split(' ').map(parseWholeNumber);
  return { day: day ?? null, accounts: accounts.flatMap((id) => id ?? []) };
}

interface RankParts {
  stores: Pick<Stores, 'accounts' | 'events' | 'usage'>;
  settings(): AccountSettings;
  clock: Clock;
}

/**
 * Ranks accounts by the cost of the last days, with that of the accounts below them. An account that is ranked stays until the end
 * of the day (UTC), so that the accounts of one day are few, whatever others spend. Runs on the node that leads.
 */
export async function rankAccounts({ stores, settings, clock }: RankParts): Promise<void> {
  const { accountsInMetrics, topAccountsInMetrics: most } = settings();
  if (most === 0) return;
  const nowMs = clock.nowMs();
  const day = Math.floor(nowMs / DAY_MS);
  const from = await stores.events.readFact(RANKED_ACCOUNTS);
  const before = readRanked(from);
  const kept = before.day === day ? before.accounts : [];
  if (kept.length >= most) return;
  const named = new Set(accountsInMetrics.map((id) => parseId('acct', id)));
  const costly = (await costliest(stores, day)).filter((id) => !kept.includes(id) && !named.has(id));
  const to = [day, ...kept, ...costly.slice(0, most - kept.length)].join(' ');
  if (to === from) return;
  try {
    await stores.events.changeFact({ name: RANKED_ACCOUNTS, from, to }, []);
  } catch (failure) {
    if (!(failure instanceof Outpaced)) throw failure; // another node has ranked them
  }
}

/** The accounts with a cost, by that of their own messages and of those below them. */
async function costliest({ accounts, usage }: RankParts['stores'], day: number): Promise<number[]> {
  const everyone = { account: null, key: null, madeBy: null, model: null };
  const [sinceMs, untilMs] = [(day - bounds.accountsRankedDays) * DAY_MS, day * DAY_MS];
  const question = { ...everyone, groupBy: 'account', untilMs, limit: bounds.accountsRankedMax } as const;
  const { rows } = await usage.totalUsage({ ...question, sinceMs }).catch((failure) => {
    if (!(failure instanceof TurnpikeError && failure.code === 'invalid_request')) throw failure;
    return usage.totalUsage({ ...question, sinceMs: untilMs }); // too many rows to add up: today has fewer
  });
  const costs = new Map<number, bigint>();
  const parents = new Map<number, number | null>();
  for (const { account, cost } of rows) {
    let at = account;
    for (let level = 0; at !== null && level < bounds.accountLevelsMax; level++) {
      costs.set(at, (costs.get(at) ?? 0n) + cost);
      if (!parents.has(at)) parents.set(at, (await accounts.getAccount(at))?.parentId ?? null);
      at = parents.get(at) ?? null;
    }
  }
  return [...costs]
    .filter(([, cost]) => cost > 0n)
    .sort(([one, ofOne], [other, ofOther]) => (ofOther > ofOne ? 1 : ofOther < ofOne ? -1 : one - other))
    .map(([id]) => id);
}
