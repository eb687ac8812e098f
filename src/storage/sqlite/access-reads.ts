// Reads of who may do what: keys by their secrets, accounts, keys, tokens, people; and what was
// remembered of creations. Each is one row or one page, by index.

import type { Database, Statement } from 'bun:sqlite';
import type {
  AccessToken,
  Account,
  AccountStore,
  Key,
  KeyPage,
  Person,
  PersonStore,
  TokenStore,
} from '../../accounts/accounts.ts';
import type { AuditStore, RememberedCreation } from '../../audit/audit.ts';
import { prepareText } from './statements.ts';

type AccessReads = Pick<
  AccountStore,
  'findKeyBySecretHash' | 'getAccount' | 'listAccounts' | 'getKey' | 'listKeys' | 'countKeys'
> &
  Pick<TokenStore, 'findTokenBySecretHash' | 'getToken' | 'listTokens' | 'countTokens'> &
  Omit<PersonStore, 'createPerson' | 'updatePerson'> &
  Pick<AuditStore, 'findCreation' | 'listSealedCreations'>;

export function accessReads(database: Database): AccessReads {
  return {
    ...accountReads(database),
    ...keyReads(database),
    ...tokenReads(database),
    ...personReads(database),
    ...creationReads(database),
  };
}

function accountReads(database: Database): Pick<AccessReads, 'getAccount' | 'listAccounts'> {
  const account = prepareText(database, 'SELECT document FROM accounts WHERE id = $1');
  const accounts = listInOrder(database, 'accounts', '');
  return {
    async getAccount(id) {
      return readDocument<Account>(account.get(id));
    },
    async listAccounts(page) {
      return readDocuments<Account>(accounts.all(page.after ?? 0, page.limit));
    },
  };
}

function keyReads(database: Database): Pick<AccessReads, 'findKeyBySecretHash' | 'getKey' | 'listKeys' | 'countKeys'> {
  const keyByHash = prepareText(
    database,
    `SELECT k.document AS key, a.document AS account, s.expires_at_ms FROM key_secrets s
     JOIN keys k ON k.id = s.key_id JOIN accounts a ON a.id = k.account_id WHERE s.secret_hash IN ($1, $2)`,
  );
  const key = prepareText(database, 'SELECT document FROM keys WHERE id = $1');
  const all = listInOrder(database, 'keys', '');
  const ofAccount = listInOrder(database, 'keys', 'account_id = $3 AND ');
  const ofMaker = listInOrder(database, 'keys', 'made_by = $3 AND ($4 IS NULL OR account_id = $4) AND ');
  const list = ({ accountId, madeBy, after, limit }: KeyPage) => {
    if (madeBy !== null) return ofMaker.all(after ?? 0, limit, madeBy, accountId);
    return accountId === null ? all.all(after ?? 0, limit) : ofAccount.all(after ?? 0, limit, accountId);
  };
  const count = prepareText(database, 'SELECT COUNT(*) AS count FROM keys WHERE account_id = $1');
  return {
    async findKeyBySecretHash(secretHash, otherHash = secretHash) {
      const row = keyByHash.get(secretHash, otherHash) as {
        key: string;
        account: string;
        expires_at_ms: number | null;
      } | null;
      if (row === null) return null;
      return {
        key: JSON.parse(row.key) as Key,
        account: JSON.parse(row.account) as Account,
        secretExpiresAtMs: row.expires_at_ms,
      };
    },
    async getKey(id) {
      return readDocument<Key>(key.get(id));
    },
    async countKeys(accountId) {
      return (count.get(accountId) as { count: number }).count;
    },
    async listKeys(page) {
      return readDocuments<Key>(list(page));
    },
  };
}

