// Sources of provider bills, and the stored bills with their comparison. Implemented in storage/.

import type { AuditContext } from '../audit/audit.ts';
import type { NewEvent } from '../events/events.ts';
import type { BillFeature, BillKind } from './bill-line.ts';

/** Where the bill of a provider of the catalog comes from. One for each provider. */
export interface BillSource {
  provider: string;
  kind: BillKind;
  /** Where the vendor's API is; null: its own address. */
  baseUrl: string | null;
  /** The address may be in a private network, and without TLS. */
  isPrivate: boolean;
  /** The admin key, or AWS keys as JSON, sealed; null: only CSV files. */
  sealed: string | null;
  /** `never`: only when an operator asks. */
  schedule: 'daily' | 'never';
  /** The names of models on the bill with those at the provider, where they differ. */
  models: Readonly<Record<string, string>>;
  createdAtMs: number;
}

export function billSourceContext({ provider }: Pick<BillSource, 'provider'>): string {
  return `bill-source:${provider}`;
}

export const billParts = ['rounding', 'tiers', 'cancelled', 'beside', 'unknownPrice', 'unexplained'] as const;
export type BillPart = (typeof billParts)[number];

/** Exact decimals in USD that add up to the difference. */
export type BillParts = Record<BillPart, string>;

export interface ComparedFeature {
  feature: BillFeature;
  /** Exact decimals in USD. */
  billed: string;
  ours: string;
  difference: string;
  /** Tokens or searches; null if the bill does not tell. */
  billedQuantity: number | null;
  ourQuantity: number;
}

export interface ComparedModel {
  /** Its name at the provider; '' for lines about no model. */
  model: string;
  /** Its names on the bill; empty if it is not there. */
  billedAs: readonly string[];
  billed: string;
  ours: string;
  difference: string;
  parts: BillParts;
  features: readonly ComparedFeature[];
}

/** The bill of a day, compared when it was imported. */
export interface ComparedDay {
  billed: string;
  /** The sum of `provider_cost`. */
  ours: string;
  difference: string;
  parts: BillParts;
  /** Our messages of the day that this provider answered or began to answer. */
  messages: number;
  models: readonly ComparedModel[];
}

export interface StoredBill extends ComparedDay {
  provider: string;
  dayMs: number;
  from: 'csv' | 'api';
  importedAtMs: number;
  importedBy: string;
}

/** A bill without its models. */
export type ListedBill = Omit<StoredBill, 'models'>;

export interface BillPage {
  /** null: all providers. */
  provider: string | null;
  sinceMs: number | null;
  untilMs: number | null;
  /** Cursor: the last bill seen. */
  before: { dayMs: number; provider: string } | null;
  limit: number;
}

export interface BillStore {
  getBillSource(provider: string): Promise<BillSource | null>;
  /** By name; a bounded number. */
  listBillSources(): Promise<BillSource[]>;
  putBillSource(source: BillSource, auditContext: AuditContext): Promise<void>;
  /** Replaces the bills of the same days. Stores the events in the same transaction. */
  putBills(bills: readonly StoredBill[], events: readonly NewEvent[], auditContext: AuditContext): Promise<void>;
  getBill(provider: string, dayMs: number): Promise<StoredBill | null>;
  /** Newest day first, then by provider. */
  listBills(page: BillPage): Promise<ListedBill[]>;
}
