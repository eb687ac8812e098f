// A survey of a store for operators, with the SQL that counts. The same for both databases, except how a document is read.

import { integerOf } from '../base/checked-number.ts';
import { formatId } from '../base/ids.ts';
import type { CatalogDocument } from '../catalog/catalog.ts';
import type { HoldRow, LeaseRow } from '../ledger/ledger.ts';
import type { ReadValue } from './sql-reader.ts';
import { type CatalogTable, readCatalogRow } from './stored-documents.ts';
import { type HoldsTable, readHold } from './stored-hold.ts';
import { holdColumns, leaseColumns, namesOf, readLeaseRow } from './tables.ts';

/** A statement for each list of rows. Parameters are numbered $1, $2 … */
export type Statements<Rows> = { readonly [Name in keyof Rows]: readonly [text: string, ...values: ReadValue[]] };

const LISTED_MAX = 100;

export interface StoreSurvey {
  /** The proof of the current installation secret; null before the first start was completed. */
  proof: string | null;
  /** A start of this version stored the keys of former hashes. */
  hasFormerHashKeys: boolean;
  accounts: number;
  /** Enabled keys of enabled accounts that have not expired. */
  usableKeys: number;
  /** The newest time in journal, usage and audit log; null if there is none. */
  newestAtMs: number | null;
  /** When the last payment was begun, and the last event of the payment provider was handled; null: never. */
  lastPaymentAtMs: number | null;
  lastPaymentEventAtMs: number | null;
  /** Accounts in a group that does not exist, a hundred at most. */
  lostGroups: { account: string; name: string; group: string }[];
  documents: CatalogDocument[];
}

/** How a database writes what the statements need. */
export interface SurveySyntax {
  /** The JSON document `a.document`. */
  document: string;
  /** A table `g` of the texts in its list `groups`, as `value`. */
  groups: string;
}

export interface SurveyRows {
  installation: { name: string; value: string }[];
  counts: {
    accounts: number;
    usable_keys: number;
    newest_at_ms: number | null;
    payment_at_ms: number | null;
    payment_event_at_ms: number | null;
  }[];
  lostGroups: { id: number; name: string; group_name: string }[];
  documents: CatalogTable[];
}

export const PROOF = "SELECT value FROM installation WHERE name = 'secret_proof'";

/** Integers are returned as floating-point numbers. */
export function surveyStatements({ document, groups }: SurveySyntax, nowMs: number): Statements<SurveyRows> {
  const number = (expression: string) => `CAST(${expression} AS double precision)`;
  return {
    installation: ['SELECT name, value FROM installation'],
    counts: [
      `
      SELECT ${number('(SELECT COUNT(*) FROM accounts)')} AS accounts,
        (SELECT ${number('COUNT(*)')} FROM key_meters k JOIN account_meters a ON a.id = k.account_id
          WHERE k.status = 'enabled' AND a.enabled = 1
            AND (k.expires_at_ms IS NULL OR k.expires_at_ms > $1)) AS usable_keys,
        (SELECT ${number('MAX(created_at_ms)')} FROM payments) AS payment_at_ms,
        (SELECT ${number('MAX(at_ms)')} FROM payment_events) AS payment_event_at_ms,
        (SELECT ${number('MAX(newest.at_ms)')} FROM (
          SELECT MAX(at_ms) AS at_ms FROM usage_records
          UNION ALL SELECT last.at_ms FROM (SELECT at_ms FROM entries ORDER BY seq DESC LIMIT 1) last
          UNION ALL SELECT MAX(at_ms) FROM audit_records) newest) AS newest_at_ms`,
      nowMs,
    ],
    lostGroups: [
      `
      SELECT ${number('a.id')} AS id, ${document} ->> 'name' AS name, g.value AS group_name
      FROM accounts a, ${groups}
      WHERE NOT EXISTS (SELECT 1 FROM catalog c WHERE c.kind = 'group' AND c.name = g.value)
      ORDER BY a.created_at_ms, a.id LIMIT ${LISTED_MAX}`,
    ],
    documents: ['SELECT kind, name, origin, document FROM catalog ORDER BY kind, name'],
  };
}

export function describeSurvey(rows: SurveyRows): StoreSurvey {
  const [counts] = rows.counts;
  return {
    proof: rows.installation.find(({ name }) => name === 'secret_proof')?.value ?? null,
    hasFormerHashKeys: rows.installation.some(({ name }) => name === 'former_hash_keys'),
    accounts: counts?.accounts ?? 0,
    usableKeys: counts?.usable_keys ?? 0,
    newestAtMs: counts?.newest_at_ms ?? null,
    lastPaymentAtMs: counts?.payment_at_ms ?? null,
    lastPaymentEventAtMs: counts?.payment_event_at_ms ?? null,
    lostGroups: rows.lostGroups.map((row) => ({
      account: formatId('acct', row.id),
      name: row.name,
      group: row.group_name,
    })),
    documents: rows.documents.map(readCatalogRow),
  };
}

/** Which node each open hold belongs to, which nodes are alive, and the settings as JSON, by which messages end. */
export interface HoldsOfNodes {
  holds: HoldRow[];
  leases: LeaseRow[];
  settings: string | null;
}

interface NodeRows {
  holds: HoldsTable[];
  leases: Parameters<typeof readLeaseRow>[0][];
  settings: { document: string }[];
}

export const HOLDS = `SELECT ${namesOf(holdColumns)} FROM holds`;

export const nodeStatements: Statements<NodeRows> = {
  holds: [HOLDS],
  leases: [`SELECT ${namesOf(leaseColumns)} FROM leases`],
  settings: ["SELECT document FROM catalog WHERE kind = 'settings'"],
};

export function describeNodes({ holds, leases, settings }: NodeRows): HoldsOfNodes {
  return {
    holds: holds.map((row) =>
      readHold({
        ...row,
        account_id: integerOf(row.account_id),
        key_id: integerOf(row.key_id),
        amount: integerOf(row.amount),
      }),
    ),
    leases: leases.map((row) =>
      readLeaseRow({ ...row, epoch: integerOf(row.epoch), expires_at_ms: integerOf(row.expires_at_ms) }),
    ),
    settings: settings[0]?.document ?? null,
  };
}
