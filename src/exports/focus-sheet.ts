// The file for finance tools: charges by day with the columns of FOCUS 1.2. `BilledCost` adds up to what statements say:
// used + the price of plans − refunded − corrected − promotions − adjustments. Payments are no charges.
// https://focus.finops.org/focus-specification/v1-2/ (2026-11-29)

import { DAY_MS, monthStartMs } from '../base/clock.ts';
import { formatId } from '../base/ids.ts';
import { nextTurn } from '../base/timers.ts';
import { bounds } from '../config/config.ts';
import { divideCost, type Unit, type UnitCounts, unitEntries } from '../wire/wire.ts';
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
  /** null: tokens of text, and what else a message used. */
  unit: Unit | null;
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
  /** Tokens, or units. */
  quantity: number;
  note: string | null;
}

const { text, sum, whole, time } = columnsFor<FocusRow>();

interface Meter {
  meter: string;
  unit: string;
  /** The units that a price is for. */
  per: bigint;
}

const MILLION = 1_000_000n;

/** Tokens of text have prices of several kinds, which no row distinguishes. */
const TEXT: Omit<Meter, 'per'> = { meter: 'Tokens', unit: 'Tokens' };

const meters: Readonly<Record<Unit, Meter>> = {
  input_audio_tokens: { meter: 'Audio input tokens', unit: 'Tokens', per: MILLION },
  output_audio_tokens: { meter: 'Audio output tokens', unit: 'Tokens', per: MILLION },
  input_image_tokens: { meter: 'Image input tokens', unit: 'Tokens', per: MILLION },
  output_image_tokens: { meter: 'Image output tokens', unit: 'Tokens', per: MILLION },
  images: { meter: 'Images', unit: 'Images', per: 1n },
  characters: { meter: 'Characters', unit: 'Characters', per: MILLION },
  seconds: { meter: 'Seconds', unit: 'Seconds', per: 1n },
  searches: { meter: 'Searches', unit: 'Searches', per: 1_000n },
};

const meterOf = ({ unit }: Group) => (unit === null ? TEXT : meters[unit]);

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
  whole('ConsumedQuantity', (row) => (isUsage(row) && !row.isLate ? row.quantity : null)),
  text('ConsumedUnit', (row) => (isUsage(row) && !row.isLate ? meterOf(row).unit : null)),
  sum('ContractedCost', (row) => row.list),
  sum('ContractedUnitPrice', (row) => pricingOf(row)?.price ?? null),
  sum('EffectiveCost', (row) => row.effective),
  empty('InvoiceId'),
  text('InvoiceIssuerName', ({ issuer }) => issuer),
  sum('ListCost', (row) => row.list),
  sum('ListUnitPrice', (row) => pricingOf(row)?.price ?? null),
  text('PricingCategory', (row) => (isPriced(row) ? 'Standard' : null)),
  text('PricingCurrency', () => 'USD'),
  sum('PricingQuantity', (row) => pricingOf(row)?.quantity ?? null),
  text('PricingUnit', (row) => pricingOf(row)?.unit ?? null),
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
  text('SkuMeter', (row) => (isUsage(row) ? meterOf(row).meter : null)),
  empty('SkuPriceDetails'),
  text('SkuPriceId', (row) => (isPriced(row) ? skuPriceOf(row) : null)),
  text('SubAccountId', ({ account }) => formatId('acct', account)),
  text('SubAccountName', ({ accountName }) => accountName),
  text('SubAccountType', () => 'Account'),
  text('Tags', ({ tags }) => tags),
];

/** The group that sells a model decides its price. */
function skuPriceOf({ kind, group, model, unit }: Group): string {
  if (kind === 'plan_payment') return 'plan';
  const names = group === null && model !== null ? [model] : [group ?? 'unknown', model ?? 'unknown']; // may be hidden
  return [...names, ...(unit === null ? [] : [unit])].join('/');
}

