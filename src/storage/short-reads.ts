// Short reads of committed data, the same statements for both databases: keys by their secrets, accounts, keys,
// tokens, people, meters, the catalog. Each reads one row or one page by an index.

import type { Caller, CallerPlan } from '../accounts/accounts.ts';
import type { RememberedCreation } from '../audit/audit.ts';
import { beganAtMs } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import {
  type AccountMeters,
  type AccountRow,
  type BudgetReading,
  budgetEndMs,
  budgetLeft,
  budgetLimits,
  type CallerMeters,
  type CallerQuestion,
  groupRates,
  type KeyLimits,
  type KeyMeters,
  type KeyRow,
  type LedgerReader,
  type PersonBudgetReading,
  type PersonRow,
  type PersonWindow,
  type PlanMeter,
  type RowPage,
  readLimits,
  rolled,
  rolledPerson,
  rolledPlan,
  type StoredAnswer,
  walletAvailable,
} from '../ledger/ledger.ts';
import { agentReads } from './agent-rows.ts';
import { batchReads } from './batch-rows.ts';
import { billReads } from './bill-rows.ts';
import { identityText } from './co-committed.ts';
import { codeReads } from './code-rows.ts';
import { eventShortReads } from './event-reads.ts';
import { exportReads } from './export-rows.ts';
import { fileReads } from './file-rows.ts';
import { incidentReads } from './incident-rows.ts';
import { keysOfActor } from './keys-of-actor.ts';
import { mailReads } from './mail-rows.ts';
import { paymentReads } from './payment-rows.ts';
import { prepareCount, prepareDocument, readPage, readRows } from './readable-rows.ts';
import { scimReads } from './scim-rows.ts';
import { Bindings, columnsAs, LAST, nextParameter, type ReadValue, type SqlReader } from './sql-reader.ts';
import { type CatalogTable, documents, readCatalogRow, readStored, type StoredDocument } from './stored-documents.ts';
import { type HoldsTable, readHold } from './stored-hold.ts';
import type { AccessReads, ShortReads } from './stores.ts';
import {
  type AccountMetersTable,
  accountColumns,
  type Column,
  holdColumns,
  type KeyMetersTable,
  keyColumns,
  openHoldOf,
  type PersonMetersTable,
  personColumns,
  readAccountRow,
  readKeyRow,
  readPersonRow,
  readText,
  readUsageRecord,
  type UsageTable,
} from './tables.ts';
import { tagSetReads } from './tag-set-rows.ts';
import { BELOW, usageColumnsOn } from './usage-reads.ts';
import { viewReads } from './view-rows.ts';

export function describeAccountMeters(row: AccountRow, nowMs: number): AccountMeters {
  return {
    balance: row.balance,
    held: row.held,
    available: Math.max(0, walletAvailable(row)),
    debt: row.debt,
    plan: row.plan === null ? null : rolledPlan(row.plan, nowMs),
    lowBalances: row.lowBalances,
    personBudget: row.company.personBudget,
    warnsAt: row.company.warnsAt,
    creditLine: row.creditLine,
    allowance: row.allowance,
    allowancePeriod: row.allowancePeriod,
    allowanceUsed: rolled(row.spending, row.allowancePeriod, nowMs).used,
    allowanceHeld: row.spending.held,
  };
}

export function describeKeyMeters(row: KeyRow, nowMs: number): KeyMeters {
  return {
    quota: row.quota,
    quotaPeriod: row.quotaPeriod,
    quotaUsed: rolled(row.spending, row.quotaPeriod, nowMs).used,
    quotaHeld: row.spending.held,
    lastUsedAtMs: row.lastUsedAtMs,
    ...row.limits,
  };
}

/** The rows of a caller, of one snapshot. */
export interface CallerRows {
  account: AccountRow | null;
  above: readonly AccountRow[];
  key: KeyRow | null;
  person: PersonRow | null;
}

