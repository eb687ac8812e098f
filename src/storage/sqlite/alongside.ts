// Writes rows of other modules within the ledger's transaction.

import type { Database } from 'bun:sqlite';
import type { AlongsideRow } from '../alongside.ts';
import { prepareText } from './statements.ts';

/** Writes one row in the transaction that is open. Throws what SQLite throws. */
export function writeAlongside(database: Database, untyped: unknown): void {
  const row = untyped as AlongsideRow;
  if (row.table === 'accounts') {
    const { account } = row;
    prepareText(
      database,
      `INSERT INTO accounts (id, created_at_ms, document) VALUES ($1, $2, $3)
         ON CONFLICT (id) DO UPDATE SET document = excluded.document`,
    ).run(account.id, account.createdAtMs, JSON.stringify(account));
  } else if (row.table === 'keys') {
    writeKey(database, row);
  } else if (row.table === 'installation') {
    prepareText(database, 'INSERT INTO installation (name, value) VALUES ($1, $2)').run(row.name, row.value);
  } else if ('put' in row) {
    const { kind, name, origin, document } = row.put;
    prepareText(
      database,
      `INSERT INTO catalog (kind, name, origin, document) VALUES ($1, $2, $3, $4)
         ON CONFLICT (kind, name) DO UPDATE SET origin = excluded.origin, document = excluded.document`,
    ).run(kind, name, origin, JSON.stringify(document));
  } else {
    prepareText(database, 'DELETE FROM catalog WHERE kind = $1 AND name = $2').run(row.remove.kind, row.remove.name);
  }
}

/** A key's secret is written once; later changes leave its hash as it is. */
function writeKey(database: Database, { key, secretHash }: Extract<AlongsideRow, { table: 'keys' }>): void {
  const document = JSON.stringify(key);
  if (secretHash === null) {
    prepareText(database, 'UPDATE keys SET document = $2 WHERE id = $1').run(key.id, document);
    return;
  }
  prepareText(
    database,
    'INSERT INTO keys (id, account_id, secret_hash, created_at_ms, document) VALUES ($1, $2, $3, $4, $5)',
  ).run(key.id, key.accountId, secretHash, key.createdAtMs, document);
}
