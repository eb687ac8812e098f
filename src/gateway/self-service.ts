// Self-service reads of a key: its limits, and the usage of its messages. One query per key at a time.

import { type Caller, groupsOf, type Placed, payingAccountOf, planAt, topOf } from '../accounts/accounts.ts';
import { type Clock, type Period, periodEndMs } from '../base/clock.ts';
import { FairQueue } from '../base/fair-queue.ts';
import { FairShareQuota } from '../base/fair-share-quota.ts';
import { formatId } from '../base/ids.ts';
import { formatUsd, type Nano } from '../base/money.ts';
import {
  type Catalog,
  explainPrice,
  type Group,
  groupUnder,
  type Hidden,
  hiddenFromAccounts,
  multipliedRates,
  type PricePart,
  ratesWithoutMultiplier,
  tierOfRates,
  withoutHidden,
} from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { overloaded, TurnpikeError } from '../errors.ts';
import {
  type BudgetReading,
  type CallerMeters,
  type CallerQuestion,
  countsOf,
  coversGroup,
  type LedgerReader,
  type PlanMeter,
  planAvailable,
  readWindows,
  type UsageRecord,
} from '../ledger/ledger.ts';
import type { UsageStore } from '../reports/reports.ts';

interface SelfService {
  selfServiceReads: SelfServiceReads;
  clock: Clock;
}

/** The JSON of GET /v1/key. Throws store_unavailable, overloaded. */
export async function describeKey(gateway: SelfService, caller: Caller, catalog: Catalog): Promise<string> {
  const plan = planAt(caller.plan, gateway.clock.nowMs());
  const groups = groupsOf(caller, plan)
    .map((name) => catalog.groups.get(name))
    .filter((group) => group !== undefined)
    .map((group) => (plan === null ? group : groupUnder(catalog, group, plan)));
  const { meters, nowMs } = await gateway.selfServiceReads.read(caller, async (reader) => {
    const readAtMs = gateway.clock.nowMs(); // read after waiting, because limits refill meanwhile
    return {
      meters: await reader.callerMeters(questionOf(caller, groups), readAtMs),
      nowMs: readAtMs,
    };
  });
  if (meters === null) throw new TurnpikeError('internal', 'This key has no meters.');
  return JSON.stringify(withoutHidden(keyJson(caller, groups, meters, nowMs), hiddenFromAccounts(catalog)));
}

/** The question for the meters of a caller, with the limits of these groups. */
export function questionOf(caller: Caller, groups: CallerQuestion['groups']): CallerQuestion {
  const { account, above, key, person } = caller;
  return {
    account: account.id,
    above: above.map(({ id }) => id),
    payer: payingAccountOf(caller).id,
    key: key.id,
    person: person?.id ?? null,
    groups,
  };
}

function keyJson(caller: Caller, groups: Group[], meters: CallerMeters, nowMs: number) {
  const { account, key, person, secretExpiresAtMs } = caller;
  const { account: ofAccount, payer, key: ofKey } = meters;
  const quota = describeSpending(ofKey.quota, ofKey.quotaUsed, ofKey.quotaHeld);
  const allowance = describeSpending(ofAccount.allowance, ofAccount.allowanceUsed, ofAccount.allowanceHeld);
  const funds = payer.plan === null ? payer.available : fundsWith(payer.plan, payer.available, groups, nowMs);
  const ofAbove = meters.above.map((one) => ({
    period: one.meters.allowancePeriod,
    spending: describeSpending(one.meters.allowance, one.meters.allowanceUsed, one.meters.allowanceHeld),
  }));
  const limits = [quota, allowance, ...ofAbove.map(({ spending }) => spending), ...meters.budgets.filter(isStop)];
  const spendable = Math.min(funds, ...limits.map((limit) => limit?.remaining ?? Infinity));
  return {
    id: formatId('key', key.id),
    name: key.name,
    prefix: key.prefix,
    status: key.status,
    created_at: isoTime(key.createdAtMs),
    expires_at: isoTime(key.expiresAtMs),
    secret_expires_at: isoTime(secretExpiresAtMs),
    account: { id: formatId('acct', account.id) },
    person: person === null ? null : { id: formatId('person', person.id), email: person.email },
    groups: groups.map(({ name }) => name),
    models: key.models,
    spendable: formatUsd(spendable),
    balance: { available: formatUsd(payer.available) },
    plan: payer.plan === null ? null : planJson(payer.plan),
    quota: spendingJson(quota, ofKey.quotaPeriod, nowMs),
    allowance: spendingJson(allowance, ofAccount.allowancePeriod, nowMs),
    allowances_above: ofAbove.flatMap(({ period, spending }) => spendingJson(spending, period, nowMs) ?? []),
    budgets: meters.budgets.map((budget) => budgetJson(budget, account.id)),
    limits: meters.levels.map((level) => ({
      meter: level.meter,
      scope: level.group === null ? 'key' : 'account',
      group: level.group,
      limit: level.limit,
      remaining: level.remaining,
      resets_at: isoTime(level.resetAtMs),
      retry_at: isoTime(level.retryAtMs),
    })),
    last_used_at: isoTime(ofKey.lastUsedAtMs),
  };
}