/** Null if a row is missing or the key belongs to another account. */
export function describeCallerMeters(
  { account, above, key, person }: CallerRows,
  { groups, payer }: CallerQuestion,
  nowMs: number,
): CallerMeters | null {
  if (account === null || key === null || key.account !== account.id) return null;
  const paying = above.find(({ id }) => id === payer) ?? account;
  const ofKey = readLimits(key.rates, key.limits, nowMs).map((level) => ({ ...level, group: null }));
  const ofGroups = groups.flatMap(({ name, limits }) =>
    readLimits(groupRates(account, name), limits, nowMs).map((level) => ({ ...level, group: name })),
  );
  return {
    account: describeAccountMeters(account, nowMs),
    above: above.map((row) => ({ account: row.id, meters: describeAccountMeters(row, nowMs) })),
    payer: describeAccountMeters(paying, nowMs),
    key: describeKeyMeters(key, nowMs),
    budgets: person === null ? [] : describeBudgets(rolledPerson(person, nowMs), [account, ...above], nowMs),
    levels: [...ofKey, ...ofGroups],
  };
}

/** The budget at each of the accounts, in their order. */
export function describePersonBudgets(
  person: PersonRow,
  accounts: readonly AccountRow[],
  nowMs: number,
): PersonBudgetReading[] {
  const rolledRow = rolledPerson(person, nowMs);
  return accounts.map((account) => {
    const own = person.budgets.find((budget) => budget.account === account.id);
    return {
      account: account.id,
      isDefault: own === undefined,
      terms: own === undefined ? account.company.personBudget : own.terms,
      limits: describeBudgets(rolledRow, [account], nowMs),
    };
  });
}

function describeBudgets(person: PersonRow, accounts: readonly AccountRow[], nowMs: number): BudgetReading[] {
  return budgetLimits(person, accounts).map((limit) => {
    const window = person.windows.find(({ length }) => length === limit.length) as PersonWindow;
    return {
      ...limit,
      used: window.used,
      held: person.held,
      remaining: Math.max(0, budgetLeft(person, limit)),
      resetsAtMs: budgetEndMs(window, nowMs),
    };
  });
}

/** The part of an account's plan that its callers know. */
export function callerPlan({ name, groups, endsAtMs }: PlanMeter): CallerPlan {
  return { name, groups, endsAtMs };
}

export function shortReads(on: SqlReader): ShortReads {
  return {
    ...accessReads(on),
    ...installationReads(on),
    ...meterReads(on),
    ...budgetReads(on),
    ...rowReads(on),
    ...paymentReads(on),
    ...codeReads(on),
    ...billReads(on),
    ...incidentReads(on),
    ...fileReads(on),
    ...batchReads(on),
    ...agentReads(on),
    ...viewReads(on),
    ...eventShortReads(on),
    ...exportReads(on),
    ...mailReads(on),
    ...scimReads(on),
    ...tagSetReads(on),
    async getUsage(requestId) {
      const bindings = new Bindings();
      const record = `SELECT ${usageColumnsOn(on)} FROM usage_records r WHERE ${on.isRecordOf(requestId, bindings)}`;
      const row = first(await on.read<UsageTable>(record, ...bindings.values));
      return row === null ? null : readUsageRecord(row);
    },
  };
}

export function accessReads(on: SqlReader): AccessReads {
  return {
    ...accountReads(on),
    ...keyReads(on),
    ...tokenReads(on),
    ...personReads(on),
    ...directoryReads(on),
    ...creationReads(on),
  };
}

function accountReads(on: SqlReader): Pick<AccessReads, 'getAccount' | 'listAccounts' | 'listBelow'> {
  const all = preparePage(on, documents.account, inOrder('accounts'));
  const below = on.prepare<{ id: number; document: string }>(
    `WITH RECURSIVE ${BELOW}
     SELECT ${on.number('r.id')} AS id, r.document FROM below b CROSS JOIN accounts r WHERE r.id = b.id
     ORDER BY r.created_at_ms, r.id LIMIT $2`,
  );
  return {
    getAccount: prepareById(on, documents.account, 'SELECT document FROM accounts WHERE id = $1'),
    listAccounts: ({ after, limit }) => all(after ?? 0, limit),
    listBelow: async (id) =>
      readRows(
        on,
        await below(id, bounds.accountsBelowReadMax),
        (row) => row.id,
        ({ document }) => readStored(documents.account, document),
      ),
  };
}

interface CallerTable {
  key: string;
  account: string;
  expires_at_ms: number | null;
  plan: string | null;
  person: string | null;
  above1: string | null;
  plan1: string | null;
  above2: string | null;
  plan2: string | null;
}

