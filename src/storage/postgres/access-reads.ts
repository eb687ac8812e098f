// Reads of who may do what: keys by their secrets, accounts, keys, tokens, people; and what was
// remembered of creations. Each is one row or one page, by index.

import type {
  AccessToken,
  Account,
  AccountStore,
  Key,
  Person,
  PersonStore,
  TokenStore,
} from '../../accounts/accounts.ts';
import type { AuditStore, RememberedCreation } from '../../audit/audit.ts';
import type { Reader, ReadValue } from './read-pool.ts';

type AccessReads = Pick<
  AccountStore,
  'findKeyBySecretHash' | 'getAccount' | 'listAccounts' | 'getKey' | 'listKeys' | 'countKeys'
> &
  Pick<TokenStore, 'findTokenBySecretHash' | 'getToken' | 'listTokens' | 'countTokens'> &
  Omit<PersonStore, 'createPerson' | 'updatePerson'> &
  Pick<AuditStore, 'findCreation' | 'listSealedCreations'>;

export function accessReads(reader: Reader): AccessReads {
  return {
    ...accountReads(reader),
    ...keyReads(reader),
    ...tokenReads(reader),
    ...personReads(reader),
    ...creationReads(reader),
  };
}

function accountReads(reader: Reader): Pick<AccessReads, 'getAccount' | 'listAccounts'> {
  const { one, many } = documentsOf<Account>(reader);
  return {
    getAccount: (id) => one('SELECT document FROM accounts WHERE id = $1', id),
    listAccounts: ({ after, limit }) => many(inOrder('accounts'), after ?? 0, limit),
  };
}

const KEY_BY_HASH = `
  SELECT k.document AS key, a.document AS account, s.expires_at_ms::float8 AS expires_at_ms FROM key_secrets s
  JOIN keys k ON k.id = s.key_id JOIN accounts a ON a.id = k.account_id WHERE s.secret_hash IN ($1, $2)`;

function keyReads(reader: Reader): Pick<AccessReads, 'findKeyBySecretHash' | 'getKey' | 'listKeys' | 'countKeys'> {
  const { one, many } = documentsOf<Key>(reader);
  return {
    async findKeyBySecretHash(secretHash, otherHash = secretHash) {
      type Row = { key: string; account: string; expires_at_ms: number | null };
      const [row] = await reader.read<Row>(KEY_BY_HASH, secretHash, otherHash);
      if (row === undefined) return null;
      return {
        key: JSON.parse(row.key) as Key,
        account: JSON.parse(row.account) as Account,
        secretExpiresAtMs: row.expires_at_ms,
      };
    },
    getKey: (id) => one('SELECT document FROM keys WHERE id = $1', id),
    countKeys: (accountId) => countOf(reader, 'keys', accountId),
    async listKeys({ accountId, madeBy, after, limit }) {
      const page = [after ?? 0, limit] as const;
      if (madeBy !== null && accountId !== null)
        return many(inOrder('keys', 'made_by', 'account_id = $4 AND'), ...page, madeBy, accountId);
      if (madeBy !== null) return many(inOrder('keys', 'made_by'), ...page, madeBy);
      return accountId === null
        ? many(inOrder('keys'), ...page)
        : many(inOrder('keys', 'account_id'), ...page, accountId);
    },
  };
}

function tokenReads(
  reader: Reader,
): Pick<AccessReads, 'findTokenBySecretHash' | 'getToken' | 'listTokens' | 'countTokens'> {
  const { one, many } = documentsOf<AccessToken>(reader);
  return {
    findTokenBySecretHash: (secretHash, otherHash = secretHash) =>
      one('SELECT document FROM tokens WHERE secret_hash IN ($1, $2)', secretHash, otherHash),
    getToken: (id) => one('SELECT document FROM tokens WHERE id = $1', id),
    countTokens: (accountId) => countOf(reader, 'tokens', accountId),
    listTokens: ({ accountId, after, limit }) =>
      accountId === null
        ? many(inOrder('tokens'), after ?? 0, limit)
        : many(inOrder('tokens', 'account_id'), after ?? 0, limit, accountId),
  };
}

function personReads(reader: Reader): Omit<PersonStore, 'createPerson' | 'updatePerson'> {
  const { one, many } = documentsOf<Person>(reader);
  const inRole = 'SELECT count(*)::float8 AS count FROM people WHERE role = $1 AND status = $2';
  return {
    findPersonByEmail: (email) => one('SELECT document FROM people WHERE email = $1', email),
    findPersonByLinkHash: (linkHash) => one('SELECT document FROM people WHERE link_hash = $1', linkHash),
    getPerson: (id) => one('SELECT document FROM people WHERE id = $1', id),
    countPeople: (accountId) => countOf(reader, 'people', accountId),
    async countInRole(role, status) {
      const [row] = await reader.read<{ count: number }>(inRole, role, status);
      return row?.count ?? 0;
    },
    listPeople: ({ accountId, after, limit }) =>
      accountId === null
        ? many(inOrder('people'), after ?? 0, limit)
        : many(inOrder('people', 'account_id'), after ?? 0, limit, accountId),
  };
}

const CREATIONS = `
  SELECT r.principal, r.idempotency_key AS "idempotencyKey", r.at_ms::float8 AS "atMs", r.request_hash AS "requestHash",
    r.object, r.secret_sealed AS "secretSealed" FROM creations r`;

function creationReads(reader: Reader): Pick<AccessReads, 'findCreation' | 'listSealedCreations'> {
  const byName = `${CREATIONS} WHERE r.principal = $1 AND r.idempotency_key = $2`;
  return {
    async findCreation(principal, idempotencyKey) {
      const [row] = await reader.read<RememberedCreation>(byName, principal, idempotencyKey);
      return row ?? null;
    },
    listSealedCreations: () => reader.read<RememberedCreation>(`${CREATIONS} WHERE r.secret_sealed IS NOT NULL`),
  };
}

/**
 * A page in the order of creation; the last one seen is found by its id ($1), and $2 is the most. `narrowed` is a column
 * that must be $3: it stands in the order, so that only the index that begins with it has that order.
 */
function inOrder(
  table: 'accounts' | 'keys' | 'tokens' | 'people',
  narrowed?: 'account_id' | 'made_by',
  where = '',
): string {
  const last = `COALESCE((SELECT l.created_at_ms FROM ${table} l WHERE l.id = $1), -1), $1`;
  const [column, value, upTo] =
    narrowed === undefined ? ['', '', ''] : [`r.${narrowed}, `, '$3, ', `r.${narrowed} <= $3 AND`];
  return `SELECT r.document FROM ${table} r
    WHERE ${where} ${upTo} ROW(${column}r.created_at_ms, r.id) > ROW(${value}${last})
    ORDER BY ${column}r.created_at_ms, r.id LIMIT $2`;
}

async function countOf(reader: Reader, table: 'keys' | 'tokens' | 'people', accountId: number): Promise<number> {
  const text = `SELECT count(*)::float8 AS count FROM ${table} WHERE account_id = $1`;
  const [row] = await reader.read<{ count: number }>(text, accountId);
  return row?.count ?? 0;
}

/** Reads of what stands in a table as a document. */
function documentsOf<Value>(reader: Reader) {
  const many = async (text: string, ...values: readonly ReadValue[]) => {
    const rows = await reader.read<{ document: string }>(text, ...values);
    return rows.map((row) => JSON.parse(row.document) as Value);
  };
  return {
    many,
    one: async (text: string, ...values: readonly ReadValue[]) => (await many(text, ...values))[0] ?? null,
  };
}
