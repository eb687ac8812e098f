// Reads over the in-memory tables, with the same answers as the stores that last.

import type { KeyPage } from '../../../src/accounts/account.ts';
import {
  type AccessToken,
  type Account,
  type AccountStore,
  claimsEmail,
  claimsIdentity,
  type DirectoryGroup,
  type DirectoryGroupStore,
  isKeyOf,
  type Key,
  type NameSearch,
  type NameSearches,
  type Person,
  type PersonStore,
  payingAccountOf,
  type SortedAccounts,
  type SortedKeys,
  type SortedPage,
  type SortedRow,
} from '../../../src/accounts/accounts.ts';
import { statusAt } from '../../../src/admin-api/fields.ts';
import type { AuditStore } from '../../../src/audit/audit.ts';
import { DAY_MS } from '../../../src/base/clock.ts';
import { beganAtMs } from '../../../src/base/ids.ts';
import { bounds } from '../../../src/config/config.ts';
import {
  type DailyTotal,
  type LedgerReader,
  type NewEntry,
  type RowPage,
  type StoredUsageRecord,
  systemAccounts,
  type TotalName,
} from '../../../src/ledger/ledger.ts';
import {
  type ChargedMessage,
  compareTotals,
  divideRange,
  gatherTop,
  gatherTotals,
  type MonthStore,
  SummarySum,
  type TimelineQuestion,
  type TopQuestion,
  type UsagePage,
  type UsageStore,
  type UsageTotal,
} from '../../../src/reports/reports.ts';
import { identityText } from '../../../src/storage/co-committed.ts';
import type { MailReads } from '../../../src/storage/mail-rows.ts';
import {
  callerPlan,
  describeAccountMeters,
  describeCallerMeters,
  describeKeyMeters,
  describePersonBudgets,
} from '../../../src/storage/short-reads.ts';
import type { ReportReads, ShortReads } from '../../../src/storage/stores.ts';
import { openHoldOf } from '../../../src/storage/tables.ts';
import type { ViewReads } from '../../../src/storage/view-rows.ts';
import type { Serves } from '../../../src/wire/wire.ts';
import { partOfTotals, partOfUnits } from '../part-of-totals.ts';
import { agentReads } from './agents.ts';
import { batchReads } from './batches.ts';
import { billReads } from './bills.ts';
import { codeReads } from './codes.ts';
import { eventReads } from './event-rows.ts';
import { exportReads } from './export-rows.ts';
import { fileReads } from './files.ts';
import { incidentReads } from './incidents.ts';
import { isEntryAsked, readMonth } from './journal.ts';
import { paymentReads } from './payments.ts';
import { scimReads } from './scim.ts';
import { rankRecords, searchRecords, sumRecords } from './searches.ts';
import type { MemoryTables } from './tables.ts';
import { sumTimeline, totalOfRecord } from './timeline.ts';
import { trafficReads } from './traffic.ts';

export function memoryReads(tables: MemoryTables): ShortReads & ReportReads {
  return {
    ...accountReads(tables),
    listBelow: async (id) => listBelow(tables, id),
    ...tokenReads(tables),
    ...personReads(tables),
    ...directoryReads(tables),
    ...meterReads(tables),
    ...recordReads(tables),
    ...auditReads(tables),
    ...paymentReads(tables),
    ...codeReads(tables),
    ...billReads(tables),
    ...incidentReads(tables),
    ...fileReads(tables),
    ...batchReads(tables),
    ...agentReads(tables),
    ...viewReads(tables),
    ...eventReads(tables),
    ...exportReads(tables),
    ...mailReads(tables),
    ...scimReads(tables),
    ...trafficReads(tables),
    async findTagSet({ account, monthMs, id }) {
      const ofMonth = tables.tagSets.filter((set) => set.account === account && set.monthMs === monthMs);
      return { isStored: ofMonth.some((set) => set.id === id), count: ofMonth.length };
    },
    async findAnswer(requestId) {
      const found = tables.answers.get(requestId);
      if (found === undefined) return null;
      const { account: _, ...answer } = found;
      return answer;
    },
  };
}

