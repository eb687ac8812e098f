// Accounts, keys and callers as plain values. The ledger decides what they may spend.

import type { AuditContext } from '../audit/audit.ts';
import type { Period } from '../base/clock.ts';
import { newNumber, parseId } from '../base/ids.ts';
import type { Nano } from '../base/money.ts';
import type { Requester } from '../base/timers.ts';
import type { Person } from './person.ts';
import type { TagRules, Tags } from './tags.ts';

type KeyStatus = 'enabled' | 'disabled' | 'revoked';

export interface Account {
  id: number;
  name: string;
  /** The groups that its keys may use. */
  groups: readonly string[];
  status: 'enabled' | 'disabled';
  /** The account above. Absent in older documents: none. */
  parentId?: number | null;
  /** The owner of the wallet and plan that pay for its messages. Absent: its own. */
  paysFrom?: 'own' | 'parent';
  /** Absent in older documents. */
  autoRecharge?: AutoRecharge | null;
  /** Tags of all its messages. Absent in older documents, like those of keys. */
  tags?: Tags;
  tagRules?: TagRules;
  createdAtMs: number;
}

/** Charges the saved payment method when less than `threshold` is available. */
export interface AutoRecharge {
  threshold: Nano;
  /** The credit to buy, without taxes. */
  amount: Nano;
  /** In one day (UTC), without those that failed. */
  perDayMax: number;
  /** When it was last set. Earlier failures no longer count. */
  sinceMs: number;
}

export interface Key {
  id: number;
  accountId: number;
  name: string;
  /** First characters of the secret, for recognition: "sk-tp-Ab3d". */
  prefix: string;
  /** In order: the first group that offers a model sets its price and limits. null: all groups of the account. */
  groups: readonly string[] | null;
  /** Patterns of model names; null: all. */
  models: readonly string[] | null;
  status: KeyStatus;
  expiresAtMs: number | null;
  /** Exact origins that may use the key from a browser; null: any. */
  origins: readonly string[] | null;
  /** CIDR ranges; null: any. */
  addresses: readonly string[] | null;
  /** The actor that created it. null: created before there were roles. */
  madeBy: string | null;
  /** The person whose key it is: it works as long as they are enabled. Absent or null: a service key of the account. */
  personId?: number | null;
  tags?: Tags;
  /** The limits that an owner or operator set, which members cannot lift. Absent in older documents: all that are set. */
  locked?: readonly KeyLimit[];
  createdAtMs: number;
}

/** The limits of a key that can be locked, as the API names them. */
export const keyLimits = [
  'groups',
  'models',
  'quota',
  'rpm',
  'input_tpm',
  'output_tpm',
  'concurrency',
  'expires_at',
  'origins',
  'addresses',
  'status',
] as const;
export type KeyLimit = (typeof keyLimits)[number];

/**
 * Whether the key belongs to this actor: a person has the keys that are theirs, a token the service keys that it made.
 */
export function isKeyOf({ madeBy, personId = null }: Pick<Key, 'madeBy' | 'personId'>, actor: string): boolean {
  const person = parseId('person', actor);
  return person === null ? personId === null && madeBy === actor : personId === person;
}

/** An account with those above it, nearest first. */
export interface Placed {
  account: { id: number };
  above: readonly { id: number }[];
}

/** The account whose wallet and plan pay for its messages. */
export function payingAccountOf({ account, above }: Pick<Caller, 'account' | 'above'>): Account {
  return [account, ...above].find(({ paysFrom }, at) => paysFrom !== 'parent' || at === above.length) ?? account;
}

/** The id of the uppermost account, whose shares of the service all accounts below it have together. */
export function topOf({ account, above }: Placed): number {
  return (above.at(-1) ?? account).id;
}

/** The part of an account's plan that decides groups and limits of its callers. The ledger has its allowances. */
export interface CallerPlan {
  name: string;
  /** Groups that it adds to those of the account, and pays for; null: it pays for all of the account's groups. */
  groups: readonly string[] | null;
  endsAtMs: number | null;
}

