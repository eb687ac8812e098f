// The first round trip of a batch: locks its accounts and reads the rows that the decision needs. Nothing is cached
// between batches.

import { integerOf } from '../../base/checked-number.ts';
import { bounds } from '../../config/config.ts';
import type {
  AccountRow,
  Bundle,
  Chain,
  Ending,
  HoldRow,
  IdempotencyRow,
  KeyRow,
  LeaseRow,
  Operation,
  PersonRow,
  Rows,
} from '../../ledger/ledger.ts';
import { type HoldsTable, readHold } from '../stored-hold.ts';
import {
  type AccountMetersTable,
  type ClaimsTable,
  type KeyMetersTable,
  type PersonMetersTable,
  readAccountRow,
  readIdempotencyRow,
  readKeyRow,
  readLeaseRow,
  readPersonRow,
  readUsageRecord,
  type UsageTable,
} from '../tables.ts';
import { arrayOf, earliestMonthOf } from './columns.ts';
import type { Answered, Connection, Statement } from './connection.ts';
import { type KnownChains, type MissingRows, withRows } from './known-chains.ts';
import * as statements from './statements.ts';

export interface LoadedRows {
  rows: Rows;
  /** The rows that exist; all others are new. */
  accounts: ReadonlyMap<number, AccountRow>;
  keys: ReadonlyMap<number, KeyRow>;
  people: ReadonlyMap<number, PersonRow>;
  holds: Iterable<Chain>;
  endings: Iterable<Chain>;
  leases: ReadonlyMap<string, LeaseRow>;
  /** The database's transaction number, by which the outcome can be looked up. */
  transaction: string;
}

type Table = Record<string, unknown>;

/** The statements that read the rows of a batch, and how to read their results. `nowMs` sets the time in tests; null: the database's clock. */
export function loadRows(
  needs: Needs,
  nowMs: number | null,
): { asked: Statement[]; read(answers: readonly Answered[]): LoadedRows } {
  const roundTrip = new Requester();
  const lockedLeases = roundTrip.askIf(needs.leases === 'lock', statements.LOCK_LEASES); // before accounts, here and everywhere
  const { accounts, keys } = askForPayers(roundTrip, needs);
  const people = roundTrip.unlessEmpty(needs.people, statements.READ_PEOPLE);
  const holds = roundTrip.unlessEmpty(needs.holds, statements.READ_HOLDS);
  const endings = roundTrip.unlessEmpty(needs.endings, statements.READ_ENDINGS, earliestMonth(needs.endings), nowMs);
  const claimValues = [arrayOf(needs.claims.map(({ key }) => key)), arrayOf(needs.claims.map(({ name }) => name))];
  const hasClaims = needs.claims.length > 0;
  const claims = roundTrip.askIf(hasClaims, statements.READ_CLAIMS, ...claimValues);
  const endingsOfClaims = roundTrip.askIf(hasClaims, statements.READ_ENDINGS_OF_CLAIMS, ...claimValues);
  const claimsOfHolds = roundTrip.unlessEmpty(needs.answered, statements.READ_CLAIMS_OF_HOLDS);
  const failedAttempts = roundTrip.unlessEmpty(needs.answered, statements.READ_FAILED_ATTEMPTS);
  const credits = roundTrip.askIf(
    needs.credits.length > 0,
    statements.READ_CREDITS,
    arrayOf(needs.credits.map(({ account }) => account)),
    arrayOf(needs.credits.map(({ reference }) => reference)),
  );
  const leases = lockedLeases ?? roundTrip.askIf(needs.leases === 'read', statements.READ_LEASES);
  const moment = roundTrip.askIf(true, statements.READ_MOMENT, nowMs);
  return {
    asked: roundTrip.asked,
    read(answers) {
      const of = <Row = Table>(at: number | null) => (at === null ? [] : answers[at]) as unknown as Row[];
      const [now] = of<{ now_ms: number; transaction: string }>(moment);
      const claimTables = of<ClaimsTable & Omit<HoldsTable, 'document'> & { document: string | null }>(claims);
      const held = [...of<HoldsTable>(holds), ...claimTables.filter(isOpen)].map(readHold);
      return rowsFrom({
        nowMs: now?.now_ms ?? 0,
        transaction: now?.transaction ?? '',
        accounts: of<AccountMetersTable>(accounts).map(readAccountRow),
        keys: of<KeyMetersTable>(keys).map(readKeyRow),
        people: of<PersonMetersTable>(people).map(readPersonRow),
        holds: held,
        endings: [endings, endingsOfClaims, failedAttempts].flatMap((at) => of<UsageTable>(at)).map(readEnding),
        claims: [...of<ClaimsTable>(claimsOfHolds), ...claimTables].map(readIdempotencyRow),
        credits: of<CreditTable>(credits),
        leases: of<Parameters<typeof readLeaseRow>[0]>(leases).map(readLeaseRow),
      });
    },
  };
}

/** Statements of one round trip, identified by position. */
class Requester {
  readonly asked: Statement[] = [];

