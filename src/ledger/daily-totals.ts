// Additions to the daily totals of usage that a batch writes.

import { DAY_MS } from '../base/clock.ts';
import { type UnitCounts, unitEntries } from '../wire/wire.ts';
import type { UsageRecord } from './operation.ts';
import type { DailyTotal, TotalName, UnitTotal } from './rows.ts';

export class DailyTotals {
  readonly byName = new Map<string, DailyTotal>();
  /** One for each unit of a record: few records have any. */
  readonly units: UnitTotal[] = [];

  count(record: UsageRecord, sign: 1 | -1): void {
    const identity = identityOf(record);
    const isCosted = record.providerCost !== null;
    const { dayMs, account, key, model, provider, group, person, tagSet } = identity;
    this.add(nameOf(identity), {
      dayMs,
      account,
      key,
      model,
      provider,
      group,
      person,
      tagSet,
      messages: sign,
      inputTokens: sign * record.inputTokens,
      outputTokens: sign * record.outputTokens,
      cacheReadTokens: sign * record.cacheReadTokens,
      cacheWriteTokens: sign * (record.cacheWrite5mTokens + record.cacheWrite1hTokens),
      cost: sign * record.cost,
      writtenOff: sign * record.writtenOff,
      providerCost: sign * (record.providerCost ?? 0),
      costedMessages: isCosted ? sign : 0,
      costedRevenue: isCosted ? sign * (record.cost - record.writtenOff) : 0,
    });
    if (record.unitCosts !== undefined) this.#countUnits(record.unitCosts, record, identity, sign);
  }

  #countUnits(costs: UnitCounts, { units }: UsageRecord, identity: Identity, sign: 1 | -1): void {
    for (const [unit, quantity] of units === undefined ? [] : unitEntries(units))
      this.units.push({ ...identity, unit, quantity: sign * quantity, cost: sign * (costs[unit] ?? 0) });
  }

  /** Takes `more` over. */
  add(name: string, more: DailyTotal): void {
    const total = this.byName.get(name);
    if (total === undefined) {
      this.byName.set(name, more);
      return;
    }
    // The stored sum is wider than a safe integer: an addition that would not be exact becomes a second addition.
    if (
      !Number.isSafeInteger(total.cost + more.cost) ||
      !Number.isSafeInteger(total.providerCost + more.providerCost)
    ) {
      this.add(`${name} and on`, more);
      return;
    }
    total.messages += more.messages;
    total.inputTokens += more.inputTokens;
    total.outputTokens += more.outputTokens;
    total.cacheReadTokens += more.cacheReadTokens;
    total.cacheWriteTokens += more.cacheWriteTokens;
    total.cost += more.cost;
    total.writtenOff += more.writtenOff;
    total.providerCost += more.providerCost;
    total.costedMessages += more.costedMessages;
    total.costedRevenue += more.costedRevenue;
  }
}

type Identity = Pick<DailyTotal, TotalName>;

/** The total that counts a record. Before version 20, they distinguished days, accounts, keys and models only; groups since version 26. */
export function identityOf(record: UsageRecord): Identity {
  const { atMs, account, key, model, tagSet } = record;
  const group = record.totalsLackGroup ? '' : record.group;
  const provider = tagSet === null ? '' : (record.provider ?? '');
  const person = tagSet === null ? 0 : (record.person ?? 0);
  const dayMs = Math.floor(atMs / DAY_MS) * DAY_MS;
  return { dayMs, account, key, model, provider, group, person, tagSet: tagSet ?? 0 };
}

export function nameOf({ dayMs, account, key, model, provider, group, person, tagSet }: Identity): string {
  return `${dayMs} ${account} ${key} ${person} ${tagSet} ${provider}\n${group}\n${model}`;
}
