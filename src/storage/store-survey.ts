// What an operator is told of a store at rest or in use, and the texts that count and find it: the same for every database but for
// how a member of a document is written.

import { formatId } from '../base/ids.ts';
import type { CatalogDocument } from '../catalog/catalog.ts';

const LISTED_MAX = 100;

/** How many keys and tokens that still open something are hashed under one secret of the installation. */
export interface HashedUnder {
  /** The first characters of the proof of that secret. */
  secretId: string;
  keys: number;
  tokens: number;
}

/** A key or token whose secret is hashed under a given secret of the installation. */
export interface Dependent {
  id: string;
  name: string;
  /** Of a key; null for a token, and before its first use. */
  lastUsedAtMs: number | null;
}

export interface StoreSurvey {
  /** The proof of the secret that the installation is under; null before its first start was done. */
  proof: string | null;
  accounts: number;
  /** Enabled keys of enabled accounts that have not expired. */
  usableKeys: number;
  /** The newest time in journal, usage and audit; null where there is none. */
  newestAtMs: number | null;
  hashedUnder: HashedUnder[];
  /** Accounts in a group that there is not, a hundred at most. */
  lostGroups: { account: string; name: string; group: string }[];
  documents: CatalogDocument[];
}

/** How a database writes a member of the document of a row: `alias.document`. */
export interface DocumentSyntax {
  text(alias: string, member: string): string;
  number(alias: string, member: string): string;
  /** A table of the texts in a list, under that alias, as `value`. */
  listed(alias: string, member: string, as: string): string;
}

export interface SurveyRows {
  proof: { value: string }[];
  counts: { accounts: number; usable_keys: number; newest_at_ms: number | null }[];
  hashedUnder: { secret_id: string; keys: number; tokens: number }[];
  lostGroups: { id: number; name: string; group_name: string }[];
  documents: { document: string }[];
}

export interface DependentRow {
  id: number;
  name: string;
  last_used_at_ms: number | null;
}

export const PROOF = "SELECT value FROM installation WHERE name = 'secret_proof'";

/** The texts, in which whole numbers come as floating ones; $1 is the time, $2 what a hash must begin with. */
export function surveyTexts(of: DocumentSyntax) {
  const number = (expression: string) => `CAST(${expression} AS double precision)`;
  const isUnexpired = (alias: string) =>
    `(${of.number(alias, 'expiresAtMs')} IS NULL OR ${of.number(alias, 'expiresAtMs')} > $1)`;
  // A disabled key may be enabled again, so it counts; a revoked or expired one opens nothing ever again.
  const isLiveKeySecret = `${of.text('k', 'status')} <> 'revoked' AND ${isUnexpired('k')}
    AND (s.expires_at_ms IS NULL OR s.expires_at_ms > $1)`;
  const isLiveToken = `${of.text('t', 'status')} = 'enabled' AND ${isUnexpired('t')}`;
  return {
    counts: `
      SELECT ${number('(SELECT COUNT(*) FROM accounts)')} AS accounts,
        (SELECT ${number('COUNT(*)')} FROM keys k JOIN accounts a ON a.id = k.account_id
          WHERE ${of.text('k', 'status')} = 'enabled' AND ${of.text('a', 'status')} = 'enabled'
            AND ${isUnexpired('k')}) AS usable_keys,
        (SELECT ${number('MAX(newest.at_ms)')} FROM (
          SELECT MAX(at_ms) AS at_ms FROM usage_records
          UNION ALL SELECT last.at_ms FROM (SELECT at_ms FROM entries ORDER BY seq DESC LIMIT 1) last
          UNION ALL SELECT MAX(at_ms) FROM audit_records) newest) AS newest_at_ms`,
    hashedUnder: `
      SELECT secret_id, ${number('SUM(keys)')} AS keys, ${number('SUM(tokens)')} AS tokens FROM (
        SELECT substr(s.secret_hash, 1, 8) AS secret_id, COUNT(DISTINCT s.key_id) AS keys, 0 AS tokens
        FROM key_secrets s JOIN keys k ON k.id = s.key_id WHERE ${isLiveKeySecret} GROUP BY 1
        UNION ALL
        SELECT substr(t.secret_hash, 1, 8), 0, COUNT(*) FROM tokens t WHERE ${isLiveToken} GROUP BY 1) counted
      GROUP BY secret_id ORDER BY secret_id`,
    lostGroups: `
      SELECT ${number('a.id')} AS id, ${of.text('a', 'name')} AS name, g.value AS group_name
      FROM accounts a, ${of.listed('a', 'groups', 'g')}
      WHERE NOT EXISTS (SELECT 1 FROM catalog c WHERE c.kind = 'group' AND c.name = g.value)
      ORDER BY a.created_at_ms, a.id LIMIT ${LISTED_MAX}`,
    documents: 'SELECT kind, name, origin, document FROM catalog ORDER BY kind, name',
    keysUnder: `
      SELECT ${number('k.id')} AS id, ${of.text('k', 'name')} AS name, ${number('m.last_used_at_ms')} AS last_used_at_ms
      FROM key_secrets s JOIN keys k ON k.id = s.key_id LEFT JOIN key_meters m ON m.id = k.id
      WHERE ${isLiveKeySecret} AND substr(s.secret_hash, 1, 8) = $2
      ORDER BY k.created_at_ms, k.id LIMIT ${LISTED_MAX}`,
    tokensUnder: `
      SELECT ${number('t.id')} AS id, ${of.text('t', 'name')} AS name, NULL AS last_used_at_ms FROM tokens t
      WHERE ${isLiveToken} AND substr(t.secret_hash, 1, 8) = $2
      ORDER BY t.created_at_ms, t.id LIMIT ${LISTED_MAX}`,
  };
}

export function describeSurvey(rows: SurveyRows): StoreSurvey {
  const [counts] = rows.counts;
  return {
    proof: rows.proof[0]?.value ?? null,
    accounts: counts?.accounts ?? 0,
    usableKeys: counts?.usable_keys ?? 0,
    newestAtMs: counts?.newest_at_ms ?? null,
    hashedUnder: rows.hashedUnder.map(({ secret_id: secretId, keys, tokens }) => ({ secretId, keys, tokens })),
    lostGroups: rows.lostGroups.map((row) => ({
      account: formatId('acct', row.id),
      name: row.name,
      group: row.group_name,
    })),
    documents: rows.documents.map((row) => ({ ...row, document: JSON.parse(row.document) })) as CatalogDocument[],
  };
}

export function describeDependents(kind: 'key' | 'tok', rows: readonly DependentRow[]): Dependent[] {
  return rows.map((row) => ({ id: formatId(kind, row.id), name: row.name, lastUsedAtMs: row.last_used_at_ms }));
}
