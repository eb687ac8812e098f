// The file for finance tools: charges by day with the columns of FOCUS 1.2. `BilledCost` adds up to what statements say:
// used + the price of plans − refunded − corrected − promotions − adjustments. Payments are no charges.
// https://focus.finops.org/focus-specification/v1-2/ (2026-11-29)

import { DAY_MS, monthStartMs } from '../base/clock.ts';
import { formatId } from '../base/ids.ts';
import { nextTurn } from '../base/timers.ts';
import { bounds } from '../config/config.ts';
import { type AnyColumn, columnsFor } from './columns.ts';
import type { ExportQuestion, Place, Reading } from './export-question.ts';
import { makeNames, type Names } from './names.ts';
import { type Charge, readCharges } from './read-charges.ts';
import type { Sheet, SheetPage } from './sheet.ts';
import { tagsText } from './tags-text.ts';

type Kind = Exclude<Charge['kind'], 'payment' | 'debt' | 'carried_forward'>;

/** The names that FOCUS has for charges. */
const charges: Readonly<Record<Kind, { category: string; frequency: string; description: string }>> = {
  message: { category: 'Usage', frequency: 'Usage-Based', description: 'Model usage' },
  refund: { category: 'Usage', frequency: 'Usage-Based', description: 'Refund of model usage' },
  correction: { category: 'Usage', frequency: 'Usage-Based', description: 'Correction of model usage' },
  plan_payment: { category: 'Purchase', frequency: 'Recurring', description: 'Price of a plan' },
  promotion: { category: 'Credit', frequency: 'One-Time', description: 'Promotional credit' },
  adjustment: { category: 'Adjustment', frequency: 'One-Time', description: 'Adjustment of the balance' },
  debt_write_off: { category: 'Adjustment', frequency: 'One-Time', description: 'Debt that was written off' },
};

/** The same in these is one row; each member is part of the name of a group. */
interface Group {
  kind: Kind;
  account: number;
  payer: number;
  dayMs: number;
  key: number | null;
  group: string | null;
  model: string | null;
  provider: string | null;
  tags: string | null;
  /** Corrects a month that is over. */
  isLate: boolean;
}

interface FocusRow extends Group {
  accountName: string | null;
  payerName: string | null;
  keyName: string | null;
  issuer: string;
  billed: bigint;
  effective: bigint;
  list: bigint;
  tokens: number;
  note: string | null;
}

const { text, sum, whole, time } = columnsFor<FocusRow>();

const isUsage = ({ kind }: Group) => charges[kind].category === 'Usage';
const isPriced = ({ kind }: Group) => ['Usage', 'Purchase'].includes(charges[kind].category);
const empty = (name: string) => text(name, () => null);
const ONE_USD = 1_000_000_000n;

const columns: readonly AnyColumn[] = [
  empty('AvailabilityZone'),
  sum('BilledCost', (row) => row.billed),
  text('BillingAccountId', (row) => formatId('acct', row.payer)),
  text('BillingAccountName', (row) => row.payerName),
  text('BillingAccountType', () => 'Account'),
  text('BillingCurrency', () => 'USD'),
  time('BillingPeriodEnd', (row) => monthStartMs(row.dayMs, -1)),
  time('BillingPeriodStart', (row) => monthStartMs(row.dayMs, 0)),
  text('ChargeCategory', ({ kind }) => charges[kind].category),
  text('ChargeClass', ({ isLate }) => (isLate ? 'Correction' : null)),
  text('ChargeDescription', ({ kind, model, note }) =>
    [charges[kind].description, model ?? note].filter(Boolean).join(': '),
  ),
  text('ChargeFrequency', ({ kind }) => charges[kind].frequency),
  time('ChargePeriodEnd', ({ dayMs }) => dayMs + DAY_MS),
  time('ChargePeriodStart', ({ dayMs }) => dayMs),
  empty('CommitmentDiscountCategory'),
  empty('CommitmentDiscountId'),
  empty('CommitmentDiscountName'),
  empty('CommitmentDiscountQuantity'),
  empty('CommitmentDiscountStatus'),
  empty('CommitmentDiscountType'),
  empty('CommitmentDiscountUnit'),
  whole('ConsumedQuantity', (row) => (isUsage(row) && !row.isLate ? row.tokens : null)),
  text('ConsumedUnit', (row) => (isUsage(row) && !row.isLate ? 'Tokens' : null)),
  sum('ContractedCost', (row) => row.list),
  sum('ContractedUnitPrice', (row) => (isPriced(row) ? ONE_USD : null)),
  sum('EffectiveCost', (row) => row.effective),
  empty('InvoiceId'),
  text('InvoiceIssuerName', ({ issuer }) => issuer),
  sum('ListCost', (row) => row.list),
  sum('ListUnitPrice', (row) => (isPriced(row) ? ONE_USD : null)),
  text('PricingCategory', (row) => (isPriced(row) ? 'Standard' : null)),
  text('PricingCurrency', () => 'USD'),
  sum('PricingQuantity', (row) => (isPriced(row) ? row.list : null)),
  text('PricingUnit', (row) => (isPriced(row) ? 'USD' : null)),
  text('ProviderName', ({ issuer }) => issuer),
  text('PublisherName', ({ provider, issuer }) => provider ?? issuer),
  empty('RegionId'),
  empty('RegionName'),
  text('ResourceId', ({ key }) => (key === null ? null : formatId('key', key))),
  text('ResourceName', ({ keyName }) => keyName),
  text('ResourceType', ({ key }) => (key === null ? null : 'API key')),
  text('ServiceCategory', () => 'AI and Machine Learning'),
  text('ServiceName', () => 'Language models'),
  text('ServiceSubcategory', () => 'Generative AI'),
  text('SkuId', (row) => (isPriced(row) ? (row.model ?? (isUsage(row) ? 'unknown' : 'plan')) : null)),
  text('SkuMeter', (row) => (isUsage(row) ? 'Tokens' : null)),
  empty('SkuPriceDetails'),
  text('SkuPriceId', (row) => (isPriced(row) ? skuPriceOf(row) : null)),
  text('SubAccountId', ({ account }) => formatId('acct', account)),
  text('SubAccountName', ({ accountName }) => accountName),
  text('SubAccountType', () => 'Account'),
  text('Tags', ({ tags }) => tags),
];