function readCaller(row: CallerTable): Caller {
  const account = readStored(documents.account, row.account);
  const above = [row.above1, row.above2].flatMap((json) =>
    json === null ? [] : [readStored(documents.account, json)],
  );
  // As `payingAccountOf`.
  const payer = [account, ...above].findIndex(({ paysFrom }, at) => paysFrom !== 'parent' || at === above.length);
  const plan = [row.plan, row.plan1, row.plan2][payer] ?? null;
  return {
    account,
    above,
    key: readStored(documents.key, row.key),
    person: row.person === null ? null : readStored(documents.person, row.person),
    secretExpiresAtMs: row.expires_at_ms,
    plan: plan === null ? null : callerPlan(readStored(documents.plan, plan)),
  };
}

type KeyReads = 'findKeyBySecretHash' | 'findCallerOfKey' | 'getKey' | 'listKeys' | 'listExpiringKeys' | 'countKeys';

function keyReads(on: SqlReader): Pick<AccessReads, KeyReads> {
  const callers = (expiry: string, keys: string, where: string) =>
    on.prepare<CallerTable>(
      `SELECT k.document AS key, a.document AS account, ${expiry} AS expires_at_ms, m.plan,
         p.document AS person, a1.document AS above1, m1.plan AS plan1, a2.document AS above2, m2.plan AS plan2
       FROM ${keys} JOIN accounts a ON a.id = k.account_id
         LEFT JOIN account_meters m ON m.id = a.id LEFT JOIN people p ON p.id = k.person_id
         LEFT JOIN accounts a1 ON a1.id = a.parent_id LEFT JOIN account_meters m1 ON m1.id = a1.id
         LEFT JOIN accounts a2 ON a2.id = a1.parent_id LEFT JOIN account_meters m2 ON m2.id = a2.id
       WHERE ${where}`,
    );
  const ofSecret = 'key_secrets s JOIN keys k ON k.id = s.key_id';
  const byHash = callers(on.number('s.expires_at_ms'), ofSecret, 's.secret_hash IN ($1, $2, $3)');
  const ofKey = callers('NULL', 'keys k', 'k.id = $1');
  const all = preparePage(on, documents.key, inOrder('keys'));
  const ofAccount = preparePage(on, documents.key, inOrder('keys', 'account_id'));
  const ofPerson = preparePage(on, documents.key, inOrder('keys', 'person_id', 'r.person_id IS NOT NULL AND'));
  const ofPersonInAccount = preparePage(
    on,
    documents.key,
    inOrder('keys', 'person_id', 'r.person_id IS NOT NULL AND +r.account_id = $4 AND'),
  );
  const ofMaker = preparePage(on, documents.key, inOrder('keys', 'made_by', 'r.person_id IS NULL AND'));
  const expiring = preparePage(
    on,
    documents.key,
    `SELECT k.id, k.document FROM key_meters m JOIN keys k ON k.id = m.id
     WHERE m.expires_at_ms IS NOT NULL AND (m.expires_at_ms, m.id) > ($3, $1) AND m.expires_at_ms <= $4
     ORDER BY m.expires_at_ms, m.id LIMIT $2`,
  );
  const ofMakerInAccount = preparePage(
    on,
    documents.key,
    inOrder('keys', 'made_by', 'r.person_id IS NULL AND +r.account_id = $4 AND'),
  );
  return {
    async findKeyBySecretHash(hashes) {
      const row = first(await byHash(...three(hashes)));
      return row === null ? null : readCaller(row);
    },
    async findCallerOfKey(id) {
      const row = first(await ofKey(id));
      return row === null ? null : readCaller(row);
    },
    getKey: prepareById(on, documents.key, 'SELECT document FROM keys WHERE id = $1'),
    listExpiringKeys: ({ sinceMs, untilMs, after, limit }) =>
      expiring(after?.id ?? LAST, limit, after?.expiresAtMs ?? sinceMs - 1, untilMs),
    countKeys: prepareCount(on, 'keys', 'account_id = $1'),
    listKeys({ accountId, madeBy, after, limit }) {
      const page = [after ?? 0, limit] as const;
      if (madeBy !== null) {
        const { column, value } = keysOfActor(madeBy);
        const [inAll, inAccount] = column === 'person_id' ? [ofPerson, ofPersonInAccount] : [ofMaker, ofMakerInAccount];
        return accountId === null ? inAll(...page, value) : inAccount(...page, value, accountId);
      }
      return accountId === null ? all(...page) : ofAccount(...page, accountId);
    },
  };
}