/** An authenticated caller. */
export interface Caller {
  account: Account;
  /** The accounts above, nearest first. */
  above: readonly Account[];
  key: Key;
  /** The person whose key it is; null: a service key. */
  person: Person | null;
  /** When a rotated secret stops working; null: never, apart from the key's own expiry. */
  secretExpiresAtMs: number | null;
  /** The plan of the account that pays. May have ended. */
  plan: CallerPlan | null;
}

/** The most that a person may use in each window, each length once. `stops`: a message that exceeds a limit is refused. */
export interface PersonBudgetTerms {
  limits: readonly { length: '5h' | 'day' | 'week' | 'month'; limit: Nano }[];
  stops: boolean;
}

/** Limits on an account's spending. Enforced by the ledger; only stored from here. */
export interface AccountTerms {
  enabled: boolean;
  /** How far the wallet may go below zero, >= 0. */
  creditLine: Nano;
  allowance: Nano | null;
  allowancePeriod: Period;
  /** An event is emitted when less than one of these is left. Absent: unchanged, or none. */
  lowBalances?: readonly Nano[];
  /** Budgets of people and thresholds. Absent members: unchanged, or none. */
  company?: { personBudget?: PersonBudgetTerms | null; warnsAt?: readonly number[] };
}

/** Limits of a key. null: no limit. */
export interface KeyTerms {
  status: KeyStatus;
  expiresAtMs: number | null;
  quota: Nano | null;
  quotaPeriod: Period;
  requestsPerMinute: number | null;
  inputTokensPerMinute: number | null;
  outputTokensPerMinute: number | null;
  concurrency: number | null;
}

/** No limits: the defaults of a new key. */
export const NO_KEY_LIMITS: Readonly<Omit<KeyTerms, 'status' | 'expiresAtMs'>> = Object.freeze({
  quota: null,
  quotaPeriod: 'total',
  requestsPerMinute: null,
  inputTokensPerMinute: null,
  outputTokensPerMinute: null,
  concurrency: null,
});

/** A new key without restrictions. */
export function newKey(accountId: number, name: string, prefix: string, madeBy: string | null, nowMs: number): Key {
  const restrictions = { groups: null, models: null, origins: null, addresses: null, expiresAtMs: null };
  const status = 'enabled';
  return { id: newNumber(), accountId, name, prefix, ...restrictions, status, madeBy, createdAtMs: nowMs };
}

/** The first credit of a new account, committed with it. */
export interface FirstCredit {
  amount: Nano;
  kind: 'payment' | 'promotion';
  reference: string | null;
  note: string | null;
}

/** A key that is disabled with another change. */
export interface EndedKey {
  key: Key;
  terms: KeyTerms;
}

/** Stores accounts and keys. Reads see committed data; writes are durable when they resolve. */
export interface AccountStore {
  /** The key with one of these hashes, at most three. */
  findKeyBySecretHash(hashes: readonly string[]): Promise<Caller | null>;
  /** By the id of the key, for what was asked with it earlier. */
  findCallerOfKey(keyId: number): Promise<Caller | null>;
  getAccount(id: number): Promise<Account | null>;
  /** All accounts below this one, on every level, oldest first; at most `bounds.accountsBelowReadMax`. */
  listBelow(id: number): Promise<Account[]>;
  /** Oldest first; `after` is the id of the last account seen. */
  listAccounts(page: { after: number | null; limit: number }): Promise<Account[]>;
  /** The ids of accounts in this order. Throws invalid_request if there are too many to sort. */
  sortAccounts(page: SortedAccounts, requester?: Requester): Promise<SortedRow[]>;
  getKey(id: number): Promise<Key | null>;
  listKeys(page: KeyPage): Promise<Key[]>;
  /** The ids of keys in this order. Throws likewise. */
  sortKeys(page: SortedKeys, requester?: Requester): Promise<SortedRow[]>;
  /** Keys of every status that expire between the times, both inclusive, by time. `after`: the last key seen. */
  listExpiringKeys(page: {
    sinceMs: number;
    untilMs: number;
    after: { expiresAtMs: number; id: number } | null;
    limit: number;
  }): Promise<Key[]>;
  /** Keys of every status. */
  countKeys(accountId: number): Promise<number>;
  createAccount(
    account: Account,
    terms: AccountTerms,
    credit: FirstCredit | null,
    auditContext: AuditContext,
  ): Promise<void>;
  /** Changes the ledger's row in the same transaction: the next admission sees it. */
  updateAccount(account: Account, terms: AccountTerms, auditContext: AuditContext): Promise<void>;
  createKey(key: Key, secretHash: string, terms: KeyTerms, auditContext: AuditContext): Promise<void>;
  updateKey(key: Key, terms: KeyTerms, auditContext: AuditContext): Promise<void>;
  /** Stores keys that were disabled, in one transaction. */
  endKeys(ended: readonly EndedKey[], auditContext: AuditContext): Promise<void>;
  /** Gives the key a new secret. Existing secrets work until `graceEndsAtMs`, or until they expire. */
  rotateKey(key: Key, secretHash: string, graceEndsAtMs: number, auditContext: AuditContext): Promise<void>;
}