function isStop({ stops }: BudgetReading): boolean {
  return stops;
}

/** A limit of the budget of the person. Holders of a key do not learn which accounts are above theirs. */
function budgetJson(budget: BudgetReading, account: number) {
  return {
    scope: budget.account === account ? 'account' : 'above',
    window: budget.length,
    limit: formatUsd(budget.limit),
    used: formatUsd(budget.used),
    held: formatUsd(budget.held),
    remaining: formatUsd(budget.remaining),
    stops: budget.stops,
    resets_at: isoTime(budget.resetsAtMs),
  };
}

/** The amount that plan and wallet have for messages in these groups. */
function fundsWith(plan: PlanMeter, wallet: Nano, groups: readonly Group[], nowMs: number): Nano {
  const isCovered = ({ name }: Group) => coversGroup(plan, name, nowMs);
  const ofPlan = groups.some(isCovered) ? planAvailable(plan) : 0;
  return ofPlan + (plan.overflow || !groups.every(isCovered) ? wallet : 0);
}

/** A plan and its windows, as APIs show them. */
export function planJson(plan: PlanMeter) {
  return {
    name: plan.name,
    groups: plan.groups && [...plan.groups],
    overflow: plan.overflow,
    windows: readWindows(plan).map((window) => ({
      length: window.length,
      limit: formatUsd(window.limit),
      used: formatUsd(window.used),
      held: formatUsd(window.held),
      remaining: formatUsd(window.remaining),
      started_at: isoTime(window.startedAtMs),
      resets_at: isoTime(window.resetsAtMs),
    })),
    paid_until: isoTime(plan.paidUntilMs),
    ends_at: isoTime(plan.endsAtMs),
  };
}

interface Spending {
  limit: Nano;
  used: Nano;
  held: Nano;
  /** Never below zero, even if the limit was lowered below what is used. */
  remaining: Nano;
}

function describeSpending(limit: Nano | null, used: Nano, held: Nano): Spending | null {
  return limit === null ? null : { limit, used, held, remaining: Math.max(0, limit - used - held) };
}

function spendingJson(spending: Spending | null, period: Period, nowMs: number) {
  if (spending === null) return null;
  return {
    limit: formatUsd(spending.limit),
    used: formatUsd(spending.used),
    held: formatUsd(spending.held),
    remaining: formatUsd(spending.remaining),
    period,
    resets_at: isoTime(periodEndMs(period, nowMs)),
  };
}

function isoTime(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}

const STATUS_IN_PROGRESS = 202;

/**
 * The JSON of GET /v1/usage/{request_id}; for a message in progress only its status. Throws object_not_found, with
 * the same text for unknown, refused and other keys' messages; store_unavailable, overloaded.
 */
export async function describeUsage(
  gateway: SelfService,
  caller: Caller,
  requestId: string,
  catalog: Catalog,
): Promise<{ status: number; body: string }> {
  const { key } = caller;
  const { open, record } = await gateway.selfServiceReads.read(caller, async (reader) => ({
    // In this order: a message that ends between the two reads already has its record.
    open: await reader.openMessage(requestId),
    record: await reader.getUsage(requestId),
  }));
  if (record?.key === key.id)
    return { status: 200, body: JSON.stringify(usageJson(record, hiddenFromAccounts(catalog))) };
  if (open?.key === key.id)
    return {
      status: STATUS_IN_PROGRESS,
      body: JSON.stringify({ request_id: requestId, outcome: 'in_progress' }),
    };
  throw new TurnpikeError('object_not_found', 'No message of this key has this request id.');
}

