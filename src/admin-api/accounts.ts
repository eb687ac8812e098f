// Accounts: created with their first credit, listed, shown, changed. Accounts are never deleted, because their
// entries stay; they are disabled instead.

import { z } from '@hono/zod-openapi';
import {
  type Account,
  type AccountTerms,
  accountOrders,
  type FirstCredit,
  groupsWithin,
  NO_TAGS,
  payingAccountOf,
  planAt,
  type SortedRow,
  type TagRules,
} from '../accounts/accounts.ts';
import { formatId, type IdKind, newNumber, parseId } from '../base/ids.ts';
import { formatUsd } from '../base/money.ts';
import { nextTurn } from '../base/timers.ts';
import type { Fault } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import type { AccountMeters } from '../ledger/ledger.ts';
import {
  checkGroupsAbove,
  checkPayer,
  checkPlace,
  findParent,
  refuseOperatorsCreation,
  refuseOperatorsMembers,
} from './account-tree.ts';
import { invalidMember, invalidRequest, noObject } from './admin-app.ts';
import { changeNote, createOnce, type Made, type Remember, recordAudit } from './changes.ts';
import { type AdminDependencies, holders, holdersWhoChange, listChain, maySeeAccount } from './dependencies.ts';
import { encoderOf } from './encode.ts';
import {
  accountField,
  accountShown,
  amountField,
  amountShown,
  asciiLower,
  groupsField,
  idField,
  idsFilter,
  nameField,
  noteField,
  periodField,
  tagNamesField,
  tagsField,
  tagsShown,
  timeShown,
} from './fields.ts';
import {
  after,
  afterSorted,
  answerRows,
  answerSorted,
  cursorAfter,
  type PageCall,
  type PageResponse,
  requesterOf,
  sortQuery,
} from './pages.ts';
import { budgetField, budgetOf, budgetShown, budgetTerms, warnsAtField } from './person-budget.ts';
import { type AdminRoute, type Call, type CallWith, get, list, patch, post } from './route.ts';
import { belowFilter } from './usage-filters.ts';
import { hideable } from './visibility.ts';

const paysFromField = z.enum(['own', 'parent'], { error: 'must be own or parent' });
const DEFAULT_WARNS_AT = [80, 100];

export const accountSchema = z
  .object({
    id: idField('acct'),
    name: z.string(),
    groups: hideable('group', z.array(z.string())),
    status: z.enum(['enabled', 'disabled']),
    balance: amountShown,
    held: amountShown,
    available: amountShown,
    debt: amountShown.describe('What a reversed payment left to pay beyond the floor of the balance.'),
    credit_line: amountShown,
    allowance: amountShown.nullable(),
    allowance_period: periodField,
    allowance_used: amountShown,
    low_balances: z.array(amountShown).describe('Thresholds of the event balance.low.'),
    parent: accountShown
      .nullable()
      .describe('The account above; null: none, or, for people and tokens of this account, one that they do not see.'),
    pays_from: paysFromField.describe('Whose balance pays for its messages: its own, or that of the account above.'),
    is_disabled_above: z
      .boolean()
      .describe('Whether an account above is disabled: keys of this account do not work either.'),
    person_budget: budgetShown
      .nullable()
      .describe('The most that a person may use with keys of this account and of those below; null: no limit.'),
    warns_at: z.array(z.int()).describe('Percentages of limits at which events tell of the use.'),
    tags: tagsShown,
    tags_required: z.array(z.string()),
    tags_pinned: z.array(z.string()),
    created_at: timeShown,
  })
  .openapi('Account');

export interface AccountWithMeters {
  account: Account;
  meters: AccountMeters;
  /** Whether an account above is disabled. */
  isDisabledAbove: boolean;
}

const encodeAccount = encoderOf(accountSchema);