function tokenReads(
  on: SqlReader,
): Pick<AccessReads, 'findTokenBySecretHash' | 'getToken' | 'listTokens' | 'countTokens'> {
  const byHash = prepareDocument(on, documents.token, 'SELECT document FROM tokens WHERE secret_hash IN ($1, $2, $3)');
  return {
    findTokenBySecretHash: (hashes) => byHash(...three(hashes)),
    getToken: prepareById(on, documents.token, 'SELECT document FROM tokens WHERE id = $1'),
    countTokens: prepareCount(on, 'tokens', 'account_id = $1'),
    listTokens: prepareList(on, documents.token, 'tokens'),
  };
}

/** The hashes of a secret, for a statement with three parameters. */
function three([one = '', two = one, three = one]: readonly string[]): [string, string, string] {
  return [one, two, three];
}

type PersonReads =
  | 'findPersonByEmail'
  | 'findPersonByIdentity'
  | 'listUnclaimed'
  | 'findPersonByLinkHash'
  | 'getPerson'
  | 'countPeople'
  | 'countInRole'
  | 'listPeople';

function personReads(on: SqlReader): Pick<AccessReads, PersonReads> {
  const unclaimed = on.prepare<{ document: string }>(
    `SELECT r.document ${on.from('people', 'people_by_email')}
     WHERE ${on.jsonText('r.document', ['email'])} = $1 AND r.email IS NULL AND r.status = $2
       AND r.account_id BETWEEN $3 AND $4
     ORDER BY r.created_at_ms, r.id LIMIT $5`,
  );
  const byLink = prepareDocument(on, documents.person, 'SELECT document FROM people WHERE link_hash IN ($1, $2, $3)');
  const byIdentity = prepareDocument(on, documents.person, 'SELECT document FROM people WHERE identity = $1');
  return {
    findPersonByIdentity: (identity) => byIdentity(identityText(identity)),
    findPersonByEmail: prepareDocument(on, documents.person, 'SELECT document FROM people WHERE email = $1'),
    async listUnclaimed({ email, status, accountId, limit }) {
      const rows = await unclaimed(email, status, accountId ?? 0, accountId ?? LAST, limit);
      return rows.map(({ document }) => readStored(documents.person, document));
    },
    findPersonByLinkHash: (hashes) => byLink(...three(hashes)),
    getPerson: prepareById(on, documents.person, 'SELECT document FROM people WHERE id = $1'),
    countPeople: prepareCount(on, 'people', 'account_id = $1'),
    countInRole: prepareCount(on, 'people', 'role = $1 AND status = $2'),
    listPeople: prepareList(on, documents.person, 'people'),
  };
}

type DirectoryReads = 'getDirectoryGroup' | 'findDirectoryGroup' | 'listDirectoryGroups' | 'countDirectoryGroups';

function directoryReads(on: SqlReader): Pick<AccessReads, DirectoryReads> {
  const { directoryGroup } = documents;
  const all = preparePage(on, directoryGroup, inOrder('directory_groups'));
  const named = 'SELECT document FROM directory_groups WHERE name = $1 AND source = $2';
  const byName = prepareDocument(on, directoryGroup, named);
  return {
    getDirectoryGroup: prepareById(on, directoryGroup, 'SELECT document FROM directory_groups WHERE id = $1'),
    findDirectoryGroup: (name, source) => byName(name, source ?? ''),
    listDirectoryGroups: ({ after, limit }) => all(after ?? 0, limit),
    countDirectoryGroups: prepareCount(on, 'directory_groups', 'created_at_ms >= 0'), // by an index, at most directoryGroupsMax
  };
}