function mailReads({ mails, mailedLinks, signUps }: MemoryTables): MailReads {
  return {
    listDueMails: async (nowMs, limit) =>
      [...mails.values()]
        .filter(({ nextAtMs }) => nextAtMs <= nowMs)
        .sort((one, other) => one.nextAtMs - other.nextAtMs || one.id - other.id)
        .slice(0, limit),
    listSealedMails: async () => [...mails.values()].filter(({ secretSealed }) => secretSealed !== null),
    findMailedLink: async (hash) => mailedLinks.get(hash) ?? null,
    wasCredited: async (emailKey) => signUps.some((signUp) => signUp.emailKey === emailKey && signUp.credit > 0),
    countSignUps: async (sinceMs) => signUps.filter(({ account }) => account.createdAtMs > sinceMs).length,
  };
}

function nameSearches({ accounts, keys, people, destinations }: MemoryTables): NameSearches {
  const find = <Row extends { id: number; createdAtMs: number }>(
    rows: Iterable<Row>,
    { text, limit }: NameSearch,
    texts: (row: Row) => (string | null)[],
    isSeen: (row: Row) => boolean,
  ) =>
    [...rows]
      .filter((row) => isSeen(row) && texts(row).some((one) => one?.toLowerCase().includes(text.toLowerCase())))
      .sort((one, other) => other.createdAtMs - one.createdAtMs || other.id - one.id)
      .slice(0, limit);
  const isOf = (search: NameSearch, accountId: number | null) =>
    search.accountId === null || accountId === search.accountId;
  return {
    searchAccountNames: async (search) =>
      find(
        accounts.values(),
        search,
        ({ name }) => [name],
        ({ id }) => isOf(search, id),
      ),
    searchKeyNames: async (search) =>
      find(
        keys.values(),
        search,
        (key) => [keyTexts(key)],
        (key) => isOf(search, key.accountId) && (search.madeBy === null || isKeyOf(key, search.madeBy)),
      ),
    searchPersonNames: async (search) =>
      find(
        [...people.values()].map(({ person }) => person),
        search,
        ({ name, email }) => [name, email],
        (person) => isOf(search, person.accountId),
      ),
    searchDestinationNames: async (search) =>
      find(
        destinations.values(),
        search,
        ({ name, address }) => [name, address],
        (destination) => isOf(search, destination.accountId),
      ).map(({ id }) => id),
  };
}

/** The texts that a search of keys reads, as the databases have them. */
function keyTexts({ name, prefix, tags = {} }: Key): string {
  return `${name} ${prefix} ${JSON.stringify(tags).replaceAll('"', '')}`.toLowerCase();
}

function matchingKeys(tables: MemoryTables, { accountId, madeBy, text, status }: SortedKeys): Key[] {
  const hasText = (key: Key, part: string) =>
    keyTexts(key).includes(part) || lower(tables.accounts.get(key.accountId)?.name ?? '').includes(part);
  return [...tables.keys.values()]
    .filter((key) => accountId === null || key.accountId === accountId)
    .filter((key) => madeBy === null || isKeyOf(key, madeBy))
    .filter((key) => text === null || hasText(key, text))
    .filter((key) => status === null || statusAt(key, status.atMs) === status.is);
}

type Caller = NonNullable<Awaited<ReturnType<AccountStore['findCallerOfKey']>>>;

function callerOf(tables: MemoryTables, key: Key, account: Account, secretExpiresAtMs: number | null): Caller {
  const above: Account[] = [];
  for (let one = account; one.parentId != null; one = above.at(-1) as Account)
    above.push(tables.accounts.get(one.parentId) as Account);
  const plan = tables.accountMeters.get(payingAccountOf({ account, above }).id)?.plan ?? null;
  const person = tables.people.get(key.personId ?? 0)?.person ?? null;
  return { key, account, above, person, secretExpiresAtMs, plan: plan && callerPlan(plan) };
}