/** People and tokens of an account do not see the account above it. */
function accountJson(
  { principal }: Call,
  { account, meters, isDisabledAbove }: AccountWithMeters,
): z.infer<typeof accountSchema> {
  const company = companyOf(account, meters);
  const parentId = principal.accountId === account.id ? null : company.parentId;
  return encodeAccount({ ...meters, ...account, ...company, ...tagMembers(account), parentId, isDisabledAbove });
}

/** Values for the members about the company. */
function companyOf({ parentId = null, paysFrom = 'own' }: Account, { personBudget, warnsAt }: CompanyMeters) {
  return { parentId, paysFrom, personBudget: personBudget && budgetOf(personBudget), warnsAt };
}

type CompanyMeters = Pick<AccountMeters, 'personBudget' | 'warnsAt'>;

const encodeTerms = encoderOf(
  accountSchema.pick({
    name: true,
    groups: true,
    status: true,
    credit_line: true,
    allowance: true,
    allowance_period: true,
    low_balances: true,
    parent: true,
    pays_from: true,
    person_budget: true,
    warns_at: true,
    tags: true,
    tags_required: true,
    tags_pinned: true,
  }),
);

/** The members that a change can touch, for the audit log: without balances, which change by themselves. */
function accountTermsJson({ account, meters }: Pick<AccountWithMeters, 'account'> & { meters: ShownTerms }) {
  return encodeTerms({ lowBalances: [], ...meters, ...account, ...companyOf(account, meters), ...tagMembers(account) });
}

type ShownTerms = Omit<AccountTerms, 'enabled' | 'company'> & CompanyMeters;

function tagMembers({ tags = NO_TAGS, tagRules = NO_RULES }: Account) {
  return { tags, tagsRequired: tagRules.required, tagsPinned: tagRules.pinned };
}

const NO_RULES: TagRules = { required: [], pinned: [] };

/** The account with this id "acct_…" and its meters, if the principal may see it. Throws object_not_found. */
export async function findAccount(call: Call, id: string): Promise<AccountWithMeters> {
  const number = parseId('acct', id);
  const isSeen = number !== null && (await maySeeAccount(call, number));
  const account = isSeen ? await call.accounts.getAccount(number) : null;
  if (account === null) throw noObject('account', id);
  return withMeters(call, account);
}

/** The number of the account that a query asks for; null without one. Throws object_not_found. */
export async function askedAccount(call: Call, id: string | undefined): Promise<number | null> {
  return id === undefined ? null : (await findAccount(call, id)).account.id;
}

/** The account of a new object: the one asked for, or the principal's own. Throws invalid_request. */
export async function accountForNew(
  call: Call,
  asked: string | undefined,
  missing: string,
  member = 'account',
): Promise<Account> {
  const { accounts, principal } = call;
  const number = asked === undefined ? principal.accountId : parseId('acct', asked);
  if (asked === undefined && number === null) throw invalidMember(member, missing);
  const isSeen = number !== null && (await maySeeAccount(call, number));
  const account = isSeen ? await accounts.getAccount(number) : null;
  if (account === null) throw invalidMember(member, `there is no account "${asked}"`);
  return account;
}

/** The groups that the account's keys may be in: its own and those of the plan that pays, as far as the accounts above allow. */
export async function groupsFor(
  { accounts, ledger, clock }: AdminDependencies,
  account: Account,
): Promise<readonly string[]> {
  const nowMs = clock.nowMs();
  const above = (await listChain(accounts, account.id)).slice(1);
  const { plan = null } = (await ledger.accountMeters(payingAccountOf({ account, above }).id, nowMs)) ?? {};
  return groupsWithin({ account, above }, planAt(plan, nowMs));
}

export async function withMeters(
  { accounts, ledger, clock }: AdminDependencies,
  account: Account,
): Promise<AccountWithMeters> {
  const meters = await ledger.accountMeters(account.id, clock.nowMs());
  // Both are written in one transaction, so a missing one is a fault of the store.
  if (meters === null) throw new Error(`account ${account.id} has no row in the ledger`);
  const above = account.parentId == null ? [] : await listChain(accounts, account.parentId);
  return { account, meters, isDisabledAbove: above.some(({ status }) => status === 'disabled') };
}