  askIf(isAsked: boolean, text: string, ...values: Statement['values']): number | null {
    return isAsked ? this.asked.push({ text, values }) - 1 : null;
  }

  unlessEmpty(named: readonly (number | string)[], text: string, ...values: Statement['values']): number | null {
    return this.askIf(named.length > 0, text, arrayOf(named), ...values);
  }
}

/** Accounts first, all at once: they are locked in id order. */
function askForPayers(roundTrip: Requester, { accounts, keys, strays }: Needs) {
  if (strays.length === 0)
    return {
      accounts: roundTrip.unlessEmpty(accounts, statements.LOCK_ACCOUNTS),
      keys: roundTrip.unlessEmpty(keys, statements.READ_KEYS),
    };
  const messages = [arrayOf(strays), earliestMonth(strays)];
  return {
    accounts: roundTrip.askIf(true, statements.LOCK_ACCOUNTS_OF_STRAYS, arrayOf(accounts), ...messages),
    keys: roundTrip.askIf(true, statements.READ_KEYS_OF_STRAYS, arrayOf(keys), ...messages),
  };
}

interface CreditTable {
  account_id: number;
  reference: string;
  change: number;
}

interface FoundRows {
  nowMs: number;
  transaction: string;
  accounts: AccountRow[];
  keys: KeyRow[];
  people: PersonRow[];
  holds: HoldRow[];
  endings: Ending[];
  claims: IdempotencyRow[];
  credits: CreditTable[];
  leases: LeaseRow[];
}

function rowsFrom(found: FoundRows): LoadedRows {
  const accounts = new Map(found.accounts.map((row) => [row.id, row]));
  const keys = new Map(found.keys.map((row) => [row.id, row]));
  const people = new Map(found.people.map((row) => [row.id, row]));
  const holds = new Map(found.holds.map((row) => [row.requestId, row]));
  const endings = new Map(found.endings.map((ending) => [ending.record.requestId, ending]));
  const claims = new Map(found.claims.map((row) => [`${row.key} ${row.name}`, row]));
  const credits = new Map(found.credits.map((row) => [`${row.account_id} ${row.reference}`, row.change]));
  const leases = new Map(found.leases.map((row) => [row.node, row]));
  const rows: Rows = {
    nowMs: found.nowMs,
    account: (id) => accounts.get(id),
    key: (id) => keys.get(id),
    person: (id) => people.get(id),
    hold: (requestId) => holds.get(requestId),
    ending: (requestId) => endings.get(requestId),
    creditedAmount: (account, reference) => credits.get(`${account} ${reference}`) ?? null,
    claim: (key, name) => claims.get(`${key} ${name}`),
    lease: (node) => leases.get(node),
    leases: () => leases.values(),
    holds: () => holds.values(),
  };
  return {
    rows,
    accounts,
    keys,
    people,
    holds: found.holds,
    endings: found.endings.map(({ record }) => record),
    leases,
    transaction: found.transaction,
  };
}

function isOpen<Row extends { document: string | null }>(row: Row): row is Row & { document: string } {
  return row.document !== null;
}

function readEnding(row: UsageTable): Ending {
  const { seq: _, ...record } = readUsageRecord(row);
  return { record, endedBy: row.ended_by };
}

/** The earliest month in which one of the messages can have ended. */
function earliestMonth(requestIds: readonly string[]): number {
  return requestIds.reduce((earliest, requestId) => Math.min(earliest, earliestMonthOf(requestId)), 999_999);
}

export interface Needs {
  /** In id order, the order of locking. */
  accounts: number[];
  keys: number[];
  people: number[];
  /** Messages whose holds, and messages whose records are needed. */
  holds: string[];
  endings: string[];
  /** Messages known only by id: their accounts and keys are needed too. */
  strays: string[];
  /** Messages that end with an answer: their idempotency records are needed. */
  answered: string[];
  claims: { key: number; name: string }[];
  credits: { account: number; reference: string }[];
  /** `lock`: some are changed. */
  leases: 'none' | 'read' | 'lock';
  /** Whether holds of nodes with an expired lease are loaded, too. */
  expires: boolean;
  /** Holds that are not among them, although their leases have expired. */
  spared: string[];
  /** Nodes whose lease the batch releases or acquires again: their holds are loaded, too. */
  moved: string[];
  /** Operations that other nodes are notified of. */
  told: Operation[];
}

const TOLD: ReadonlySet<Operation['kind']> = new Set([
  'credit',
  'plan-payment',
  'refund',
  'set-account',
  'set-key',
  'set-person',
  'set-plan',
  'change-plan',
]);

export function readNeeds(bundles: readonly Bundle[]): Needs {
  const found = new CollectedNeeds();
  for (const { operations } of bundles) for (const operation of operations) addNeeds(found, operation);
  const { accounts, keys, people, holds, endings, strays, answered, ...rest } = found;
  return {
    accounts: [...accounts].sort((one, other) => one - other),
    keys: [...keys],
    people: [...people],
    holds: [...holds],
    endings: [...endings],
    strays: [...strays],
    answered: [...answered],
    ...rest,
  };
}