function accountReads(tables: MemoryTables) {
  return {
    async findKeyBySecretHash(hashes: readonly string[]) {
      const secret = hashes.map((hash) => tables.keySecrets.get(hash)).find((found) => found !== undefined);
      const key = secret && tables.keys.get(secret.keyId);
      const account = key && tables.accounts.get(key.accountId);
      if (secret === undefined || key === undefined || account === undefined) return null;
      return callerOf(tables, key, account, secret.expiresAtMs);
    },
    async findCallerOfKey(id: number) {
      const key = tables.keys.get(id);
      const account = key && tables.accounts.get(key.accountId);
      return key === undefined || account === undefined ? null : callerOf(tables, key, account, null);
    },
    ...nameSearches(tables),
    async getAccount(id: number) {
      return tables.accounts.get(id) ?? null;
    },
    async getKey(id: number) {
      return tables.keys.get(id) ?? null;
    },
    async listAccounts(page: { after: number | null; limit: number }) {
      return after<Account>([...tables.accounts.values()], page);
    },
    async sortAccounts({ name, group, ...page }: SortedAccounts) {
      const rows = [...tables.accounts.values()]
        .filter((account) => name === null || lower(account.name).includes(name))
        .filter((account) => group === null || account.groups.includes(group));
      const balanceOf = (id: number) => tables.accountMeters.get(id)?.balance ?? 0;
      const values = { created: at, name: named, balance: ({ id }: Account) => balanceOf(id) };
      return sorted(rows, page, values[page.by]);
    },
    async sortKeys(page: SortedKeys) {
      const lastUsedOf = (id: number) => tables.keyMeters.get(id)?.lastUsedAtMs ?? -1;
      const values = { created: at, name: named, last_used: ({ id }: Key) => lastUsedOf(id) };
      return sorted(matchingKeys(tables, page), page, values[page.by]);
    },
    async listExpiringKeys({ sinceMs, untilMs, after, limit }: Parameters<AccountStore['listExpiringKeys']>[0]) {
      const endOf = ({ expiresAtMs }: Key) => expiresAtMs ?? Number.NEGATIVE_INFINITY;
      return [...tables.keys.values()]
        .filter((key) => endOf(key) >= sinceMs && endOf(key) <= untilMs)
        .filter((key) => after === null || endOf(key) > after.expiresAtMs || key.id > after.id)
        .sort((one, other) => endOf(one) - endOf(other) || one.id - other.id)
        .slice(0, limit);
    },
    async countKeys(accountId: number) {
      return [...tables.keys.values()].filter((key) => key.accountId === accountId).length;
    },
    async listKeys(page: KeyPage) {
      const keys = [...tables.keys.values()]
        .filter((key) => page.accountId === null || key.accountId === page.accountId)
        .filter((key) => page.madeBy === null || isKeyOf(key, page.madeBy));
      return after<Key>(keys, page);
    },
    async loadSamples() {
      return [...tables.learned];
    },
    async readInstallation(name: string) {
      return tables.installation.get(name) ?? null;
    },
    async loadCatalog() {
      return [...tables.catalog.values()].sort((one, other) =>
        `${one.kind} ${one.name}` < `${other.kind} ${other.name}` ? -1 : 1,
      );
    },
  };
}

function tokenReads(tables: MemoryTables) {
  return {
    async findTokenBySecretHash(hashes: readonly string[]) {
      return [...tables.tokens.values()].find((row) => hashes.includes(row.secretHash))?.token ?? null;
    },
    async getToken(id: number) {
      return tables.tokens.get(id)?.token ?? null;
    },
    async countTokens(accountId: number) {
      return [...tables.tokens.values()].filter(({ token }) => token.accountId === accountId).length;
    },
    async listTokens(page: { accountId: number | null; after: number | null; limit: number }) {
      const tokens = [...tables.tokens.values()].map((row) => row.token);
      return after<AccessToken>(
        page.accountId === null ? tokens : tokens.filter((token) => token.accountId === page.accountId),
        page,
      );
    },
  };
}

function personReads({ people }: MemoryTables): Omit<PersonStore, 'createPerson' | 'updatePerson' | 'setBudget'> {
  const all = () => [...people.values()].map(({ person }) => person);
  return {
    findPersonByIdentity: async (identity) =>
      all().find(
        (person) =>
          person.identity != null && claimsIdentity(person) && identityText(person.identity) === identityText(identity),
      ) ?? null,
    findPersonByEmail: async (email) => all().find((person) => person.email === email && claimsEmail(person)) ?? null,
    listUnclaimed: async ({ email, status, accountId, limit }) =>
      all()
        .filter((person) => person.email === email && person.status === status && !claimsEmail(person))
        .filter((person) => accountId === null || person.accountId === accountId)
        .toSorted((one, other) => one.createdAtMs - other.createdAtMs || one.id - other.id)
        .slice(0, limit),
    findPersonByLinkHash: async (hashes) =>
      [...people.values()].find(({ linkHash }) => linkHash !== null && hashes.includes(linkHash))?.person ?? null,
    getPerson: async (id) => people.get(id)?.person ?? null,
    listPeople: async (page) =>
      after<Person>(
        all().filter(({ accountId }) => page.accountId === null || accountId === page.accountId),
        page,
      ),
    countPeople: async (accountId) => all().filter((person) => person.accountId === accountId).length,
    countInRole: async (role, status) =>
      all().filter((person) => person.role === role && person.status === status).length,
  };
}

