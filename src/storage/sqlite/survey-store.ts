// What an operator is told of a store at rest or in use: counts and names, in one consistent read, and
// nothing that takes long with many records.

import type { Database } from 'bun:sqlite';
import { formatId } from '../../base/ids.ts';
import type { CatalogDocument } from '../../catalog/catalog.ts';
import { openForReading } from './open-database.ts';
import { prepareText } from './statements.ts';

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

/** Surveys the database at `path`, with a server running on it or not. Throws what SQLite throws. */
export function surveyStore(path: string, nowMs: number): StoreSurvey {
  return withReader(path, (database) => survey(database, nowMs));
}

/** The proof of the secret that a database is under, whatever version its tables have; null without one. Throws what SQLite throws. */
export function readProof(path: string): string | null {
  return withReader(path, (database) => proofIn(database));
}

/** Keys and tokens hashed under a secret of the installation, a hundred of each at most. */
export function listDependents(
  path: string,
  secretId: string,
  nowMs: number,
): { keys: Dependent[]; tokens: Dependent[] } {
  return withReader(path, (database) => {
    const list = (kind: 'key' | 'tok', text: string) =>
      (
        prepareText(database, text).all(nowMs, secretId) as {
          id: number;
          name: string;
          last_used_at_ms: number | null;
        }[]
      ).map((row) => ({ id: formatId(kind, row.id), name: row.name, lastUsedAtMs: row.last_used_at_ms }));
    return { keys: list('key', KEYS_UNDER), tokens: list('tok', TOKENS_UNDER) };
  });
}

function withReader<Value>(path: string, read: (database: Database) => Value): Value {
  const database = openForReading(path);
  try {
    return database.transaction(() => read(database))();
  } finally {
    database.close();
  }
}

function proofIn(database: Database): string | null {
  const row = prepareText(database, "SELECT value FROM installation WHERE name = 'secret_proof'").get();
  return (row as { value: string } | null)?.value ?? null;
}

function survey(database: Database, nowMs: number): StoreSurvey {
  const one = <Row>(text: string, ...values: number[]) => prepareText(database, text).get(...values) as Row;
  const all = <Row>(text: string, ...values: number[]) => prepareText(database, text).all(...values) as Row[];
  const documents = all<{ document: string }>('SELECT kind, name, origin, document FROM catalog ORDER BY kind, name');
  return {
    proof: proofIn(database),
    accounts: one<{ count: number }>('SELECT COUNT(*) AS count FROM accounts').count,
    usableKeys: one<{ count: number }>(USABLE_KEYS, nowMs).count,
    newestAtMs: one<{ at_ms: number | null }>(NEWEST).at_ms,
    hashedUnder: all<{ secret_id: string; keys: number; tokens: number }>(HASHED_UNDER, nowMs).map(
      ({ secret_id: secretId, keys, tokens }) => ({ secretId, keys, tokens }),
    ),
    lostGroups: all<{ id: number; name: string; group_name: string }>(LOST_GROUPS).map((row) => ({
      account: formatId('acct', row.id),
      name: row.name,
      group: row.group_name,
    })),
    documents: documents.map((row) => ({ ...row, document: JSON.parse(row.document) })) as CatalogDocument[],
  };
}

const UNEXPIRED_KEY = `
  (json_extract(k.document, '$.expiresAtMs') IS NULL OR json_extract(k.document, '$.expiresAtMs') > $1)`;

const USABLE_KEYS = `
  SELECT COUNT(*) AS count FROM keys k JOIN accounts a ON a.id = k.account_id
  WHERE json_extract(k.document, '$.status') = 'enabled' AND json_extract(a.document, '$.status') = 'enabled'
    AND ${UNEXPIRED_KEY}`;

const NEWEST = `
  SELECT MAX(at_ms) AS at_ms FROM (
    SELECT MAX(at_ms) AS at_ms FROM usage_records
    UNION ALL SELECT * FROM (SELECT at_ms FROM entries ORDER BY seq DESC LIMIT 1)
    UNION ALL SELECT MAX(at_ms) FROM audit_records)`;

// A disabled key may be enabled again, so it counts; a revoked or expired one opens nothing ever again.
const LIVE_KEY_SECRETS = `
  key_secrets s JOIN keys k ON k.id = s.key_id
  WHERE json_extract(k.document, '$.status') <> 'revoked' AND ${UNEXPIRED_KEY}
    AND (s.expires_at_ms IS NULL OR s.expires_at_ms > $1)`;

const LIVE_TOKENS = `
  tokens t WHERE json_extract(t.document, '$.status') = 'enabled'
    AND (json_extract(t.document, '$.expiresAtMs') IS NULL OR json_extract(t.document, '$.expiresAtMs') > $1)`;

const HASHED_UNDER = `
  SELECT secret_id, SUM(keys) AS keys, SUM(tokens) AS tokens FROM (
    SELECT substr(s.secret_hash, 1, 8) AS secret_id, COUNT(DISTINCT s.key_id) AS keys, 0 AS tokens
    FROM ${LIVE_KEY_SECRETS} GROUP BY 1
    UNION ALL
    SELECT substr(t.secret_hash, 1, 8), 0, COUNT(*) FROM ${LIVE_TOKENS} GROUP BY 1)
  GROUP BY secret_id ORDER BY secret_id`;

const KEYS_UNDER = `
  SELECT k.id, json_extract(k.document, '$.name') AS name, m.last_used_at_ms
  FROM ${LIVE_KEY_SECRETS.replace('WHERE', 'LEFT JOIN key_meters m ON m.id = k.id WHERE')}
    AND substr(s.secret_hash, 1, 8) = $2
  ORDER BY k.created_at_ms, k.id LIMIT ${LISTED_MAX}`;

const TOKENS_UNDER = `
  SELECT t.id, json_extract(t.document, '$.name') AS name, NULL AS last_used_at_ms FROM ${LIVE_TOKENS}
    AND substr(t.secret_hash, 1, 8) = $2
  ORDER BY t.created_at_ms, t.id LIMIT ${LISTED_MAX}`;

const LOST_GROUPS = `
  SELECT a.id, json_extract(a.document, '$.name') AS name, g.value AS group_name
  FROM accounts a, json_each(a.document, '$.groups') g
  WHERE NOT EXISTS (SELECT 1 FROM catalog c WHERE c.kind = 'group' AND c.name = g.value)
  ORDER BY a.created_at_ms, a.id LIMIT ${LISTED_MAX}`;