class CollectedNeeds {
  readonly accounts = new Set<number>();
  readonly keys = new Set<number>();
  readonly people = new Set<number>();
  readonly holds = new Set<string>();
  readonly endings = new Set<string>();
  readonly strays = new Set<string>();
  readonly answered = new Set<string>();
  readonly claims: Needs['claims'] = [];
  readonly credits: Needs['credits'] = [];
  leases: Needs['leases'] = 'none';
  expires = false;
  readonly spared: Needs['spared'] = [];
  readonly moved: Needs['moved'] = [];
  readonly told: Operation[] = [];
}

function addNeeds(found: CollectedNeeds, operation: Operation): void {
  if (TOLD.has(operation.kind)) found.told.push(operation);
  if ('reserve' in operation && operation.reserve !== undefined) found.holds.add(operation.reserve); // of the same key
  switch (operation.kind) {
    case 'admit':
      if (found.leases === 'none') found.leases = 'read';
      found.holds.add(operation.requestId);
      found.endings.add(operation.requestId);
      if (operation.claim !== undefined) found.claims.push({ key: operation.key, name: operation.claim.name });
      addPayer(found, operation);
      break;
    case 'settle':
    case 'release':
      found.holds.add(operation.requestId);
      found.endings.add(operation.requestId);
      if (operation.kind === 'settle' && operation.isAnswer === true) found.answered.add(operation.requestId);
      addPayer(found, operation.record);
      break;
    case 'extend':
    case 'leave':
    case 'give-back':
      found.holds.add(operation.requestId);
      if (operation.kind === 'extend' && operation.checkpoint !== null) addPayer(found, operation.checkpoint);
      else found.strays.add(operation.requestId);
      break;
    case 'refund':
      found.endings.add(operation.requestId);
      found.strays.add(operation.requestId);
      break;
    case 'credit':
    case 'plan-payment':
      found.accounts.add(operation.account);
      if (operation.reference !== null)
        found.credits.push({ account: operation.account, reference: operation.reference });
      break;
    case 'set-account':
    case 'set-plan':
    case 'change-plan':
      if (operation.kind === 'set-account' && operation.terms.company?.parent != null)
        found.accounts.add(operation.terms.company.parent);
      found.accounts.add(operation.account);
      break;
    case 'set-person':
      found.accounts.add(operation.account);
      found.people.add(operation.person);
      break;
    case 'set-key':
      if (typeof operation.terms.person === 'number') found.people.add(operation.terms.person);
      addPayer(found, operation);
      break;
    case 'reserve':
    case 'take':
      if (operation.kind === 'reserve') found.holds.add(operation.requestId);
      addPayer(found, operation);
      break;
    case 'renew':
      found.leases = 'lock';
      if (operation.epoch === null || operation.leaseMs <= 0) found.moved.push(operation.node);
      break;
    case 'expire':
      found.leases = 'lock';
      found.expires = true;
      found.spared.push(...(operation.except ?? []));
      for (const requestId of operation.lost ?? []) {
        found.holds.add(requestId);
        found.strays.add(requestId);
      }
      break;
  }
}

function addPayer(found: CollectedNeeds, { account, key }: { account: number; key: number }): void {
  found.accounts.add(account);
  found.keys.add(key);
}

/** From then on a transaction waits only briefly for locks. */
export const BRIEF_LOCKS: Statement = { text: `SET LOCAL lock_timeout = ${bounds.lockedTryMsMax}`, values: [] };

/**
 * The first account that a bundle needs and others have locked, of those that a batch needs; null if there is none. Runs
 * outside a transaction.
 */
export async function findLocked(
  connection: Connection,
  needs: Needs,
  chains: KnownChains,
): Promise<((bundle: Bundle) => number | null) | null> {
  const { holds, endings, claims } = needs;
  const { asked, read } = loadRows({ ...readNeeds([]), holds, endings, claims }, null);
  const { rows } = read(await connection.ask(...asked));
  const accountsOf = (named: Needs) => chains.fill(withRows(named, rowsOfMessages(named, rows))).accounts;
  const locked = new Set(accountsOf(needs));
  const [free = []] = await connection.ask({ text: statements.LOCK_FREE_ACCOUNTS, values: [arrayOf([...locked])] });
  for (const row of free) locked.delete(integerOf(row['id']));
  if (locked.size === 0) return null;
  return (bundle) => accountsOf(readNeeds([bundle])).find((id) => locked.has(id)) ?? null;
}

/** The rows from which the messages of a batch took when they were admitted. */
function rowsOfMessages({ holds, endings, claims }: Needs, rows: Rows): MissingRows {
  const claimed = claims.map(({ key, name }) => rows.claim(key, name)?.requestId ?? '');
  const began = [...holds, ...claimed].map((requestId) => rows.hold(requestId));
  const ended = [...endings, ...claimed].map((requestId) => rows.ending(requestId)?.record);
  const messages = [...began, ...ended].filter((message) => message !== undefined);
  return {
    accounts: messages.flatMap(({ account, above }) => [account, ...above]),
    people: messages.flatMap(({ person }) => person ?? []),
  };
}
