// Imports a bill: compares each of its days with our records, stores it in place of an earlier one, and reports days that
// differ by more than the settings allow.

import type { AuditContext } from '../audit/audit.ts';
import type { Clock } from '../base/clock.ts';
import { DAY_MS } from '../base/clock.ts';
import { parseUsd } from '../base/money.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import type { NewEvent } from '../events/events.ts';
import type { UsageStore } from '../reports/reports.ts';
import type { Vault } from '../secrets/secrets.ts';
import { Secret } from '../secrets/secrets.ts';
import { fetchAnthropicBill } from './anthropic.ts';
import { fetchAwsBill } from './aws.ts';
import { type BillKind, type CollectedBill, parseUnits, UNITS_PER_NANO, unreadableBill } from './bill-line.ts';
import { type BillSource, type BillStore, billSourceContext, type StoredBill } from './bill-source.ts';
import { compareDay } from './compare.ts';
import { gatherUsage } from './gather-usage.ts';
import { fetchOpenaiBill } from './openai.ts';
import type { BillingApi } from './request-page.ts';

export interface ImportParts {
  bills: BillStore;
  usage: Pick<UsageStore, 'listUsage'>;
  catalog(): Catalog;
  clock: Clock;
}

export interface Imported {
  from: StoredBill['from'];
  by: string;
  audit(bills: readonly StoredBill[]): AuditContext;
}

/** Resolves to the stored bills, oldest first, and the number of events. Rejects with invalid_request, store_unavailable. */
export async function importBill(
  { bills, usage, catalog, clock }: ImportParts,
  source: Pick<BillSource, 'provider' | 'models'>,
  { lines, days, places }: CollectedBill,
  { from, by, audit }: Imported,
): Promise<{ stored: StoredBill[]; events: number }> {
  const nowMs = clock.nowMs();
  const { settings, models } = catalog();
  const last = days.at(-1);
  if (last !== undefined && last > nowMs) throw unreadableBill('a day is in the future');
  const gathered = await gatherUsage({ usage, catalog: { models } }, source.provider, days);
  const compared = days.map((dayMs): StoredBill => {
    const ours = gathered.get(dayMs) ?? { models: new Map() };
    const ofDay = { lines: lines.filter((line) => line.dayMs === dayMs), ours, mapping: source.models, places };
    const about = { provider: source.provider, dayMs, from, importedAtMs: nowMs, importedBy: by };
    return { ...about, ...compareDay(ofDay) };
  });
  const percent = settings.providerBillDifferencePercent;
  const least = BigInt(parseUsd(settings.providerBillDifferenceUsd) ?? 0) * UNITS_PER_NANO;
  // A day that has not ended is on neither side complete.
  const differing = compared.filter((bill) => bill.dayMs + DAY_MS <= nowMs && differs(bill, percent, least));
  await bills.putBills(
    compared,
    differing.map((bill) => differenceEvent(bill, nowMs)),
    audit(compared),
  );
  return { stored: compared, events: differing.length };
}

/** Whether the difference is above both thresholds: `least`, and a percentage of the larger sum. */
export function differs({ billed, ours, difference }: StoredBill, percent: number, least: bigint): boolean {
  const size = (text: string) => (text.startsWith('-') ? -parseUnits(text) : parseUnits(text));
  const exceeds = (sum: string) => size(difference) * 100n > size(sum) * BigInt(percent);
  return size(difference) > least && exceeds(billed) && exceeds(ours);
}

function differenceEvent(bill: StoredBill, atMs: number): NewEvent {
  const { provider, billed, ours, difference, parts } = bill;
  const day = new Date(bill.dayMs).toISOString().slice(0, 10);
  const { unknownPrice: unknown_price, ...others } = parts;
  return {
    atMs,
    account: null,
    type: 'provider_bill.differs',
    data: { provider, day, billed, recorded: ours, difference, parts: { ...others, unknown_price } },
    dedupe: `provider_bill.differs:${provider}:${day}`,
  };
}

/** Reads bills from the APIs of vendors. */
export interface BillFetching {
  vault: Pick<Vault, 'open'>;
  clock: Clock;
  lookup: BillingApi['lookup'];
}

const fetchers: Readonly<Record<BillKind, typeof fetchAnthropicBill>> = {
  anthropic: fetchAnthropicBill,
  openai: fetchOpenaiBill,
  aws: fetchAwsBill,
};

/** The bill of the days from `sinceMs` until before `untilMs`. Rejects with bill_unavailable, invalid_request. */
export function fetchBill(
  { vault, clock, lookup }: BillFetching,
  source: BillSource & { sealed: string },
  { sinceMs, untilMs, signal }: { sinceMs: number; untilMs: number; signal: AbortSignal },
): Promise<CollectedBill> {
  const credential = new Secret(vault.open(source.sealed, billSourceContext(source)));
  const api = { source, credential, lookup, nowMs: clock.nowMs, signal };
  return fetchers[source.kind](api, sinceMs, untilMs);
}

/** The last days whose costs the vendor reports in full. AWS updates them up to a day later. */
export function daysToFetch({ kind }: Pick<BillSource, 'kind'>, nowMs: number): { sinceMs: number; untilMs: number } {
  const todayMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const untilMs = todayMs - (kind === 'aws' ? DAY_MS : 0);
  return { sinceMs: untilMs - bounds.billDaysAgain * DAY_MS, untilMs };
}