/** Oldest first. Throws invalid_request together with a cursor: the result is one page. */
export async function findByIds<Row extends { id: number; createdAtMs: number }>(
  { query: { cursor } }: Call<unknown, { cursor?: string | undefined }>,
  kind: IdKind,
  ids: readonly string[],
  find: (id: number) => Promise<Row | null>,
  isSeen: (row: Row) => boolean | Promise<boolean>,
): Promise<Row[]> {
  if (cursor !== undefined) throw invalidMember('cursor', 'cannot be combined with ids');
  const numbers = ids.map((id) => parseId(kind, id)).filter((id) => id !== null);
  const rows = await Promise.all(
    numbers.map(async (number) => {
      const row = await find(number);
      return row !== null && (await isSeen(row)) ? row : null;
    }),
  );
  return rows
    .filter((row) => row !== null)
    .sort((one, other) => one.createdAtMs - other.createdAtMs || one.id - other.id);
}

const changeable = {
  name: nameField,
  groups: groupsField.describe('The groups that its keys may be in.'),
  credit_line: amountField(0).describe('How far its balance may go below zero.'),
  allowance: amountField(0).nullable().describe('The most that it may spend in a period.'),
  allowance_period: periodField.describe('When the allowance is reset; total: never.'),
  low_balances: z
    .array(amountField(0).refine((amount) => amount > 0, 'must be above zero'))
    .max(bounds.lowBalancesMax, `must have at most ${bounds.lowBalancesMax} thresholds`)
    .describe('The event balance.low is emitted when less than one of these is left.'),
  parent: accountField.nullable().describe('The account above, at most three levels in all; null: none.'),
  pays_from: paysFromField.describe('parent: the balance and plan of the account above pay for its messages.'),
  person_budget: budgetField
    .nullable()
    .describe('The most that a person may use with keys of this account and of those below.'),
  warns_at: warnsAtField.describe('Percentages of limits at which events tell of the use, ascending.'),
  tags: tagsField.describe('Tags of all messages of the account, before those of people, keys and clients.'),
  tags_required: tagNamesField.describe('Names of tags without which a message is refused.'),
  tags_pinned: tagNamesField.describe('Names of tags that clients cannot set.'),
};

const createBody = z.strictObject({
  ...changeable,
  groups: changeable.groups
    .optional()
    .describe(
      'The groups that its keys may be in; by default the group default, for owners those of the account above.',
    ),
  parent: changeable.parent.optional().describe('The account above; for owners by default their own.'),
  pays_from: changeable.pays_from.optional().describe('By default own; for owners always parent.'),
  person_budget: changeable.person_budget.optional(),
  warns_at: changeable.warns_at.optional(),
  credit_line: changeable.credit_line.optional(),
  allowance: changeable.allowance.optional(),
  allowance_period: changeable.allowance_period.optional(),
  low_balances: changeable.low_balances.optional(),
  tags: changeable.tags.optional(),
  tags_required: changeable.tags_required.optional(),
  tags_pinned: changeable.tags_pinned.optional(),
  credit: amountField(0).optional().describe('Its initial credit in USD.'),
  credit_kind: z.enum(['payment', 'promotion']).default('payment').describe('The kind of its initial credit.'),
  note: noteField.optional().describe('The note of its initial credit.'),
  reference: noteField.optional().describe('The reference of its initial credit.'),
});
const changeBody = z.strictObject({ ...changeable, status: z.enum(['enabled', 'disabled']) }).partial();
const params = z.object({ id: idField('acct') });

