// Rows of the ledger's model: lists of events where the ledger keeps counters.

import type { BudgetTerms, PlanTerms, RateLimits, UsageRecord, WindowLength } from '../../../../src/ledger/ledger.ts';

export type Period = 'total' | 'day' | 'week' | 'month';

/** Sixty-thousandths of a request or token, used and not yet drained. */
export interface Bucket {
  requests: number;
  inputTokens: number;
  outputTokens: number;
  atMs: number;
  limits: RateLimits;
}

/** Amount of a record that counts toward the meters. */
export type Bill = Pick<
  UsageRecord,
  'cost' | 'inputTokens' | 'outputTokens' | 'cacheWrite5mTokens' | 'cacheWrite1hTokens' | 'outcome'
>;

export interface Spending {
  limit: number | null;
  period: Period;
  /** Period in which `used` was last counted, such as "2026-11-18". */
  periodName: string;
  used: number;
}

/** The last window of a length that the account had, in its plan or in an earlier one. */
export interface ModelWindow {
  used: number;
  /** When it began; null for one of 5 hours that has not. */
  fromMs: number | null;
  /** The start of the first window of its sequence. */
  firstMs: number;
  /** Between these times the account's plans had a window of the length; not yet over: infinite. */
  sinceMs: number;
  untilMs: number;
}

export interface ModelAccount extends Spending {
  id: number;
  parent: number | null;
  paysFrom: 'own' | 'parent';
  personBudget: BudgetTerms | null;
  enabled: boolean;
  creditLine: number;
  balance: number;
  /** Owed for reversed payments. */
  debt: number;
  plan: PlanTerms | null;
  windows: Map<WindowLength, ModelWindow>;
  /** The amounts that reversals returned, by day. */
  reversed: Map<string, number>;
  buckets: Map<string, Bucket>;
}

/** The use of a person in one window. */
export interface ModelUse {
  used: number;
  /** The period, such as "2026-11-18"; of 5 hours, when it began, or "" if it has not. */
  name: string;
}

export interface ModelPerson {
  id: number;
  account: number;
  enabled: boolean;
  /** By the account at which it was set. */
  budgets: Map<number, BudgetTerms | null>;
  uses: Map<WindowLength, ModelUse>;
}

export interface ModelKey extends Spending {
  id: number;
  account: number;
  person: number | null;
  status: string;
  expiresAtMs: number | null;
  bucket: Bucket;
}

/** The rows that a message takes from: accounts from its own to the uppermost. */
export interface ModelChain {
  accounts: number[];
  payer: number;
  key: number;
  person: number | null;
}

export interface ModelHold extends ModelChain {
  requestId: string;
  group: string;
  amount: number;
  fromPlan: number;
  atMs: number;
  node: string;
  epoch: number;
  left: boolean;
  claim: string | null;
  /** Null if nothing was used, so that there is nothing to bill. */
  checkpoint: Bill | null;
}

export interface ModelEnding extends ModelChain {
  group: string;
  cost: number;
  writtenOff: number;
  planPaid: number;
  atMs: number;
  outcome: string;
  by: string;
}

export interface Model {
  nowMs: number;
  accounts: Map<number, ModelAccount>;
  keys: Map<number, ModelKey>;
  people: Map<number, ModelPerson>;
  holds: Map<string, ModelHold>;
  endings: Map<string, ModelEnding>;
  /** Documents by kind and name. */
  claims: Map<string, { requestId: string; hash: string; atMs: number; isAnswered: boolean; failed: string[] }>;
  leases: Map<string, { epoch: number; expiresAtMs: number }>;
  credits: Map<string, number>;
  /** Prices of plans that were paid. */
  planPayments: number;
}

export function newModel(nowMs: number): Model {
  return {
    nowMs,
    accounts: new Map(),
    keys: new Map(),
    people: new Map(),
    holds: new Map(),
    endings: new Map(),
    claims: new Map(),
    leases: new Map(),
    credits: new Map(),
    planPayments: 0,
  };
}