function viewReads({ savedViews }: MemoryTables): ViewReads {
  const ofAccount = (accountId: number | null) =>
    [...savedViews.values()].filter((view) => view.accountId === accountId).sort((one, other) => one.id - other.id);
  return {
    getSavedView: async (id) => savedViews.get(id) ?? null,
    listSavedViews: async ({ accountId, owner, after, limit }) =>
      ofAccount(accountId)
        .filter((view) => view.id > (after ?? 0) && (view.owner === owner || view.isShared))
        .slice(0, limit),
    countSavedViews: async ({ accountId, owner }) => ofAccount(accountId).filter((view) => view.owner === owner).length,
  };
}

function directoryReads({ directoryGroups }: MemoryTables): Omit<DirectoryGroupStore, 'saveDirectoryGroup'> {
  const all = () => [...directoryGroups.values()];
  return {
    getDirectoryGroup: async (id) => directoryGroups.get(id) ?? null,
    findDirectoryGroup: async (name, source) =>
      all().find((group) => group.name === name && group.source === source) ?? null,
    listDirectoryGroups: async (page) => after<DirectoryGroup>(all(), page),
    countDirectoryGroups: async () => directoryGroups.size,
  };
}

function auditReads(tables: MemoryTables): AuditStore {
  return {
    async listAudit({ account, object, actor, sinceMs, untilMs, before, limit }) {
      const records = tables.audit
        .map((record, index) => ({ ...record, seq: index + 1 }))
        .filter((record) => account === null || record.account === account)
        .filter((record) => object === null || record.object === object)
        .filter((record) => actor === null || record.actor.id === actor)
        .filter((record) => record.atMs >= (sinceMs ?? 0) && record.atMs <= (untilMs ?? Infinity));
      return newestFirst(records, before, limit);
    },
    async findCreation(principal, idempotencyKey) {
      return tables.creations.get(`${principal} ${idempotencyKey}`) ?? null;
    },
    async listSealedCreations() {
      return [...tables.creations.values()].filter(({ secretSealed }) => secretSealed !== null);
    },
  };
}

function meterReads(tables: MemoryTables): LedgerReader & MonthStore {
  return {
    async openHolds() {
      const holds = [...tables.holds.values()];
      const held = holds.reduce((sum, { amount }) => sum + amount, 0);
      const [oldest = ''] = [...tables.holds.keys()].sort();
      return { count: holds.length, held, oldestAtMs: beganAtMs(oldest) };
    },
    async accountMeters(id, nowMs) {
      const row = tables.accountMeters.get(id);
      return row === undefined ? null : describeAccountMeters(row, nowMs);
    },
    async keyMeters(id, nowMs) {
      const row = tables.keyMeters.get(id);
      return row === undefined ? null : describeKeyMeters(row, nowMs);
    },
    async callerMeters(question, nowMs) {
      const rows = {
        account: tables.accountMeters.get(question.account) ?? null,
        above: question.above.flatMap((id) => tables.accountMeters.get(id) ?? []),
        key: tables.keyMeters.get(question.key) ?? null,
        person: tables.personMeters.get(question.person ?? 0) ?? null,
      };
      return describeCallerMeters(rows, question, nowMs);
    },
    async personMeters({ person: id, accounts }, nowMs) {
      const person = tables.personMeters.get(id);
      if (person === undefined) return null;
      const rows = accounts.flatMap((account) => tables.accountMeters.get(account) ?? []);
      return describePersonBudgets(person, rows, nowMs);
    },
    async listPlans({ after: last, limit }) {
      const rows = [...tables.accountMeters.values()].filter(({ id }) => id > last).sort((a, b) => a.id - b.id);
      const page = rows.slice(0, limit);
      return {
        plans: page.flatMap(({ id, plan }) => (plan === null ? [] : [{ account: id, plan }])),
        last: page.length < limit ? null : (page.at(-1)?.id ?? null),
      };
    },
    ...rowReads(tables),
    ...entryReads(tables),
    async openMessage(requestId) {
      const hold = tables.holds.get(requestId);
      return hold === undefined ? null : { account: hold.account, key: hold.key };
    },
    async listHolds({ account, after: seen, limit }) {
      return [...tables.holds.values()]
        .filter((hold) => hold.account === account && (seen === null || hold.requestId > seen))
        .sort((one, other) => (one.requestId < other.requestId ? -1 : 1))
        .slice(0, limit)
        .map(openHoldOf);
    },
  };
}