/** The group that sells a model decides its price. */
function skuPriceOf({ kind, group, model }: Group): string {
  if (group === null && model !== null) return model; // the group is hidden
  return kind === 'plan_payment' ? 'plan' : `${group ?? 'unknown'}/${model ?? 'unknown'}`;
}

export function focusSheet(reading: Reading, question: ExportQuestion): Sheet {
  const names = makeNames(reading.sources, question.reader);
  const { installation: issuer } = reading.names;
  return {
    columns,
    async *pages(from: Place | null): AsyncGenerator<SheetPage> {
      let rows = new Map<string, FocusRow>();
      let next: Place | null = null;
      let source: Place | null = null; // of the account whose charges these rows are from
      for await (const page of readCharges(reading, question, from)) {
        for (const charge of page.charges) {
          const row = rowOf(charge, issuer);
          if (row === null) continue;
          const [first] = rows.values();
          const isNext = first !== undefined && (source?.account !== page.next.account || first.dayMs !== row.dayMs);
          if (isNext || rows.size >= bounds.exportGroupsMax) {
            yield {
              rows: await named(rows, names),
              next: isNext && source !== null ? { ...source, untilMs: first.dayMs - 1 } : null,
            };
            rows = new Map();
          }
          source = page.next;
          addRow(rows, row);
        }
        next = page.next;
      }
      yield { rows: await named(rows, names), next };
    },
  };
}

/** null if it is no charge. */
function rowOf(charge: Charge, issuer: string): FocusRow | null {
  const { kind, account, payer, atMs, record, balancePaid, planPaid, writtenOff, note } = charge;
  if (kind === 'payment' || kind === 'debt' || kind === 'carried_forward') return null;
  const isAboutMessage = kind === 'refund' || kind === 'correction';
  const billed = BigInt(balancePaid);
  const effective = kind === 'plan_payment' ? 0n : billed + BigInt(planPaid);
  const list = kind === 'plan_payment' ? billed : effective + BigInt(writtenOff);
  if (kind === 'message' && list === 0n) return null;
  return {
    kind,
    account,
    payer,
    dayMs: Math.floor(atMs / DAY_MS) * DAY_MS,
    key: record?.key ?? null,
    group: record?.group ?? null,
    model: record?.model ?? null,
    provider: record?.provider ?? null,
    tags: record === null ? null : tagsText(record.tags),
    isLate: isAboutMessage && record !== null && record.atMs < monthStartMs(atMs, 0),
    accountName: null,
    payerName: null,
    keyName: null,
    issuer,
    billed,
    effective,
    list,
    tokens: kind === 'message' && record !== null ? tokensOf(record) : 0,
    note: isAboutMessage ? null : note,
  };
}

function tokensOf(record: NonNullable<Charge['record']>): number {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWrite5mTokens, cacheWrite1hTokens } = record;
  return inputTokens + outputTokens + cacheReadTokens + cacheWrite5mTokens + cacheWrite1hTokens;
}

function addRow(rows: Map<string, FocusRow>, row: FocusRow): void {
  const { kind, account, payer, key, group, model, provider, tags, isLate, note } = row;
  const name = JSON.stringify([kind, account, payer, key, group, model, provider, tags, isLate, note]);
  const known = rows.get(name);
  if (known === undefined) {
    rows.set(name, row);
    return;
  }
  known.billed += row.billed;
  known.effective += row.effective;
  known.list += row.list;
  known.tokens += row.tokens;
}

async function named(rows: ReadonlyMap<string, FocusRow>, names: Names): Promise<FocusRow[]> {
  let count = 0;
  for (const row of rows.values()) {
    if (count++ % bounds.exportPageRows === 0) await nextTurn();
    row.accountName = await names.account(row.account);
    if (!(await names.isShown(row.payer))) row.payer = row.account; // FOCUS needs an account
    row.payerName = await names.account(row.payer);
    row.keyName = row.key === null ? null : await names.key(row.key);
  }
  return [...rows.values()];
}
