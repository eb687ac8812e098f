// The statements that write rows of other modules. Their texts keep to what SQLite and PostgreSQL both understand, with $1, $2 …
// for the values. Stored answers and what is dropped by age are each database's own; changes are told in PostgreSQL alone.

import type { AlongsideRow } from './alongside.ts';

export interface AlongsideStatement {
  text: string;
  values: (string | number | null)[];
  /** Why its bundle is refused when it changes no row; absent where that is as it should be. */
  refusal?: string;
}

type Rehash = Extract<AlongsideRow, { rehash: unknown }>;
type Dropping = Extract<AlongsideRow, { forget: unknown } | { carry: unknown }>;
export type WrittenRow = Exclude<AlongsideRow, Dropping | { table: 'answers' | 'changes' }>;
type RowOf<Table extends WrittenRow['table']> = Exclude<Extract<WrittenRow, { table: Table }>, Rehash>;

/** What writes one row, in this order. */
export function alongsideStatements(row: WrittenRow): AlongsideStatement[] {
  if ('rehash' in row) return [writeHash(row)];
  switch (row.table) {
    case 'accounts':
      return [writeAccount(row)];
    case 'keys':
      return [writeKey(row)];
    case 'key_secrets':
      return writeKeySecret(row);
    case 'tokens':
      return [writeToken(row)];
    case 'people':
      return [writePerson(row)];
    case 'catalog':
      return [writeCatalog(row)];
    case 'installation':
      return [writeInstallation(row)];
    case 'learned':
      return [writeLearned(row)];
    case 'audit_records':
      return [writeAudit(row)];
    case 'creations':
      return writeCreation(row);
  }
}

function writeAccount({ account }: RowOf<'accounts'>): AlongsideStatement {
  return {
    text: `INSERT INTO accounts (id, created_at_ms, document) VALUES ($1, $2, $3)
       ON CONFLICT (id) DO UPDATE SET document = excluded.document`,
    values: [account.id, account.createdAtMs, JSON.stringify(account)],
  };
}

function writeKey({ key }: RowOf<'keys'>): AlongsideStatement {
  return {
    text: `INSERT INTO keys (id, account_id, made_by, created_at_ms, document) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (id) DO UPDATE SET document = excluded.document`,
    values: [key.id, key.accountId, key.madeBy, key.createdAtMs, JSON.stringify(key)],
  };
}

/** The secrets that the key has already keep an end that is sooner. */
function writeKeySecret({ keyId, secretHash, othersEndAtMs }: RowOf<'key_secrets'>): AlongsideStatement[] {
  const insert = {
    text: 'INSERT INTO key_secrets (secret_hash, key_id, expires_at_ms) VALUES ($1, $2, NULL)',
    values: [secretHash, keyId],
  };
  if (othersEndAtMs === null) return [insert];
  const text = `UPDATE key_secrets SET expires_at_ms = $2
       WHERE key_id = $1 AND (expires_at_ms IS NULL OR expires_at_ms > $2)`;
  return [{ text, values: [keyId, othersEndAtMs] }, insert];
}

/** A token's secret is written once; later changes leave its hash as it is. */
function writeToken({ token, secretHash }: RowOf<'tokens'>): AlongsideStatement {
  const document = JSON.stringify(token);
  if (secretHash === null)
    return { text: 'UPDATE tokens SET document = $2 WHERE id = $1', values: [token.id, document] };
  return {
    text: 'INSERT INTO tokens (id, account_id, secret_hash, created_at_ms, document) VALUES ($1, $2, $3, $4, $5)',
    values: [token.id, token.accountId, secretHash, token.createdAtMs, document],
  };
}

/** A person's account and time are written once. A new one has a link, or is known to have none. */
function writePerson({ person, link }: RowOf<'people'>): AlongsideStatement {
  const { id, email, role, status } = person;
  const document = JSON.stringify(person);
  if (link === 'as it is')
    return {
      text: 'UPDATE people SET email = $2, role = $3, status = $4, document = $5 WHERE id = $1',
      values: [id, email, role, status, document],
    };
  return {
    text: `INSERT INTO people (id, account_id, email, link_hash, role, status, created_at_ms, document)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
       ON CONFLICT (id) DO UPDATE SET email = excluded.email, link_hash = excluded.link_hash, role = excluded.role,
         status = excluded.status, document = excluded.document`,
    values: [id, person.accountId, email, link.hash, role, status, person.createdAtMs, document],
  };
}

function writeHash({ table, rehash }: Rehash): AlongsideStatement {
  return {
    text: `UPDATE ${table} SET secret_hash = $2
     WHERE secret_hash = $1 AND NOT EXISTS (SELECT 1 FROM ${table} WHERE secret_hash = $2)`,
    values: [rehash.from, rehash.to],
  };
}

function writeCatalog(row: RowOf<'catalog'>): AlongsideStatement {
  if ('remove' in row)
    return { text: 'DELETE FROM catalog WHERE kind = $1 AND name = $2', values: [row.remove.kind, row.remove.name] };
  const { kind, name, origin, document } = row.put;
  return {
    text: `INSERT INTO catalog (kind, name, origin, document) VALUES ($1, $2, $3, $4)
       ON CONFLICT (kind, name) DO UPDATE SET origin = excluded.origin, document = excluded.document`,
    values: [kind, name, origin, JSON.stringify(document)],
  };
}

function writeInstallation({ name, value, replaces }: RowOf<'installation'>): AlongsideStatement {
  if (replaces === null)
    return { text: 'INSERT INTO installation (name, value) VALUES ($1, $2)', values: [name, value] };
  return {
    text: 'UPDATE installation SET value = $2 WHERE name = $1 AND value = $3',
    values: [name, value, replaces],
    refusal: `the value of "${name}" is not the one that was to be replaced`,
  };
}

function writeLearned({ model, document }: RowOf<'learned'>): AlongsideStatement {
  return {
    text: `INSERT INTO learned (model, document) VALUES ($1, $2)
       ON CONFLICT (model) DO UPDATE SET document = excluded.document`,
    values: [model, JSON.stringify(document)],
  };
}

function writeAudit({ record }: RowOf<'audit_records'>): AlongsideStatement {
  const { actor } = record;
  return {
    text: `INSERT INTO audit_records (at_ms, actor, role, address, request_id, action, object, account_id, before, after)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    values: [
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
    ],
  };
}

function writeCreation(row: RowOf<'creations'>): AlongsideStatement[] {
  if ('resealed' in row) {
    const { principal, idempotencyKey, secretSealed } = row.resealed;
    const text = 'UPDATE creations SET secret_sealed = $3 WHERE principal = $1 AND idempotency_key = $2';
    return [{ text, values: [principal, idempotencyKey, secretSealed] }];
  }
  const { creation, forgetUntilMs } = row;
  return [
    { text: 'DELETE FROM creations WHERE at_ms <= $1', values: [forgetUntilMs] },
    {
      text: `INSERT INTO creations (principal, idempotency_key, at_ms, request_hash, object, secret_sealed)
     VALUES ($1, $2, $3, $4, $5, $6)`,
      values: [
        creation.principal,
        creation.idempotencyKey,
        creation.atMs,
        creation.requestHash,
        creation.object,
        creation.secretSealed,
      ],
    },
  ];
}