export const accountRoutes: AdminRoute[] = [
  post('/accounts', 'account-create', 'Create an account; owners one below theirs', holdersWhoChange, {
    body: createBody,
    isCreation: true,
    answer: [accountSchema, 'The account'],
    links: ['account-show', 'account-change', 'credit-create', 'entry-list'],
    async handle(call) {
      const created = await createOnce(call, (remember) => storeAccount(call, remember));
      return accountJson(call, await findAccount(call, created.object));
    },
  }),
  list('/accounts', 'account-list', 'List accounts', holders, {
    query: {
      name: nameField.optional().describe('Part of the account’s name; case-insensitive.'),
      group: z.string().optional().describe('Only accounts in this group.'),
      ids: idsFilter('acct').optional(),
      parent: accountField.optional().describe('Only accounts directly below this one.'),
      below: belowFilter.describe('With `parent`: whether to list accounts on all levels below it.'),
      ...sortQuery(accountOrders),
    },
    page: [accountSchema, 'Accounts, oldest first by default; for owners, their account and those below it'],
    async handle(call) {
      const { principal, accounts } = call;
      const { limit, name, group, ids, parent, below, sort, order } = call.query;
      const isWanted = accountFilter(name, group);
      const json = async (row: Account) => accountJson(call, await withMeters(call, row));
      if (ids !== undefined) {
        if (parent !== undefined) throw invalidMember('parent', 'cannot be combined with ids');
        const isSeen = async (row: Account) => isWanted(row) && (await maySeeAccount(call, row.id));
        return answerRows(await findByIds(call, 'acct', ids, accounts.getAccount, isSeen), json, null);
      }
      if (parent !== undefined) {
        const { account } = await findAccount(call, parent);
        const isNear = (row: Account) => below === 'true' || row.parentId === account.id;
        return answerTree(call, (await accounts.listBelow(account.id)).filter(isNear).filter(isWanted), json);
      }
      if (principal.accountId !== null) {
        const { account } = await findAccount(call, formatId('acct', principal.accountId));
        return answerTree(call, [account, ...(await accounts.listBelow(account.id))].filter(isWanted), json);
      }
      if (sort !== 'created' || order !== 'asc') {
        const part = name === undefined ? null : asciiLower(name);
        const question = { by: sort, order, name: part, group: group ?? null, after: afterSorted(call, sort), limit };
        return answerSorted(
          call,
          sort,
          await accounts.sortAccounts(question, requesterOf(call)),
          accounts.getAccount,
          json,
        );
      }
      const from = after(call);
      const { rows, last } = await searchAccounts(accounts, isWanted, from, limit);
      return answerRows(rows, json, last === null ? null : cursorAfter(call, last));
    },
  }),
  get('/accounts/{id}', 'account-show', 'Retrieve an account', holders, {
    params,
    answer: [accountSchema, 'The account'],
    handle: async (call) => accountJson(call, await findAccount(call, call.params.id)),
  }),
  patch(
    '/accounts/{id}',
    'account-change',
    'Update an account; owners their thresholds and budgets, and accounts below',
    holdersWhoChange,
    {
      params,
      body: changeBody,
      answer: [accountSchema, 'The updated account'],
      async handle(call) {
        const { id } = call.params;
        const changed = await call.changeInTurn(async () => {
          const before = await findAccount(call, id);
          refuseOperatorsMembers(call, before.account, call.body);
          const { account, terms } = changedAccount(before, call.body);
          await checkChange(call, before.account, account, terms);
          const after = accountTermsJson({ account, meters: { ...before.meters, ...terms, ...terms.company } });
          const note = changeNote('account.update', id, account.id, accountTermsJson(before), after);
          await call.accounts.updateAccount(account, terms, recordAudit(call, [note]));
          call.forgetAccount(account.id);
          return findAccount(call, id);
        });
        return accountJson(call, changed);
      },
    },
  ),
];

