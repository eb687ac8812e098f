// A survey of a store for operators, with the SQL that counts. The same for both databases, except how a member of a
// document is written.

import { formatId } from '../base/ids.ts';
import type { CatalogDocument } from '../catalog/catalog.ts';
import { type CatalogTable, readCatalogRow } from './stored-documents.ts';

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

/** How a database writes a member of a row's document: `alias.document`. */
export interface DocumentSyntax {
  text(alias: string, member: string): string;
  /** A table of the texts in a list, with the given alias, as `value`. */
  listed(alias: string, member: string, as: string): string;
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
export const INSTALLATION = 'SELECT name, value FROM installation';

/** The statements; integers are returned as floating-point numbers. $1 is the time. */
export function surveyTexts(of: DocumentSyntax) {
  const number = (expression: string) => `CAST(${expression} AS double precision)`;
  return {
    counts: `
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
    lostGroups: `
      SELECT ${number('a.id')} AS id, ${of.text('a', 'name')} AS name, g.value AS group_name
      FROM accounts a, ${of.listed('a', 'groups', 'g')}
      WHERE NOT EXISTS (SELECT 1 FROM catalog c WHERE c.kind = 'group' AND c.name = g.value)
      ORDER BY a.created_at_ms, a.id LIMIT ${LISTED_MAX}`,
    documents: 'SELECT kind, name, origin, document FROM catalog ORDER BY kind, name',
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
