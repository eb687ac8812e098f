// Finds forbidden changes of the store after a request, whatever its response: rows of another account, keys of
// others, a scope wider than that of the principal.

import { isDeepStrictEqual } from 'node:util';
import type { AccessToken, Account, Key, Person, SavedView } from '../../../../src/accounts/accounts.ts';
import type { AgentGrant } from '../../../../src/agents/agents.ts';
import type { AuditRecord, RememberedCreation } from '../../../../src/audit/audit.ts';
import { formatId } from '../../../../src/base/ids.ts';
import type { Batch } from '../../../../src/batches/batches.ts';
import type { Delivery, Destination } from '../../../../src/delivery/delivery.ts';
import type { StoredEvent } from '../../../../src/events/events.ts';
import type { ExportRun, ExportSchedule } from '../../../../src/exports/exports.ts';
import type { AccountRow, MonthChange, NewEntry, PersonRow } from '../../../../src/ledger/ledger.ts';
import type { CodeBatch, StoredCode } from '../../../../src/payments/payments.ts';
import type { RowChange } from './tables.ts';
import { groupsOf, type Principal, type World } from './world.ts';

/** The tables in which users of an account may change rows. */
const open = [
  'keys',
  'keyMeters',
  'keySecrets',
  'personMeters',
  'tokens',
  'people',
  'audit',
  'creations',
  'accountMeters',
  'personMeters',
  'entries',
  'monthChanges',
  'accounts',
  'codes',
  'codeBatches',
  'events',
  'mails',
  'payments',
  'billing',
  'destinations',
  'batches',
  'deliveries',
  'agentGrants',
  'exports',
  'exportRuns',
  'savedViews',
];

export function scopeFaults(world: World, principal: Principal, changes: readonly RowChange[]): string[] {
  const faults = changes.flatMap((change) => trailFaults(principal, change));
  if (changes.length > 0 && !changes.some(({ table }) => table === 'audit')) faults.push('leaves no audit record');
  if (principal.account === null) return faults;
  return [...faults, ...changes.flatMap((change) => accountFaults(world, principal, change))];
}

/** Users of an account may change only its automatic recharge; owners also the place, groups and status of accounts below. */
function recordFaults(
  world: World,
  principal: Principal,
  before: Account | undefined,
  after: Account,
  own: (account: number) => boolean,
): string[] {
  if (!own(after.id) || (before !== undefined && !own(before.id))) return ['changes another account'];
  const isOwn = formatId('acct', after.id) === world.accountIds[principal.account ?? 'alpha'];
  if (!isOwn && principal.role === 'owner') {
    if (after.parentId == null || !own(after.parentId)) return ['places an account elsewhere'];
    if (after.paysFrom !== (before?.paysFrom ?? 'parent')) return ['changes who pays'];
    const allowed = [...groupsOf[principal.account ?? 'alpha'], ...(before?.groups ?? [])];
    return after.groups.every((group) => allowed.includes(group)) ? [] : ['gives an account more groups'];
  }
  const { autoRecharge: _, ...rest } = before ?? after;
  const { autoRecharge: __, ...restAfter } = after;
  return before !== undefined && isDeepStrictEqual(rest, restAfter) ? [] : ['changes its account'];
}

/** Every change is recorded with its author. */
function trailFaults(principal: Principal, { table, before, after }: RowChange): string[] {
  if (table === 'creations') {
    const { principal: of } = after as RememberedCreation;
    return before === undefined && of === principal.id ? [] : ['stores a creation for another principal'];
  }
  if (table !== 'audit') return [];
  if (before !== undefined) return ['changes the audit log'];
  const { actor } = after as AuditRecord;
  return actor.id === principal.id && actor.role === principal.role ? [] : [`is in the audit as ${actor.id}`];
}