/** Throws invalid_request for a place, a payer or groups that the account cannot have. */
async function checkChange(
  call: CallWith<typeof changeBody>,
  before: Account,
  account: Account,
  { creditLine }: AccountTerms,
): Promise<void> {
  const { parent, groups } = call.body;
  const isMoved = (account.parentId ?? null) !== (before.parentId ?? null);
  const above = parent == null ? [] : await findParent(call, parent);
  if (isMoved) await checkPlace(call, account, above);
  checkPayer(account, creditLine);
  if (groups === undefined) return;
  await checkGroupsExist(call, groups);
  if (call.principal.accountId === null || account.parentId == null) return;
  const [nearest] = await listChain(call.accounts, account.parentId);
  if (nearest !== undefined) await checkGroupsAbove(call, groups, nearest);
}

/** A page of accounts in memory, sorted as asked: a bounded number of accounts is below another. */
async function answerTree<Json>(
  call: PageCall & { query: { sort: (typeof accountOrders)[number]; order: 'asc' | 'desc' } },
  rows: readonly Account[],
  json: (row: Account) => Promise<Json>,
): Promise<PageResponse<Json>> {
  const { accounts, query } = call;
  const { sort, order, limit } = query;
  const sorted: SortedRow[] = [];
  for (const row of rows) {
    if (sort === 'balance') sorted.push({ id: row.id, value: (await withMeters(call, row)).meters.balance });
    else sorted.push({ id: row.id, value: sort === 'name' ? asciiLower(row.name) : row.createdAtMs });
  }
  const sign = order === 'asc' ? 1 : -1;
  const compare = (one: SortedRow, other: SortedRow) => {
    if (one.value === other.value) return sign * (one.id - other.id);
    return one.value < other.value ? -sign : sign;
  };
  const last = afterSorted(call, sort);
  const page = sorted.filter((one) => last === null || compare(one, last) > 0).sort(compare);
  return answerSorted(call, sort, page.slice(0, limit), accounts.getAccount, json);
}

function accountFilter(name: string | undefined, group: string | undefined): (account: Account) => boolean {
  const part = name?.toLowerCase();
  return (account) =>
    (part === undefined || account.name.toLowerCase().includes(part)) &&
    (group === undefined || account.groups.includes(group));
}

/**
 * Up to `limit` matching accounts, from a bounded number of rows. `last` is the cursor of the next page; null at the
 * end.
 */
async function searchAccounts(
  accounts: AdminDependencies['accounts'],
  isWanted: (account: Account) => boolean,
  from: number | null,
  limit: number,
): Promise<{ rows: Account[]; last: number | null }> {
  const rows: Account[] = [];
  let after = from;
  for (let looked = 0; looked < bounds.accountsSearchedMax; ) {
    const page = await accounts.listAccounts({ after, limit });
    for (const account of page) {
      after = account.id;
      if (isWanted(account) && rows.push(account) === limit) return { rows, last: after };
    }
    if (page.length < limit) return { rows, last: null };
    looked += page.length;
    await nextTurn();
  }
  return { rows, last: after };
}

async function storeAccount(call: CallWith<typeof createBody>, remember: Remember): Promise<Made> {
  const { body, principal } = call;
  if (principal.accountId !== null) refuseOperatorsCreation(body);
  const ofOwner = principal.accountId === null ? undefined : formatId('acct', principal.accountId);
  const parent = body.parent ?? ofOwner;
  const above = parent === undefined ? [] : await findParent(call, parent);
  const allowed = ofOwner === undefined || above[0] === undefined ? null : await groupsFor(call, above[0]);
  const groups = body.groups ?? (allowed === null ? ['default'] : withoutOthers(above[0]?.groups ?? [], allowed));
  await checkGroupsExist(call, groups);
  const {
    name,
    pays_from: paysFrom = ofOwner === undefined ? 'own' : 'parent',
    credit_line: creditLine = 0,
    allowance = null,
    allowance_period: allowancePeriod = 'total',
    low_balances: lowBalances = [],
  } = body;
  const place = { parentId: above[0]?.id ?? null, paysFrom };
  const blank = { id: newNumber(), status: 'enabled', createdAtMs: call.clock.nowMs() } as const;
  const account: Account = withTags({ ...blank, name, groups, ...place }, body);
  await checkPlace(call, account, above);
  checkPayer(account, creditLine);
  if (ofOwner !== undefined && above[0] !== undefined) await checkGroupsAbove(call, groups, above[0]);
  const { person_budget: budget = null, warns_at: warnsAt = DEFAULT_WARNS_AT } = body;
  const company = { personBudget: budget && budgetTerms(budget), warnsAt };
  const terms: AccountTerms = { enabled: true, creditLine, allowance, allowancePeriod, lowBalances, company };
  const credit = firstCredit(body);
  if (credit !== null && paysFrom === 'parent')
    throw invalidMember('credit', 'must be absent: the account pays from the one above');
  const object = formatId('acct', account.id);
  const shown = {
    ...accountTermsJson({ account, meters: { ...terms, ...company } }),
    credit: formatUsd(credit?.amount ?? 0),
  };
  const note = changeNote('account.create', object, account.id, null, shown);
  await call.accounts.createAccount(account, terms, credit, recordAudit(call, [note], remember(object, null)));
  return { object, secret: null };
}

