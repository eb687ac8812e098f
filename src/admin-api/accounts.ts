// Accounts: created with their first credit, listed, shown, changed. Accounts are never deleted, because their
// entries stay; they are disabled instead.

import { z } from '@hono/zod-openapi';
import { type Account, type AccountTerms, accountOrders, type FirstCredit } from '../accounts/accounts.ts';
import { formatId, type IdKind, newNumber, parseId } from '../base/ids.ts';
import { formatUsd } from '../base/money.ts';
import { nextTurn } from '../base/timers.ts';
import type { Fault } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import type { AccountMeters } from '../ledger/ledger.ts';
import { invalidMember, invalidRequest, noObject } from './admin-app.ts';
import { changeNote, createOnce, type Made, type Remember, recordAudit } from './changes.ts';
import { type AdminDependencies, holders, holdersWhoChange, maySeeAccount, operator } from './dependencies.ts';
import { encoderOf } from './encode.ts';
import {
  amountField,
  amountShown,
  asciiLower,
  groupsField,
  idField,
  idsFilter,
  nameField,
  noteField,
  periodField,
  timeShown,
} from './fields.ts';
import {
  after,
  afterSorted,
  afterText,
  answerRows,
  answerSorted,
  cursorAfter,
  requesterOf,
  sortQuery,
} from './pages.ts';
import { type AdminRoute, type Call, type CallWith, get, list, patch, post } from './route.ts';

export const accountSchema = z
  .object({
    id: idField('acct'),
    name: z.string(),
    groups: z.array(z.string()),
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
    created_at: timeShown,
  })
  .openapi('Account');

export interface AccountWithMeters {
  account: Account;
  meters: AccountMeters;
}

const encodeAccount = encoderOf(accountSchema);

function accountJson({ account, meters }: AccountWithMeters): z.infer<typeof accountSchema> {
  return encodeAccount({ ...meters, ...account });
}

const encodeTerms = encoderOf(
  accountSchema.pick({
    name: true,
    groups: true,
    status: true,
    credit_line: true,
    allowance: true,
    allowance_period: true,
    low_balances: true,
  }),
);

/** The members that a change can touch, for the audit log: without balances, which change by themselves. */
function accountTermsJson({ account, meters }: { account: Account; meters: Omit<AccountTerms, 'enabled'> }) {
  return encodeTerms({ lowBalances: [], ...meters, ...account });
}

/** The account with this id "acct_…" and its meters, if the principal may see it. Throws object_not_found. */
export async function findAccount(call: Call, id: string): Promise<AccountWithMeters> {
  const number = parseId('acct', id);
  const isSeen = number !== null && maySeeAccount(call.principal, number);
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
  { accounts, principal }: Call,
  asked: string | undefined,
  missing: string,
): Promise<Account> {
  const number = asked === undefined ? principal.accountId : parseId('acct', asked);
  if (asked === undefined && number === null) throw invalidMember('account', missing);
  const isSeen = number !== null && maySeeAccount(principal, number);
  const account = isSeen ? await accounts.getAccount(number) : null;
  if (account === null) throw invalidMember('account', `there is no account "${asked}"`);
  return account;
}

/** The account and those above it, nearest first. */
export async function accountsFrom(accounts: AdminDependencies['accounts'], account: Account): Promise<Account[]> {
  const chain = [account];
  for (let one = account; one.parentId != null && chain.length < bounds.accountLevelsMax; ) {
    const above = await accounts.getAccount(one.parentId);
    if (above === null) break;
    chain.push(above);
    one = above;
  }
  return chain;
}

export async function withMeters({ ledger, clock }: AdminDependencies, account: Account): Promise<AccountWithMeters> {
  const meters = await ledger.accountMeters(account.id, clock.nowMs());
  // Both are written in one transaction, so a missing one is a fault of the store.
  if (meters === null) throw new Error(`account ${account.id} has no row in the ledger`);
  return { account, meters };
}

/** Oldest first. Throws invalid_request together with a cursor: the result is one page. */
export async function findByIds<Row extends { id: number; createdAtMs: number }>(
  { query: { cursor } }: Call<unknown, { cursor?: string | undefined }>,
  kind: IdKind,
  ids: readonly string[],
  find: (id: number) => Promise<Row | null>,
  isSeen: (row: Row) => boolean,
): Promise<Row[]> {
  if (cursor !== undefined) throw invalidMember('cursor', 'cannot be combined with ids');
  const numbers = ids.map((id) => parseId(kind, id)).filter((id) => id !== null);
  const rows = await Promise.all(numbers.map(find));
  return rows
    .filter((row) => row !== null)
    .filter(isSeen)
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
};