function creationReads(on: SqlReader): Pick<AccessReads, 'findCreation' | 'listSealedCreations'> {
  const texts = ['principal', 'idempotencyKey', 'requestHash', 'object', 'secretSealed'];
  const prepare = (where: string) =>
    on.prepare<RememberedCreation>(`SELECT ${columnsAs(on, 'r', ['atMs'], texts)} FROM creations r WHERE ${where}`);
  const byName = prepare('r.principal = $1 AND r.idempotency_key = $2');
  const sealed = prepare('r.secret_sealed IS NOT NULL');
  return {
    findCreation: async (principal, idempotencyKey) => first(await byName(principal, idempotencyKey)),
    listSealedCreations: () => sealed(),
  };
}

function installationReads(
  on: SqlReader,
): Pick<ShortReads, 'readInstallation' | 'loadSamples' | 'loadCatalog' | 'findAnswer'> {
  const value = on.prepare<{ value: string }>('SELECT value FROM installation WHERE name = $1');
  const learned = on.prepare<{ model: string; document: string }>('SELECT model, document FROM learned ORDER BY model');
  const catalog = on.prepare<CatalogTable>('SELECT kind, name, origin, document FROM catalog ORDER BY kind, name');
  const answer = on.prepare<StoredAnswer>(
    `SELECT ${columnsAs(on, 'r', ['atMs', 'bytes'], ['requestId', 'sealed'])} FROM answers r WHERE r.request_id = $1`,
  );
  return {
    readInstallation: async (name) => first(await value(name))?.value ?? null,
    loadSamples: async () =>
      readRows(
        on,
        await learned(),
        ({ model }) => model,
        ({ model, document }): [string, unknown] => [model, readStored(documents.samples, document)],
      ),
    loadCatalog: async () => (await catalog()).map(readCatalogRow),
    findAnswer: async (requestId) => first(await answer(requestId)),
  };
}

type MeterReads = Omit<LedgerReader, 'listEntries' | 'listHolds' | 'personMeters' | keyof RowReads>;

function meterReads(on: SqlReader): MeterReads {
  const account = on.prepare<AccountMetersTable>(
    `SELECT ${readText('m', accountColumns, on.number)} FROM account_meters m WHERE m.id = $1`,
  );
  const key = on.prepare<KeyMetersTable>(
    `SELECT ${readText('m', keyColumns, on.number)} FROM key_meters m WHERE m.id = $1`,
  );
  const plans = on.prepare<{ id: number; plan: string | null }>(
    `SELECT ${on.number('m.id')} AS id, m.plan FROM account_meters m WHERE m.id > $1 ORDER BY m.id LIMIT $2`,
  );
  // One statement: between two, a message could change both rows.
  const together = on.prepare<Record<string, unknown>>(
    `SELECT ${prefixed(on, 'a', accountColumns)}, ${prefixed(on, 'b', accountColumns)},
       ${prefixed(on, 'c', accountColumns)}, ${prefixed(on, 'k', keyColumns)}, ${prefixed(on, 'p', personColumns)}
     FROM account_meters a JOIN key_meters k ON k.id = $2 LEFT JOIN account_meters b ON b.id = $3
       LEFT JOIN account_meters c ON c.id = $4 LEFT JOIN person_meters p ON p.id = $5 WHERE a.id = $1`,
  );
  const holds = on.prepare<{ count: number; held: number }>(
    `SELECT ${on.number('count(*)')} AS count, ${on.number('coalesce(sum(amount), 0)')} AS held FROM holds`,
  );
  // Ids begin with the time.
  const oldest = on.prepare<{ request_id: string }>('SELECT request_id FROM holds ORDER BY request_id LIMIT 1');
  const owner = on.prepare<{ account: number; key: number }>(
    `SELECT ${on.number('h.account_id')} AS account, ${on.number('h.key_id')} AS key FROM holds h WHERE h.request_id = $1`,
  );
  return {
    async openHolds() {
      const sums = first(await holds()) ?? { count: 0, held: 0 };
      const hold = first(await oldest());
      return { ...sums, oldestAtMs: hold === null ? null : beganAtMs(hold.request_id) };
    },
    async accountMeters(id, nowMs) {
      const row = first(await account(id));
      return row === null ? null : describeAccountMeters(readAccountRow(row), nowMs);
    },
    async keyMeters(id, nowMs) {
      const row = first(await key(id));
      return row === null ? null : describeKeyMeters(readKeyRow(row), nowMs);
    },
    async callerMeters(question, nowMs) {
      const [above1 = 0, above2 = 0] = question.above;
      const row = first(await together(question.account, question.key, above1, above2, question.person ?? 0));
      if (row === null) return null;
      const of = <Table>(alias: string, columns: readonly { name: string }[]) =>
        row[`${alias}_id`] === null ? [] : [unprefixed(alias, columns, row) as Table];
      const accountsOf = (alias: string) => of<AccountMetersTable>(alias, accountColumns).map(readAccountRow);
      const rows: CallerRows = {
        account: first(accountsOf('a')),
        above: [...accountsOf('b'), ...accountsOf('c')],
        key: first(of<KeyMetersTable>('k', keyColumns).map(readKeyRow)),
        person: first(of<PersonMetersTable>('p', personColumns).map(readPersonRow)),
      };
      return describeCallerMeters(rows, question, nowMs);
    },
    async listPlans({ after, limit }) {
      const rows = await plans(after, limit);
      const withPlan = rows.flatMap(({ id, plan }) => (plan === null ? [] : [{ id, plan }]));
      return {
        plans: readRows(
          on,
          withPlan,
          ({ id }) => id,
          ({ id, plan }) => ({ account: id, plan: readStored(documents.plan, plan) }),
        ),
        last: rows.length < limit ? null : (rows.at(-1)?.id ?? null),
      };
    },
    openMessage: async (requestId) => first(await owner(requestId)),
  };
}