function entryReads(tables: MemoryTables): Pick<LedgerReader & MonthStore, 'listEntries' | 'readMonth'> {
  const numberOf = makeNumbers<NewEntry>();
  const numbered = () => tables.entries.map((row) => ({ ...row, seq: numberOf(row) }));
  return {
    async listEntries(page) {
      const entries = numbered().filter((entry) => isEntryAsked(entry, page));
      return newestFirst(entries, page.before, page.limit).map(({ account: _, ...entry }) => entry);
    },
    async readMonth(question) {
      const account = tables.accountMeters.get(question.account);
      const { tagName } = question;
      const valueFor = (total: Pick<DailyTotal, TotalName>) =>
        tagName === null ? null : valueNamed(tables, total, tagName);
      return account === undefined ? null : readMonth(tables, account, numbered(), question, valueFor);
    },
  };
}

/** By the entries of their ends. */
function listCharged(
  tables: MemoryTables,
  stored: readonly StoredUsageRecord[],
  { account, before, sinceMs, untilMs, limit }: Parameters<UsageStore['listCharged']>[0],
): ChargedMessage[] {
  const isAsked = (record: StoredUsageRecord) =>
    record.account === account && record.atMs >= sinceMs && record.atMs <= untilMs;
  return newestFirst(stored.filter(isAsked), before, limit).map((record) => {
    const ends = tables.entries.filter(
      ({ reference, kind }) => reference === record.requestId && (kind === 'usage' || kind === 'write_off'),
    );
    const paidBy = (party: number) => ends.reduce((sum, { debit, amount }) => sum + (debit === party ? amount : 0), 0);
    const { seq, atMs, payer } = record;
    const [planPaid, writtenOff] = [paidBy(systemAccounts.plans), paidBy(systemAccounts.writeOffs)];
    return { seq, atMs, record, balancePaid: paidBy(payer), planPaid, writtenOff };
  });
}

function rowReads(tables: MemoryTables): Pick<LedgerReader, 'listAccountRows' | 'listPersonRows' | 'listKeyLimits'> {
  return {
    listAccountRows: async (page) => pageOf(tables.accountMeters, page),
    listPersonRows: async (page) => pageOf(tables.personMeters, page),
    async listKeyLimits(page) {
      const { rows, last } = pageOf(tables.keyMeters, page);
      return {
        rows: rows.map(({ id, account, person, quota, quotaPeriod, spending }) => ({
          id,
          account,
          person,
          quota,
          quotaPeriod,
          spending,
        })),
        last,
      };
    },
  };
}

function pageOf<Row extends { id: number }>(
  table: ReadonlyMap<number, Row>,
  { after: seen, limit }: { after: number; limit: number },
): RowPage<Row> {
  const rows = [...table.values()]
    .filter(({ id }) => id > seen)
    .sort((one, other) => one.id - other.id)
    .slice(0, limit);
  return { rows, last: rows.length < limit ? null : (rows.at(-1)?.id ?? null) };
}

type Totals = TopQuestion & { tagName?: string | null };