function accountFaults(world: World, principal: Principal, change: RowChange): string[] {
  const { table } = change;
  if (!open.includes(table)) return [`changes ${table}`];
  const { accounts, exports } = world.installation.stores.tables;
  const own = (account: number | null): boolean => {
    if (account === null) return false;
    if (formatId('acct', account) === world.accountIds[principal.account ?? 'alpha']) return true;
    return principal.role === 'owner' && own(accounts.get(account)?.parentId ?? null);
  };
  if (
    table === 'batches' ||
    table === 'destinations' ||
    table === 'deliveries' ||
    table === 'agentGrants' ||
    table === 'exports'
  )
    return own((change.after as Batch | Destination | Delivery | AgentGrant | ExportSchedule).accountId)
      ? []
      : [`changes ${table} of another account`];
  if (table === 'savedViews') {
    const { owner, accountId } = (change.after ?? change.before) as SavedView;
    return owner === principal.id && own(accountId) ? [] : ['changes a view of another'];
  }
  if (table === 'exportRuns') {
    const { exportId } = change.after as ExportRun;
    return own(exports.get(exportId)?.accountId ?? null) ? [] : ['runs an export of another account'];
  }
  if (table === 'events')
    return own((change.after as StoredEvent).account) ? [] : ['reports an event of another account'];
  if (table === 'audit')
    return own((change.after as AuditRecord).account) ? [] : ['writes into the audit log of another account'];
  const isBelowOwn = ({ after }: RowChange) => {
    const { id } = after as AccountRow;
    return own(id) && formatId('acct', id) !== world.accountIds[principal.account ?? 'alpha'];
  };
  if (table === 'personMeters')
    return own((change.after as PersonRow).account) && principal.role === 'owner' ? [] : ['changes a budget'];
  if (table === 'accounts')
    return recordFaults(world, principal, change.before as Account, change.after as Account, own);
  if (table === 'accountMeters' && principal.role === 'owner' && isWithoutMoney(change) && isBelowOwn(change))
    return [];
  if (table === 'payments' || table === 'billing') {
    const { accountId } = (change.after ?? change.before) as { accountId: number };
    return own(accountId) ? [] : [`changes the ${table} of another account`];
  }
  if (table === 'keys') return keyFaults(principal, change.before as Key, change.after as Key, own);
  if (table === 'tokens') return tokenFaults(principal, tokenOf(change.before), tokenOf(change.after), own);
  if (table === 'people') return personFaults(principal, personOf(change.before), personOf(change.after), own);
  if (table === 'keySecrets' || table === 'keyMeters') return keyPartFaults(world, principal, change, own);
  return redemptionFaults(principal, change, own);
}

/** Owners change money only by a code, which becomes theirs. */
function redemptionFaults(
  { role }: Principal,
  { table, before, after }: RowChange,
  own: (account: number | null) => boolean,
): string[] {
  const isOwn = {
    accountMeters: () => own((after as AccountRow).id) && (hasMore(before, after) || hasOtherWishes(before, after)),
    entries: () => own((after as NewEntry).account) && (after as NewEntry).reference?.startsWith('code:') === true,
    monthChanges: () => own((after as MonthChange).account),
    codes: () => own((after as StoredCode).redemption?.account ?? null) && (before as StoredCode).redemption === null,
    codeBatches: () => isSame({ ...(before as CodeBatch), redeemed: (after as CodeBatch).redeemed }, after as object),
  }[table as string];
  if (isOwn === undefined) return [];
  return isOwn() && role === 'owner' ? [] : [`changes ${table} other than by a code of its own`];
}

function keyFaults(
  principal: Principal,
  before: Key | undefined,
  after: Key | undefined,
  own: (account: number | null) => boolean,
): string[] {
  if (after === undefined) return ['deletes a key'];
  const allowed: readonly string[] = groupsOf[principal.account ?? 'alpha'];
  return [
    ...(own(after.accountId) && own((before ?? after).accountId) ? [] : ["changes another account's key"]),
    ...(before === undefined || before.madeBy === after.madeBy ? [] : ['changes the creator of a key']),
    ...(before !== undefined || after.madeBy === principal.id ? [] : ['creates a key in the name of another']),
    ...(principal.role !== 'member' || after.madeBy === principal.id ? [] : ["changes another member's key"]),
    ...((after.groups ?? []).every((group) => allowed.includes(group))
      ? []
      : ['removes the group restriction of a key']),
    ...(before?.status === 'revoked' && after.status !== 'revoked' ? ['reactivates a revoked key'] : []),
  ];
}