/** Quantity and price as USD. The price of units is what they cost on average; without a quantity, a dollar costs a dollar. */
function pricingOf(row: FocusRow): { quantity: bigint; unit: string; price: bigint } | null {
  if (!isPriced(row)) return null;
  if (row.unit === null || row.quantity === 0) return { quantity: row.list, unit: 'USD', price: ONE_USD };
  const { per, unit } = meters[row.unit];
  const quantity = BigInt(row.quantity);
  return {
    quantity: (quantity * ONE_USD) / per,
    unit: per === 1n ? unit : `${per} ${unit}`,
    price: (2n * row.list * per + quantity) / (2n * quantity),
  };
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
        for (const row of page.charges.flatMap((charge) => rowsOf(charge, issuer))) {
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

/** A row for each kind of unit of a message, and one for everything else. None if it is no charge. */
function rowsOf(charge: Charge, issuer: string): FocusRow[] {
  const { kind } = charge;
  if (kind === 'payment' || kind === 'debt' || kind === 'carried_forward') return [];
  return partsOf(charge).flatMap((part) => rowOf(kind, charge, part, issuer) ?? []);
}

type Paid = Pick<Charge, 'balancePaid' | 'planPaid' | 'writtenOff'>;

interface Part extends Paid {
  unit: Unit | null;
  quantity: number;
}

/** The parts of a charge. They add up to it, and have the shares that they have in the cost of the message. */
function partsOf(charge: Charge): Part[] {
  const { kind, record } = charge;
  const tokens = record === null ? 0 : tokensOf(record);
  const counts = record?.units === undefined ? [] : unitEntries(record.units);
  const shares = sharesOf(record, counts, tokens);
  const all = BigInt(record?.cost || 1);
  const [balance, plan, writeOff] = [charge.balancePaid, charge.planPaid, charge.writtenOff].map((amount) =>
    divideCost(amount, shares, all),
  ) as [UnitCounts, UnitCounts, UnitCounts];
  const rest = { balancePaid: charge.balancePaid, planPaid: charge.planPaid, writtenOff: charge.writtenOff };
  const hasQuantity = kind === 'message';
  const parts = counts.map(([unit, count]): Part => {
    const { [unit]: balancePaid = 0 } = balance;
    const { [unit]: planPaid = 0 } = plan;
    const { [unit]: writtenOff = 0 } = writeOff;
    rest.balancePaid -= balancePaid;
    rest.planPaid -= planPaid;
    rest.writtenOff -= writtenOff;
    return { unit, quantity: hasQuantity ? count : 0, balancePaid, planPaid, writtenOff };
  });
  parts.push({ unit: null, quantity: hasQuantity ? tokens : 0, ...rest });
  const used = parts.filter((part) => part.quantity > 0 || part.balancePaid || part.planPaid || part.writtenOff);
  return used.length === 0 ? parts.slice(-1) : used;
}

/**
 * The shares of units in the cost of the message. Where they are not known, which is so in records of before version 39 of the database, and
 * if nothing is left of the cost, all is of the first unit, or of tokens if there are any.
 */
function sharesOf(
  record: Charge['record'],
  counts: readonly (readonly [unit: Unit, count: number])[],
  tokens: number,
): [unit: Unit, share: bigint][] {
  const { cost = 0, unitCosts } = record ?? {};
  const [first] = counts;
  if (unitCosts !== undefined && cost > 0) return counts.map(([unit]) => [unit, BigInt(unitCosts[unit] ?? 0)]);
  return first === undefined || tokens > 0 ? [] : [[first[0], BigInt(cost || 1)]];
}

function rowOf(kind: Kind, charge: Charge, part: Part, issuer: string): FocusRow | null {
  const { account, payer, atMs, record, note } = charge;
  const { unit, quantity, balancePaid, planPaid, writtenOff } = part;
  const isAboutMessage = kind === 'refund' || kind === 'correction';
  const billed = BigInt(balancePaid);
  const effective = kind === 'plan_payment' ? 0n : billed + BigInt(planPaid);
  const list = kind === 'plan_payment' ? billed : effective + BigInt(writtenOff);
  if (kind === 'message' && charge.balancePaid + charge.planPaid + charge.writtenOff === 0) return null;
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
    unit,
    isLate: isAboutMessage && record !== null && record.atMs < monthStartMs(atMs, 0),
    accountName: null,
    payerName: null,
    keyName: null,
    issuer,
    billed,
    effective,
    list,
    quantity,
    note: isAboutMessage ? null : note,
  };
}

function tokensOf(record: NonNullable<Charge['record']>): number {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWrite5mTokens, cacheWrite1hTokens } = record;
  return inputTokens + outputTokens + cacheReadTokens + cacheWrite5mTokens + cacheWrite1hTokens;
}

function addRow(rows: Map<string, FocusRow>, row: FocusRow): void {
  const { kind, account, payer, key, group, model, provider, tags, unit, isLate, note } = row;
  const name = JSON.stringify([kind, account, payer, key, group, model, provider, tags, unit, isLate, note]);
  const known = rows.get(name);
  if (known === undefined) {
    rows.set(name, row);
    return;
  }
  known.billed += row.billed;
  known.effective += row.effective;
  known.list += row.list;
  known.quantity += row.quantity;
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