function withoutOthers(groups: readonly string[], allowed: readonly string[]): string[] {
  return groups.filter((group) => allowed.includes(group));
}

function firstCredit(body: z.output<typeof createBody>): FirstCredit | null {
  const { credit: amount = 0, credit_kind: kind, reference = null, note = null } = body;
  return amount === 0 ? null : { amount, kind, reference, note };
}

/** The account and its terms after a change; absent members stay. */
export function changedAccount(
  { account, meters }: AccountWithMeters,
  body: z.output<typeof changeBody>,
): { account: Account; terms: AccountTerms } {
  const creditLine = body.credit_line ?? meters.creditLine;
  if (meters.balance + creditLine < meters.held) {
    const message = `must be at least ${formatUsd(meters.held - meters.balance)}, the amount that the account owes plus the amount on hold`;
    throw invalidMember('credit_line', message);
  }
  const { name = account.name, groups = account.groups, status = account.status } = body;
  const { allowance = meters.allowance, allowance_period: allowancePeriod = meters.allowancePeriod } = body;
  const { low_balances: lowBalances = meters.lowBalances, pays_from: paysFrom = account.paysFrom ?? 'own' } = body;
  const parentId = body.parent === undefined ? (account.parentId ?? null) : parseId('acct', body.parent ?? '');
  const { person_budget: budget, warns_at: warnsAt = meters.warnsAt } = body;
  const personBudget = budget === undefined ? meters.personBudget : budget && budgetTerms(budget);
  const company = { personBudget, warnsAt };
  return {
    account: withTags({ ...account, name, groups, status, parentId, paysFrom }, body),
    terms: { enabled: status === 'enabled', creditLine, allowance, allowancePeriod, lowBalances, company },
  };
}

/** The account with these tags and rules; absent ones stay. */
function withTags(
  account: Account,
  { tags = account.tags, ...body }: Pick<z.output<typeof changeBody>, 'tags' | 'tags_required' | 'tags_pinned'>,
): Account {
  const required = body.tags_required ?? account.tagRules?.required ?? [];
  const pinned = body.tags_pinned ?? account.tagRules?.pinned ?? [];
  const hasRules = required.length + pinned.length > 0 || account.tagRules !== undefined;
  return { ...account, ...(tags !== undefined && { tags }), ...(hasRules && { tagRules: { required, pinned } }) };
}

/** Reads the store: this node's snapshot may be outdated. */
async function checkGroupsExist({ catalog }: AdminDependencies, groups: readonly string[]): Promise<void> {
  const documents = await catalog.documents();
  const known = new Set(documents.filter(({ kind }) => kind === 'group').map(({ name }) => name));
  const faults: Fault[] = groups.flatMap((group, at) =>
    known.has(group) ? [] : [{ path: ['groups', at], message: `there is no group "${group}"` }],
  );
  if (faults.length > 0) throw invalidRequest(faults);
}