function usageJson(record: UsageRecord, hidden: Hidden) {
  const isMultiplied = hidden.things.has('multiplier');
  const shown = {
    request_id: record.requestId,
    at: new Date(record.atMs).toISOString(),
    model: record.model,
    group: record.group,
    stream: record.stream,
    outcome: record.outcome,
    status: record.status,
    input_tokens: record.inputTokens,
    output_tokens: record.outputTokens,
    cache_read_input_tokens: record.cacheReadTokens,
    cache_creation_input_tokens: record.cacheWrite5mTokens + record.cacheWrite1hTokens,
    cache_creation: {
      ephemeral_5m_input_tokens: record.cacheWrite5mTokens,
      ephemeral_1h_input_tokens: record.cacheWrite1hTokens,
    },
    web_searches: record.webSearches,
    endpoint: record.endpoint ?? 'messages',
    units: record.units?.counts ?? {},
    usage_source: record.usageSource,
    service_tier: tierOfRates(record.rates),
    cost: formatUsd(record.cost),
    charged: formatUsd(record.cost - record.writtenOff),
    rates: isMultiplied ? ratesWithoutMultiplier(record.rates) : record.rates,
    price: priceJson(record, isMultiplied ? multipliedRates(record.rates) : record.rates),
    attempts: record.attempts.length,
    latency_ms: record.latencyMs,
    first_token_ms: record.firstTokenMs,
  };
  return withoutHidden(shown, hidden);
}

/** null if nothing was priced, or the stored rates do not add up to the stored cost. */
function priceJson(record: UsageRecord, rates: UsageRecord['rates']) {
  const price = explainPrice(rates, countsOf(record));
  if (price === null || price.afterRounding !== record.cost) return null;
  return {
    parts: price.parts.map(partJson),
    multiplier: price.multiplier,
    before_rounding: price.beforeRounding,
    after_rounding: formatUsd(price.afterRounding),
  };
}

/** The counted things of parts that are not tokens. */
const COUNTED: Readonly<Partial<Record<PricePart['part'], string>>> = {
  web_search: 'searches',
  images: 'images',
  characters: 'characters',
  seconds: 'seconds',
  searches: 'searches',
};

function partJson({ part, count, rate, amount }: PricePart) {
  return { part, [COUNTED[part] ?? 'tokens']: count, rate, amount };
}

export type SelfServiceReader = Pick<LedgerReader, 'callerMeters' | 'openMessage'> & Pick<UsageStore, 'getUsage'>;

export class SelfServiceReads {
  readonly #reader: SelfServiceReader;
  readonly #queue = new FairQueue<number>(
    {
      running: bounds.selfServiceReadsMax,
      runningPerOwner: 1,
      tasks: bounds.selfServiceReadsMax,
      tasksPerOwner: bounds.selfServiceReadsPerKeyMax,
    },
    tooManyReads,
  );

  readonly #room = new FairShareQuota(() => bounds.selfServiceReadsMax);

  constructor(reader: SelfServiceReader) {
    this.#reader = reader;
  }

  /** Number of keys with a read in progress. */
  get size(): number {
    return this.#queue.size;
  }

  /** Reads after all earlier reads of this key. Rejects with overloaded if too many reads wait, in all or of the company. */
  async read<Value>(
    caller: Placed & { key: { id: number } },
    read: (reader: SelfServiceReader) => Promise<Value>,
  ): Promise<Value> {
    const company = topOf(caller);
    if (this.#room.take(company, 1) !== null) throw tooManyReads();
    try {
      using _turn = await this.#queue.enter(caller.key.id);
      return await read(this.#reader);
    } finally {
      this.#room.giveBack(company, 1);
    }
  }
}

function tooManyReads(): Error {
  return overloaded('Too many reads of keys and usage are waiting. Try again in a moment.');
}