/** Totals of whole days, or between two times. */
function totalsOver(
  tables: MemoryTables,
  stored: () => StoredUsageRecord[],
  isAsked: (of: { account: number; key: number }, question: Totals) => boolean,
) {
  const askedOf = <Total extends Pick<DailyTotal, TotalName>>(totals: Iterable<Total>, question: Totals): Total[] =>
    [...totals]
      .filter((total) => isAsked(total, question) && isOfModelAndGroup(total, question))
      .filter(({ dayMs }) => dayMs + DAY_MS > (question.sinceMs ?? 0) && dayMs <= (question.untilMs ?? Infinity))
      .filter((total) => question.tag == null || valueNamed(tables, total, question.tag.name) === question.tag.value);
  const totalsOf = (question: Totals): UsageTotal[] => {
    const tagOf = (total: Pick<DailyTotal, TotalName>) =>
      question.tagName == null ? null : valueNamed(tables, total, question.tagName);
    return [
      ...askedOf(tables.totals.values(), question).map((total) => partOfTotals(total, tagOf(total))),
      ...askedOf(tables.unitTotals.values(), question).map((total) => partOfUnits(total, tagOf(total))),
    ];
  };
  const inRange = (question: Totals): UsageTotal[] => {
    const { tag = null, tagName = null, endpoint = null, sinceMs, untilMs } = question;
    const all = { days: null, edges: [{ sinceMs: sinceMs ?? 0, untilMs: untilMs ?? Infinity }] };
    const { days, edges } = endpoint === null ? divideRange(question) : all;
    const ofRecords = stored()
      .filter((record) => isAsked(record, question) && isOfModelAndGroup(record, question))
      .filter((record) => isOfEndpoint(record, endpoint))
      .filter(({ tags }) => tag === null || tags[tag.name] === tag.value)
      .filter(({ atMs }) => edges.some(({ sinceMs, untilMs }) => atMs >= sinceMs && atMs <= untilMs))
      .map((record) => ({
        ...totalOfRecord(record),
        dayMs: record.atMs - (record.atMs % DAY_MS),
        tag: tagName === null ? null : (record.tags[tagName] ?? null),
      }));
    return [...(days === null ? [] : totalsOf({ ...question, ...days })), ...ofRecords];
  };
  return { inRange, askedTotals: (question: Totals) => (question.isExact === true ? inRange : totalsOf)(question) };
}

function recordReads(tables: MemoryTables): UsageStore {
  const numberOf = makeNumbers<string>();
  const stored = (): StoredUsageRecord[] =>
    [...tables.endings.values()].map(({ record }) => ({ ...record, seq: numberOf(record.requestId) }));
  const isAsked = (
    of: { account: number; key: number },
    { account, below = false, key, madeBy }: Pick<UsagePage, 'account' | 'below' | 'key' | 'madeBy'>,
  ) =>
    (account === null || of.account === account || (below && isBelow(tables, of.account, account))) &&
    (key === null || of.key === key) &&
    (madeBy === null || isKeyOf(tables.keys.get(of.key) ?? { madeBy: null }, madeBy));
  const { inRange, askedTotals } = totalsOver(tables, stored, isAsked);
  return {
    async listUsage(page) {
      const { outcome, sinceMs, untilMs, before, limit } = page;
      const records = stored()
        .filter((record) => isAsked(record, page) && (outcome === null || record.outcome === outcome))
        .filter((record) => record.atMs >= (sinceMs ?? 0) && record.atMs <= (untilMs ?? Infinity));
      return newestFirst(records, before, limit);
    },
    async searchUsage(search) {
      return searchRecords(
        stored().filter((record) => isAsked(record, search)),
        search,
      );
    },
    async rankUsage(ranking) {
      return rankRecords(
        stored().filter((record) => isAsked(record, ranking)),
        ranking,
      );
    },
    async summarizeUsage(question) {
      const sum = new SummarySum(question);
      const isByDay = question.groupBy === null || question.groupBy === 'day';
      if (question.isOfDays) for (const total of inRange(question)) sum.add(isByDay ? total.dayMs : null, total, null);
      else
        sumRecords(
          sum,
          stored().filter((record) => isAsked(record, question)),
          question,
        );
      const days = askedTotals({ ...question, model: null, tag: null, sinceMs: null, untilMs: null }).map(
        ({ dayMs }) => dayMs ?? 0,
      );
      const firstDayMs = days.length === 0 ? null : Math.min(...days);
      return sum.result({ countedSinceMs: 0, firstDayMs }, bounds.summaryBucketsMax);
    },
    async readTimeline(question) {
      return sumTimeline(tables, question, (of) => isAsked(of, question) && isOfModelAndEndpoint(of, question));
    },
    listCharged: async (page) => listCharged(tables, stored(), page),
    totalUsage: (question) => gatherTotals([askedTotals(question)], question),
    compareUsage: (question) =>
      compareTotals(question, (period, groupings) =>
        Promise.all(
          groupings.map(([groupBy = 'day', ...thenBy]) => {
            const all = { ...period, groupBy, thenBy, limit: Number.MAX_SAFE_INTEGER };
            return gatherTotals([askedTotals(all)], all);
          }),
        ),
      ),
    topUsage: (question) => gatherTop([askedTotals(question)], question),
    async getUsage(requestId) {
      return stored().find((record) => record.requestId === requestId) ?? null;
    },
  };
}