/** A row, and what it is sorted by: a name in lower case (A to Z), an amount or a time. */
export interface SortedRow {
  id: number;
  value: string | number;
}

/** A page of a list by something else than the order of creation. */
export interface SortedPage<By extends string> {
  by: By;
  order: 'asc' | 'desc';
  /** Cursor: the last row seen. */
  after: SortedRow | null;
  limit: number;
}

export const accountOrders = ['created', 'name', 'balance'] as const;
export const keyOrders = ['created', 'name', 'last_used'] as const;

export interface SortedAccounts extends SortedPage<(typeof accountOrders)[number]> {
  /** A part of the name, in lower case (A to Z). */
  name: string | null;
  group: string | null;
}

export const keyStatuses = ['enabled', 'disabled', 'expired', 'revoked'] as const;

export interface SortedKeys extends SortedPage<(typeof keyOrders)[number]>, Pick<KeyPage, 'accountId' | 'madeBy'> {
  /** In lower case (A to Z): a part of the name, the shown part of the secret, a tag "name:value", or the name of the account. */
  text: string | null;
  /** The status at a time. */
  status: { is: (typeof keyStatuses)[number]; atMs: number } | null;
}

export interface KeyPage {
  accountId: number | null;
  /** Only keys of this actor (see isKeyOf); null: all. */
  madeBy: string | null;
  /** Cursor: the id of the last key seen. */
  after: number | null;
  limit: number;
}

/**
 * The caller's groups, in the order in which they are searched for a model: the key's own, else those of the plan and all of the
 * account's. Groups that the account no longer has are left out. `plan`: that of the account, unless it has ended.
 */
export function groupsOf(caller: Caller, plan: CallerPlan | null): readonly string[] {
  const ofAccount = groupsWithin(caller, plan);
  const ofKey = caller.key.groups;
  if (ofKey === null) return ofAccount;
  return ofKey.every((group) => ofAccount.includes(group)) ? ofKey : ofKey.filter((group) => ofAccount.includes(group));
}

/** The plan, unless it has ended. */
export function planAt<Plan extends { endsAtMs: number | null }>(plan: Plan | null, nowMs: number): Plan | null {
  return plan === null || (plan.endsAtMs !== null && nowMs >= plan.endsAtMs) ? null : plan;
}

/**
 * The groups of an account's keys. An account that pays from the one above has none that the payer, or an account between them, does
 * not have. `plan`: that of the payer, unless it has ended.
 */
export function groupsWithin(
  { account, above }: Pick<Caller, 'account' | 'above'>,
  plan: Pick<CallerPlan, 'groups'> | null,
): readonly string[] {
  const ofAccount = groupsUnder(account.groups, plan);
  if (account.paysFrom !== 'parent' || above.length === 0) return ofAccount;
  let allowed = ofAccount;
  for (const one of above) {
    const ofOne = groupsUnder(one.groups, plan);
    allowed = allowed.filter((group) => ofOne.includes(group));
    if (one.paysFrom !== 'parent') break;
  }
  return allowed;
}

/** The groups of an account that has this plan: those that the plan pays for come first. */
export function groupsUnder(groups: readonly string[], plan: Pick<CallerPlan, 'groups'> | null): readonly string[] {
  const ofPlan = plan?.groups ?? null;
  return ofPlan === null ? groups : [...ofPlan, ...groups.filter((group) => !ofPlan.includes(group))];
}