type RowReads = Pick<LedgerReader, 'listAccountRows' | 'listPersonRows' | 'listKeyLimits'>;

function rowReads(on: SqlReader): RowReads {
  const pageOf = <Table extends { id: number }, Row>(
    table: string,
    columns: readonly Pick<Column<Row>, 'name' | 'type'>[],
    read: (row: Table) => Row,
  ) => {
    const ask = on.prepare<Table>(
      `SELECT ${readText('m', columns, on.number)} FROM ${table} m WHERE m.id > $1 ORDER BY m.id LIMIT $2`,
    );
    return async ({ after, limit }: { after: number; limit: number }): Promise<RowPage<Row>> => {
      const rows = await ask(after, limit);
      return { rows: rows.map(read), last: rows.length < limit ? null : (rows.at(-1)?.id ?? null) };
    };
  };
  const ofLimits = keyColumns.filter(({ name }) => (KEY_LIMIT_COLUMNS as readonly string[]).includes(name));
  return {
    listAccountRows: pageOf('account_meters', accountColumns, readAccountRow),
    listPersonRows: pageOf('person_meters', personColumns, readPersonRow),
    listKeyLimits: pageOf<Pick<KeyMetersTable, (typeof KEY_LIMIT_COLUMNS)[number]>, KeyLimits>(
      'key_meters',
      ofLimits,
      (row) => ({
        id: row.id,
        account: row.account_id,
        person: row.person_id,
        quota: row.quota,
        quotaPeriod: row.quota_period,
        spending: { used: row.quota_used, held: row.quota_held, periodStartMs: row.quota_period_start_ms },
      }),
    ),
  };
}

/** No JSON: keys may be many. */
const KEY_LIMIT_COLUMNS = [
  'id',
  'account_id',
  'person_id',
  'quota',
  'quota_period',
  'quota_used',
  'quota_held',
  'quota_period_start_ms',
] as const;

function budgetReads(on: SqlReader): Pick<LedgerReader, 'personMeters'> {
  const budgets = on.prepare<Record<string, unknown>>(
    `SELECT ${prefixed(on, 'a', accountColumns)}, ${prefixed(on, 'b', accountColumns)},
       ${prefixed(on, 'c', accountColumns)}, ${prefixed(on, 'p', personColumns)}
     FROM person_meters p LEFT JOIN account_meters a ON a.id = $2 LEFT JOIN account_meters b ON b.id = $3
       LEFT JOIN account_meters c ON c.id = $4 WHERE p.id = $1`,
  );
  return {
    async personMeters({ person, accounts }, nowMs) {
      const [one = 0, two = 0, three = 0] = accounts;
      const row = first(await budgets(person, one, two, three));
      if (row === null) return null;
      const rows = ['a', 'b', 'c'].flatMap((alias) =>
        row[`${alias}_id`] === null
          ? []
          : [readAccountRow(unprefixed(alias, accountColumns, row) as unknown as AccountMetersTable)],
      );
      const personRow = readPersonRow(unprefixed('p', personColumns, row) as unknown as PersonMetersTable);
      return describePersonBudgets(personRow, rows, nowMs);
    },
  };
}