/** Records of messages have no endpoint. */
function isOfEndpoint(of: { endpoint?: Serves }, endpoint: Serves | null = null): boolean {
  return endpoint === null || (of.endpoint ?? 'messages') === endpoint;
}

function isOfModelAndEndpoint(
  of: { model: string; endpoint?: Serves },
  { model, endpoint }: TimelineQuestion,
): boolean {
  return (model === null || of.model === model) && isOfEndpoint(of, endpoint);
}

function isOfModelAndGroup(of: Pick<DailyTotal, 'model' | 'group'>, { model, group = null }: Totals): boolean {
  return (model === null || of.model === model) && (group === null || of.group === group);
}

/** The value of a tag in the set under which a total counts. */
function valueNamed(
  { tagSets }: MemoryTables,
  { account, tagSet }: Pick<DailyTotal, TotalName>,
  name: string,
): string | null {
  if (tagSet === 0) return null;
  const stored = tagSets.find((set) => set.account === account && set.id === tagSet);
  return stored === undefined ? 'other' : (JSON.parse(stored.text)[name] ?? null);
}

export function newestFirst<Row extends { seq: number; atMs: number }>(
  rows: Row[],
  before: number | null,
  limit: number,
): Row[] {
  const sorted = rows.sort((one, other) => other.atMs - one.atMs || other.seq - one.seq);
  return sorted.slice(startOf(sorted, before), limit + startOf(sorted, before));
}

/** After the row numbered `before`; where that was dropped, at the one that came before it. */
function startOf(sorted: readonly { seq: number }[], before: number | null): number {
  if (before === null) return 0;
  const found = sorted.findIndex((row) => row.seq === before);
  if (found >= 0) return found + 1;
  const next = sorted.findIndex((row) => row.seq < before);
  return next < 0 ? sorted.length : next;
}

/** Numbers rows in the order in which they are first seen, which is that in which they came; a row keeps its number. */
function makeNumbers<Row>(): (row: Row) => number {
  const numbers = new Map<Row, number>();
  return (row) => {
    const number = numbers.get(row) ?? numbers.size + 1;
    numbers.set(row, number);
    return number;
  };
}

function listBelow(tables: MemoryTables, id: number): Account[] {
  const below = [...tables.accounts.values()].filter((account) => isBelow(tables, account.id, id));
  return below.sort((one, other) => at(one) - at(other));
}

export function isBelow(tables: MemoryTables, account: number, id: number): boolean {
  const parentId = tables.accounts.get(account)?.parentId ?? null;
  return parentId !== null && (parentId === id || isBelow(tables, parentId, id));
}

const at = ({ createdAtMs }: { createdAtMs: number }) => createdAtMs;
const lower = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
const named = ({ name }: { name: string }) => lower(name);

function sorted<Row extends { id: number }>(
  rows: readonly Row[],
  { order, after: seen, limit }: Omit<SortedPage<string>, 'by'>,
  valueIn: (row: Row) => string | number,
): SortedRow[] {
  const sign = order === 'asc' ? 1 : -1;
  const compare = (one: SortedRow, other: SortedRow) =>
    sign * (one.value === other.value ? one.id - other.id : one.value < other.value ? -1 : 1);
  return rows
    .map((row) => ({ id: row.id, value: valueIn(row) }))
    .sort(compare)
    .filter((row) => seen === null || compare(row, seen) > 0)
    .slice(0, limit);
}

function after<Row extends { id: number; createdAtMs: number }>(
  rows: Row[],
  page: { after: number | null; limit: number },
): Row[] {
  const sorted = rows.sort((one, other) => one.createdAtMs - other.createdAtMs || one.id - other.id);
  const start = page.after === null ? 0 : sorted.findIndex((row) => row.id === page.after) + 1;
  return sorted.slice(start, start + page.limit);
}