const createBody = z.strictObject({
  ...changeable,
  groups: changeable.groups.default(['default']),
  credit_line: changeable.credit_line.optional(),
  allowance: changeable.allowance.optional(),
  allowance_period: changeable.allowance_period.optional(),
  low_balances: changeable.low_balances.optional(),
  credit: amountField(0).optional().describe('Its initial credit in USD.'),
  credit_kind: z.enum(['payment', 'promotion']).default('payment').describe('The kind of its initial credit.'),
  note: noteField.optional().describe('The note of its initial credit.'),
  reference: noteField.optional().describe('The reference of its initial credit.'),
});
const changeBody = z.strictObject({ ...changeable, status: z.enum(['enabled', 'disabled']) }).partial();
const params = z.object({ id: idField('acct') });

export const accountRoutes: AdminRoute[] = [
  post('/accounts', 'account-create', 'Create an account', operator, {
    body: createBody,
    isCreation: true,
    answer: [accountSchema, 'The account'],
    links: ['account-show', 'account-change', 'credit-create', 'entry-list'],
    async handle(call) {
      const created = await createOnce(call, (remember) => storeAccount(call, remember));
      return accountJson(await findAccount(call, created.object));
    },
  }),
  list('/accounts', 'account-list', 'List accounts', holders, {
    query: {
      name: nameField.optional().describe('Part of the account’s name; case-insensitive.'),
      group: z.string().optional().describe('Only accounts in this group.'),
      ids: idsFilter('acct').optional(),
      ...sortQuery(accountOrders),
    },
    page: [accountSchema, 'Accounts, oldest first by default'],
    async handle(call) {
      const { principal, accounts } = call;
      const { limit, name, group, ids, sort, order } = call.query;
      const isWanted = accountFilter(name, group);
      const json = async (row: Account) => accountJson(await withMeters(call, row));
      if (ids !== undefined) {
        const isSeen = (row: Account) => maySeeAccount(principal, row.id) && isWanted(row);
        return answerRows(await findByIds(call, 'acct', ids, accounts.getAccount, isSeen), json, null);
      }
      if (principal.accountId !== null) {
        const { account } = await findAccount(call, formatId('acct', principal.accountId));
        return answerRows(afterText(call) === null && isWanted(account) ? [account] : [], json, null);
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
    handle: async (call) => accountJson(await findAccount(call, call.params.id)),
  }),
  patch(
    '/accounts/{id}',
    'account-change',
    'Update an account; owners only its low balance notices',
    holdersWhoChange,
    {
      params,
      body: changeBody,
      answer: [accountSchema, 'The updated account'],
      async handle(call) {
        const { id } = call.params;
        if (call.principal.accountId !== null) refuseOperatorsMembers(call);
        const changed = await call.changeInTurn(async () => {
          const before = await findAccount(call, id);
          const { account, terms } = changedAccount(before, call.body);
          if (call.body.groups !== undefined) await checkGroupsExist(call, account.groups);
          const after = accountTermsJson({ account, meters: terms });
          const note = changeNote('account.update', id, account.id, accountTermsJson(before), after);
          await call.accounts.updateAccount(account, terms, recordAudit(call, [note]));
          call.forgetAccount(account.id);
          return findAccount(call, id);
        });
        return accountJson(changed);
      },
    },
  ),
];

/** Throws invalid_request for what only an operator can change. */
function refuseOperatorsMembers({ body: { low_balances: _, ...others } }: CallWith<typeof changeBody>): void {
  for (const [name, value] of Object.entries(others))
    if (value !== undefined) throw invalidMember(name, 'can be set by operators only');
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
  const { body } = call;
  await checkGroupsExist(call, body.groups);
  const {
    name,
    groups,
    credit_line: creditLine = 0,
    allowance = null,
    allowance_period: allowancePeriod = 'total',
    low_balances: lowBalances = [],
  } = body;
  const account: Account = { id: newNumber(), name, groups, status: 'enabled', createdAtMs: call.clock.nowMs() };
  const terms: AccountTerms = { enabled: true, creditLine, allowance, allowancePeriod, lowBalances };
  const credit = firstCredit(body);
  const object = formatId('acct', account.id);
  const shown = { ...accountTermsJson({ account, meters: terms }), credit: formatUsd(credit?.amount ?? 0) };
  const note = changeNote('account.create', object, account.id, null, shown);
  await call.accounts.createAccount(account, terms, credit, recordAudit(call, [note], remember(object, null)));
  return { object, secret: null };
}

function firstCredit(body: z.output<typeof createBody>): FirstCredit | null {
  const { credit: amount = 0, credit_kind: kind, reference = null, note = null } = body;
  return amount === 0 ? null : { amount, kind, reference, note };
}

/** The account and its terms after a change; absent members stay. */
function changedAccount(
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
  const { low_balances: lowBalances = meters.lowBalances } = body;
  return {
    account: { ...account, name, groups, status },
    terms: { enabled: status === 'enabled', creditLine, allowance, allowancePeriod, lowBalances },
  };
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
