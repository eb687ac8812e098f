// The first round trip of a batch: locks its accounts and reads what it is decided by. Nothing is remembered between batches.

import type { AccountRow, ClaimRow, Ending, HoldRow, KeyRow, LeaseRow, Rows } from '../../ledger/ledger.ts';
import {
  type AccountMetersTable,
  type ClaimsTable,
  type KeyMetersTable,
  readAccountRow,
  readClaimRow,
  readHoldRow,
  readKeyRow,
  readLeaseRow,
  readUsageRecord,
  type UsageTable,
} from '../row-codec.ts';
import { arrayOf } from './columns.ts';
import type { Answered, Asked } from './connection.ts';
import type { Needs } from './needs.ts';
import * as statements from './statements.ts';
import { earliestMonthOf } from './usage-months.ts';

export interface LoadedRows {
  rows: Rows;
  /** Which rows stand already: the others are new. */
  accounts: ReadonlyMap<number, AccountRow>;
  keys: ReadonlyMap<number, KeyRow>;
  leases: ReadonlyMap<string, LeaseRow>;
  /** The number of the database's transaction, by which it knows what became of it. */
  transaction: string;
}

type Table = Record<string, unknown>;

/** What is asked for a batch, and how its rows are read from the answers. `nowMs`: a test's time; null: the database's. */
export function loadRows(
  needs: Needs,
  nowMs: number | null,
): { asked: Asked[]; read(answers: readonly Answered[]): LoadedRows } {
  const asking = new Asking();
  const lockedLeases = asking.askIf(needs.leases === 'lock', statements.LOCK_LEASES); // before accounts, here and everywhere
  const { accounts, keys } = askForPayers(asking, needs);
  const holds = asking.unlessEmpty(needs.holds, statements.READ_HOLDS);
  const endings = asking.unlessEmpty(needs.endings, statements.READ_ENDINGS, earliestMonth(needs.endings));
  const claimValues = [arrayOf(needs.claims.map(({ key }) => key)), arrayOf(needs.claims.map(({ name }) => name))];
  const hasClaims = needs.claims.length > 0;
  const claims = asking.askIf(hasClaims, statements.READ_CLAIMS, ...claimValues);
  const endingsOfClaims = asking.askIf(hasClaims, statements.READ_ENDINGS_OF_CLAIMS, ...claimValues);
  const claimsOfHolds = asking.unlessEmpty(needs.answered, statements.READ_CLAIMS_OF_HOLDS);
  const credits = asking.askIf(
    needs.credits.length > 0,
    statements.READ_CREDITS,
    arrayOf(needs.credits.map(({ account }) => account)),
    arrayOf(needs.credits.map(({ reference }) => reference)),
  );
  const leases = lockedLeases ?? asking.askIf(needs.leases === 'read', statements.READ_LEASES);
  const moment = asking.askIf(true, statements.READ_MOMENT, nowMs);
  return {
    asked: asking.asked,
    read(answers) {
      const of = <Row = Table>(at: number | null) => (at === null ? [] : answers[at]) as unknown as Row[];
      const [now] = of<{ now_ms: number; transaction: string }>(moment);
      const claimTables = of<ClaimsTable & { document: string | null }>(claims);
      const held = [...of<{ document: string }>(holds), ...claimTables.filter(isOpen)].map(readHoldRow);
      return rowsFrom({
        nowMs: now?.now_ms ?? 0,
        transaction: now?.transaction ?? '',
        accounts: of<AccountMetersTable>(accounts).map(readAccountRow),
        keys: of<KeyMetersTable>(keys).map(readKeyRow),
        holds: held,
        endings: [...of<UsageTable>(endings), ...of<UsageTable>(endingsOfClaims)].map(readEnding),
        claims: [...of<ClaimsTable>(claimsOfHolds), ...claimTables].map(readClaimRow),
        credits: of<CreditTable>(credits),
        leases: of<Parameters<typeof readLeaseRow>[0]>(leases).map(readLeaseRow),
      });
    },
  };
}

/** Statements that are asked together, each known by its place. */
class Asking {
  readonly asked: Asked[] = [];

  askIf(isAsked: boolean, text: string, ...values: Asked['values']): number | null {
    return isAsked ? this.asked.push({ text, values }) - 1 : null;
  }

  unlessEmpty(named: readonly (number | string)[], text: string, ...values: Asked['values']): number | null {
    return this.askIf(named.length > 0, text, arrayOf(named), ...values);
  }
}

/** Accounts first, and all at once: they are locked in the order of their ids. */
function askForPayers(asking: Asking, { accounts, keys, strays }: Needs) {
  if (strays.length === 0)
    return {
      accounts: asking.unlessEmpty(accounts, statements.LOCK_ACCOUNTS),
      keys: asking.unlessEmpty(keys, statements.READ_KEYS),
    };
  const messages = [arrayOf(strays), earliestMonth(strays)];
  return {
    accounts: asking.askIf(true, statements.LOCK_ACCOUNTS_OF_STRAYS, arrayOf(accounts), ...messages),
    keys: asking.askIf(true, statements.READ_KEYS_OF_STRAYS, arrayOf(keys), ...messages),
  };
}

interface CreditTable {
  account_id: number;
  reference: string;
  change: number;
}

interface Found {
  nowMs: number;
  transaction: string;
  accounts: AccountRow[];
  keys: KeyRow[];
  holds: HoldRow[];
  endings: Ending[];
  claims: ClaimRow[];
  credits: CreditTable[];
  leases: LeaseRow[];
}

function rowsFrom(found: Found): LoadedRows {
  const accounts = new Map(found.accounts.map((row) => [row.id, row]));
  const keys = new Map(found.keys.map((row) => [row.id, row]));
  const holds = new Map(found.holds.map((row) => [row.requestId, row]));
  const endings = new Map(found.endings.map((ending) => [ending.record.requestId, ending]));
  const claims = new Map(found.claims.map((row) => [`${row.key} ${row.name}`, row]));
  const credits = new Map(found.credits.map((row) => [`${row.account_id} ${row.reference}`, row.change]));
  const leases = new Map(found.leases.map((row) => [row.node, row]));
  const rows: Rows = {
    nowMs: found.nowMs,
    account: (id) => accounts.get(id),
    key: (id) => keys.get(id),
    hold: (requestId) => holds.get(requestId),
    ending: (requestId) => endings.get(requestId),
    creditedAmount: (account, reference) => credits.get(`${account} ${reference}`) ?? null,
    claim: (key, name) => claims.get(`${key} ${name}`),
    lease: (node) => leases.get(node),
    leases: () => leases.values(),
    holds: () => holds.values(),
  };
  return { rows, accounts, keys, leases, transaction: found.transaction };
}

function isOpen<Row extends { document: string | null }>(row: Row): row is Row & { document: string } {
  return row.document !== null;
}

function readEnding(row: UsageTable): Ending {
  const { seq: _, ...record } = readUsageRecord(row);
  return { record, endedBy: row.ended_by };
}

/** No message ends before it began: earlier months need not be looked at. */
function earliestMonth(requestIds: readonly string[]): number {
  return requestIds.reduce((earliest, requestId) => Math.min(earliest, earliestMonthOf(requestId)), 999_999);
}