function tokenFaults(
  principal: Principal,
  before: AccessToken | undefined,
  after: AccessToken | undefined,
  own: (account: number | null) => boolean,
): string[] {
  if (after === undefined) return ['deletes a token'];
  if (!own(after.accountId) || !own((before ?? after).accountId)) return ["changes another account's token"];
  if (principal.role !== 'owner') return ['changes a token'];
  if (before !== undefined)
    return isSame({ ...before, status: 'revoked' }, after) ? [] : ['changes more of a token than its revocation'];
  const endsMs = principal.expiresAt === null ? Infinity : Date.parse(principal.expiresAt);
  return [
    ...(after.role === 'owner' || after.role === 'member' ? [] : [`makes a token of the role ${after.role}`]),
    ...(after.madeBy === principal.id ? [] : ['creates a token in the name of another']),
    ...((after.expiresAtMs ?? Infinity) <= endsMs ? [] : ['creates a token that expires later than its own']),
  ];
}

function personFaults(
  principal: Principal,
  before: Person | undefined,
  after: Person | undefined,
  own: (account: number | null) => boolean,
): string[] {
  if (after === undefined) return ['deletes a person'];
  if (!own(after.accountId) || !own((before ?? after).accountId)) return ["changes another account's person"];
  if (principal.role !== 'owner') return ['changes a person'];
  return [
    ...(after.role === 'owner' || after.role === 'member' ? [] : [`makes somebody ${after.role}`]),
    ...((before ?? after).email === after.email ? [] : ['changes an email']),
    ...(before === undefined || before.madeBy === after.madeBy ? [] : ['changes who invited a person']),
    ...(before !== undefined || after.madeBy === principal.id ? [] : ['invites in the name of another']),
  ];
}

/** The secret and the meters of a key belong to the owner of the key. */
function keyPartFaults(
  { installation }: World,
  principal: Principal,
  { before, after }: RowChange,
  own: (account: number | null) => boolean,
): string[] {
  const part = (after ?? before) as { keyId?: number; id?: number };
  const key = installation.stores.tables.keys.get(part.keyId ?? part.id ?? 0);
  if (key === undefined || !own(key.accountId)) return ["changes a secret or the meters of another account's key"];
  return principal.role !== 'member' || key.madeBy === principal.id ? [] : ["changes another member's key"];
}

function hasMore(before: unknown, after: unknown): boolean {
  return (after as AccountRow).balance > (before as AccountRow).balance;
}

/** Neither the balance nor what it may be below zero has changed, nor whose balance pays. */
function isWithoutMoney({ before, after }: RowChange): boolean {
  const row = after as AccountRow;
  const { balance, creditLine, debt, plan, company } = (before as AccountRow | undefined) ?? {
    ...{ balance: 0, creditLine: 0, debt: 0, plan: null },
    company: { paysFrom: 'parent' },
  };
  return (
    row.balance === balance &&
    row.creditLine === creditLine &&
    row.debt === debt &&
    isDeepStrictEqual(row.plan?.name, plan?.name) &&
    row.company.paysFrom === company.paysFrom
  );
}

/** Nothing has changed but the thresholds of notices and whether the wallet pays beyond the plan. */
function hasOtherWishes(before: unknown, after: unknown): boolean {
  const { plan, ...row } = before as AccountRow;
  const { plan: planAfter, lowBalances, company } = after as AccountRow;
  const overflow = planAfter?.overflow ?? false;
  const { personBudget, warnsAt } = company;
  const companyAfter = { ...row.company, personBudget, warnsAt };
  return isSame({ ...row, lowBalances, company: companyAfter, plan: plan && { ...plan, overflow } }, after as object);
}

function tokenOf(row: unknown): AccessToken | undefined {
  return (row as { token: AccessToken } | undefined)?.token;
}

function personOf(row: unknown): Person | undefined {
  return (row as { person: Person } | undefined)?.person;
}

function isSame(one: object, other: object): boolean {
  return Bun.deepEquals(one, other);
}