function tokenReads(
  database: Database,
): Pick<AccessReads, 'findTokenBySecretHash' | 'getToken' | 'listTokens' | 'countTokens'> {
  const byHash = prepareText(database, 'SELECT document FROM tokens WHERE secret_hash IN ($1, $2)');
  const token = prepareText(database, 'SELECT document FROM tokens WHERE id = $1');
  const all = listInOrder(database, 'tokens', '');
  const ofAccount = listInOrder(database, 'tokens', 'account_id = $3 AND ');
  const count = prepareText(database, 'SELECT COUNT(*) AS count FROM tokens WHERE account_id = $1');
  return {
    async findTokenBySecretHash(secretHash, otherHash = secretHash) {
      return readDocument<AccessToken>(byHash.get(secretHash, otherHash));
    },
    async getToken(id) {
      return readDocument<AccessToken>(token.get(id));
    },
    async countTokens(accountId) {
      return (count.get(accountId) as { count: number }).count;
    },
    async listTokens({ accountId, after, limit }) {
      return readDocuments<AccessToken>(
        accountId === null ? all.all(after ?? 0, limit) : ofAccount.all(after ?? 0, limit, accountId),
      );
    },
  };
}

function personReads(database: Database): Omit<PersonStore, 'createPerson' | 'updatePerson'> {
  const byEmail = prepareText(database, 'SELECT document FROM people WHERE email = $1');
  const byLink = prepareText(database, 'SELECT document FROM people WHERE link_hash = $1');
  const person = prepareText(database, 'SELECT document FROM people WHERE id = $1');
  const all = listInOrder(database, 'people', '');
  const ofAccount = listInOrder(database, 'people', 'account_id = $3 AND ');
  const count = prepareText(database, 'SELECT COUNT(*) AS count FROM people WHERE account_id = $1');
  const inRole = prepareText(database, 'SELECT COUNT(*) AS count FROM people WHERE role = $1 AND status = $2');
  return {
    findPersonByEmail: async (email) => readDocument<Person>(byEmail.get(email)),
    findPersonByLinkHash: async (linkHash) => readDocument<Person>(byLink.get(linkHash)),
    getPerson: async (id) => readDocument<Person>(person.get(id)),
    countPeople: async (accountId) => (count.get(accountId) as { count: number }).count,
    countInRole: async (role, status) => (inRole.get(role, status) as { count: number }).count,
    async listPeople({ accountId, after, limit }) {
      return readDocuments<Person>(
        accountId === null ? all.all(after ?? 0, limit) : ofAccount.all(after ?? 0, limit, accountId),
      );
    },
  };
}

function creationReads(database: Database): Pick<AccessReads, 'findCreation' | 'listSealedCreations'> {
  const list = (where: string) =>
    prepareText(
      database,
      `SELECT principal, idempotency_key AS idempotencyKey, at_ms AS atMs, request_hash AS requestHash, object,
         secret_sealed AS secretSealed FROM creations WHERE ${where}`,
    );
  const creation = list('principal = $1 AND idempotency_key = $2');
  const sealed = list('secret_sealed IS NOT NULL');
  return {
    async findCreation(principal, idempotencyKey) {
      return creation.get(principal, idempotencyKey) as RememberedCreation | null;
    },
    async listSealedCreations() {
      return sealed.all() as RememberedCreation[];
    },
  };
}

/** In the order of creation; the last one seen is found by its id ($1), and $2 is the most. */
function listInOrder(database: Database, table: 'accounts' | 'keys' | 'tokens' | 'people', where: string): Statement {
  return prepareText(
    database,
    `SELECT document FROM ${table}
     WHERE ${where} (created_at_ms, id) > (COALESCE((SELECT created_at_ms FROM ${table} WHERE id = $1), -1), $1)
     ORDER BY created_at_ms, id LIMIT $2`,
  );
}

function readDocument<Value>(row: ReturnType<Statement['get']>): Value | null {
  return row === null ? null : (JSON.parse((row as { document: string }).document) as Value);
}

function readDocuments<Value>(rows: unknown[]): Value[] {
  return (rows as { document: string }[]).map((row) => JSON.parse(row.document) as Value);
}