/** Open holds of one account. Reads all open holds in the order of their ids: an index by account would cost every message. */
export function holdReads(on: SqlReader): Pick<LedgerReader, 'listHolds'> {
  const ofAccount = on.prepare<HoldsTable>(
    `SELECT ${readText('h', holdColumns, on.number)} FROM holds h WHERE h.request_id > $1 AND h.account_id = $2 ORDER BY h.request_id LIMIT $3`,
  );
  return {
    listHolds: async ({ account, after, limit }) =>
      (await ofAccount(after ?? '', account, limit)).map(readHold).map(openHoldOf),
  };
}

type ListedTable = 'accounts' | 'keys' | 'tokens' | 'people' | 'directory_groups';

/**
 * A page in the order of creation. $1 is the id of the last row seen, $2 the limit. `narrowed` is a column that must equal $3. It is
 * part of the order and is compared as part of a row, so that only the index that begins with it provides that order. Conditions of
 * `where` must not lead to another index, hence +column.
 */
function inOrder(table: ListedTable, narrowed?: 'account_id' | 'made_by' | 'person_id', where = ''): string {
  const last = `COALESCE((SELECT l.created_at_ms FROM ${table} l WHERE l.id = $1), -1), $1`;
  const [column, value, upTo] =
    narrowed === undefined ? ['', '', ''] : [`r.${narrowed}, `, '$3, ', `r.${narrowed} <= $3 AND`];
  return `SELECT r.id, r.document FROM ${table} r
    WHERE ${where} ${upTo} (${column}r.created_at_ms, r.id) > (${value}${last})
    ORDER BY ${column}r.created_at_ms, r.id LIMIT $2`;
}

/** Lists all rows of a table, or those of one account. */
function prepareList<Value>(on: SqlReader, document: StoredDocument<Value>, table: 'tokens' | 'people') {
  const all = preparePage(on, document, inOrder(table));
  const ofAccount = preparePage(on, document, inOrder(table, 'account_id'));
  return ({ accountId, after, limit }: { accountId: number | null; after: number | null; limit: number }) =>
    accountId === null ? all(after ?? 0, limit) : ofAccount(after ?? 0, limit, accountId);
}

/** The document of one row; null without one, and for one that cannot be read, as in lists. */
function prepareById<Value>(on: SqlReader, stored: StoredDocument<Value>, text: string) {
  const ask = on.prepare<{ document: string }>(text);
  return async (id: number): Promise<Value | null> => {
    const keyOf = () => id;
    return first(readRows(on, await ask(id), keyOf, ({ document }) => readStored(stored, document)));
  };
}

/** A page of documents after a position. `text` has the limit as $2, at its end. */
function preparePage<Value>(on: SqlReader, stored: StoredDocument<Value>, text: string) {
  const ask = on.prepare<{ id: number; document: string }>(`${text} OFFSET ${nextParameter(text)}`);
  return (after: number, limit: number, ...values: readonly ReadValue[]): Promise<Value[]> =>
    readPage(
      on,
      limit,
      (skipped) => ask(after, limit, ...values, skipped),
      ({ id }) => id,
      ({ document }) => readStored(stored, document),
    );
}

function first<Row>(rows: readonly Row[]): Row | null {
  return rows[0] ?? null;
}

function prefixed<Row>(on: SqlReader, of: string, columns: readonly Column<Row>[]): string {
  return columns
    .map(({ name, type }) => `${type === 'text' ? `${of}.${name}` : on.number(`${of}.${name}`)} AS ${of}_${name}`)
    .join(', ');
}

function unprefixed(
  of: string,
  columns: readonly { name: string }[],
  row: Record<string, unknown>,
): Record<string, unknown> {
  return Object.fromEntries(columns.map(({ name }) => [name, row[`${of}_${name}`]]));
}
