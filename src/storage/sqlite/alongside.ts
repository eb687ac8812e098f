// Writes rows of other modules within the ledger's transaction.

import type { Database } from 'bun:sqlite';
import type { AlongsideRow } from '../alongside.ts';
import { writeAnswer } from './answers.ts';
import { carryEntries } from './carry-entries.ts';
import { forgetRows } from './forget-rows.ts';
import { prepareText } from './statements.ts';

type Rehash = Extract<AlongsideRow, { rehash: unknown }>;
type Dropping = Extract<AlongsideRow, { forget: unknown } | { carry: unknown }>;
type RowOf<Table extends AlongsideRow['table']> = Exclude<Extract<AlongsideRow, { table: Table }>, Rehash | Dropping>;

/** Writes one row in the transaction that is open. Throws what SQLite throws. */
export function writeAlongside(database: Database, untyped: unknown): void {
  const row = untyped as AlongsideRow;
  if ('rehash' in row) {
    writeHash(database, row);
    return;
  }
  if ('forget' in row) {
    forgetRows(database, row.table, row.forget.beforeMs);
    return;
  }
  if ('carry' in row) {
    carryEntries(database, row.carry.account, row.carry.beforeMs);
    return;
  }
  switch (row.table) {
    case 'accounts':
      writeAccount(database, row);
      break;
    case 'keys':
      writeKey(database, row);
      break;
    case 'key_secrets':
      writeKeySecret(database, row);
      break;
    case 'tokens':
      writeToken(database, row);
      break;
    case 'catalog':
      writeCatalog(database, row);
      break;
    case 'installation':
      writeInstallation(database, row);
      break;
    case 'learned':
      writeLearned(database, row);
      break;
    case 'answers':
      writeAnswer(database, row.answer);
      break;
    case 'audit_records':
      writeAudit(database, row);
      break;
    case 'creations':
      writeCreation(database, row);
      break;
  }
}

function writeAccount(database: Database, { account }: RowOf<'accounts'>): void {
  prepareText(
    database,
    `INSERT INTO accounts (id, created_at_ms, document) VALUES ($1, $2, $3)
       ON CONFLICT (id) DO UPDATE SET document = excluded.document`,
  ).run(account.id, account.createdAtMs, JSON.stringify(account));
}

function writeKey(database: Database, { key }: RowOf<'keys'>): void {
  prepareText(
    database,
    `INSERT INTO keys (id, account_id, made_by, created_at_ms, document) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (id) DO UPDATE SET document = excluded.document`,
  ).run(key.id, key.accountId, key.madeBy, key.createdAtMs, JSON.stringify(key));
}

/** The secrets that the key has already keep an end that is sooner. */
function writeKeySecret(database: Database, { keyId, secretHash, othersEndAtMs }: RowOf<'key_secrets'>): void {
  if (othersEndAtMs !== null)
    prepareText(
      database,
      `UPDATE key_secrets SET expires_at_ms = $2
       WHERE key_id = $1 AND (expires_at_ms IS NULL OR expires_at_ms > $2)`,
    ).run(keyId, othersEndAtMs);
  prepareText(database, 'INSERT INTO key_secrets (secret_hash, key_id, expires_at_ms) VALUES ($1, $2, NULL)').run(
    secretHash,
    keyId,
  );
}

/** A token's secret is written once; later changes leave its hash as it is. */
function writeToken(database: Database, { token, secretHash }: RowOf<'tokens'>): void {
  const document = JSON.stringify(token);
  if (secretHash === null) {
    prepareText(database, 'UPDATE tokens SET document = $2 WHERE id = $1').run(token.id, document);
    return;
  }
  prepareText(
    database,
    'INSERT INTO tokens (id, account_id, secret_hash, created_at_ms, document) VALUES ($1, $2, $3, $4, $5)',
  ).run(token.id, token.accountId, secretHash, token.createdAtMs, document);
}

function writeHash(database: Database, { table, rehash }: Rehash): void {
  prepareText(
    database,
    `UPDATE ${table} SET secret_hash = $2
     WHERE secret_hash = $1 AND NOT EXISTS (SELECT 1 FROM ${table} WHERE secret_hash = $2)`,
  ).run(rehash.from, rehash.to);
}

function writeCatalog(database: Database, row: RowOf<'catalog'>): void {
  if ('remove' in row) {
    prepareText(database, 'DELETE FROM catalog WHERE kind = $1 AND name = $2').run(row.remove.kind, row.remove.name);
    return;
  }
  const { kind, name, origin, document } = row.put;
  prepareText(
    database,
    `INSERT INTO catalog (kind, name, origin, document) VALUES ($1, $2, $3, $4)
       ON CONFLICT (kind, name) DO UPDATE SET origin = excluded.origin, document = excluded.document`,
  ).run(kind, name, origin, JSON.stringify(document));
}

function writeInstallation(database: Database, { name, value, replaces }: RowOf<'installation'>): void {
  if (replaces === null) {
    prepareText(database, 'INSERT INTO installation (name, value) VALUES ($1, $2)').run(name, value);
    return;
  }
  const { changes } = prepareText(database, 'UPDATE installation SET value = $2 WHERE name = $1 AND value = $3').run(
    name,
    value,
    replaces,
  );
  if (changes !== 1) throw new Error(`the value of "${name}" is not the one that was to be replaced`);
}

function writeLearned(database: Database, { model, document }: RowOf<'learned'>): void {
  prepareText(
    database,
    `INSERT INTO learned (model, document) VALUES ($1, $2)
       ON CONFLICT (model) DO UPDATE SET document = excluded.document`,
  ).run(model, JSON.stringify(document));
}

function writeAudit(database: Database, { record }: RowOf<'audit_records'>): void {
  const { actor } = record;
  prepareText(
    database,
    `INSERT INTO audit_records (at_ms, actor, role, address, request_id, action, object, account_id, before, after)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
  ).run(
    record.atMs,
    actor.id,
    actor.role,
    actor.address,
    actor.requestId,
    record.action,
    record.object,
    record.account,
    record.before === null ? null : JSON.stringify(record.before),
    record.after === null ? null : JSON.stringify(record.after),
  );
}

function writeCreation(database: Database, row: RowOf<'creations'>): void {
  if ('resealed' in row) {
    const { principal, idempotencyKey, secretSealed } = row.resealed;
    prepareText(database, 'UPDATE creations SET secret_sealed = $3 WHERE principal = $1 AND idempotency_key = $2').run(
      principal,
      idempotencyKey,
      secretSealed,
    );
    return;
  }
  const { creation, forgetUntilMs } = row;
  prepareText(database, 'DELETE FROM creations WHERE at_ms <= $1').run(forgetUntilMs);
  prepareText(
    database,
    `INSERT INTO creations (principal, idempotency_key, at_ms, request_hash, object, secret_sealed)
     VALUES ($1, $2, $3, $4, $5, $6)`,
  ).run(
    creation.principal,
    creation.idempotencyKey,
    creation.atMs,
    creation.requestHash,
    creation.object,
    creation.secretSealed,
  );
}
