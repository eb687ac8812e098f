// Accounts: made with their first credit, listed, shown, changed. An account is never deleted: its
// entries stay, so it is disabled instead.

import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { Account, AccountTerms, FirstCredit } from '../accounts/accounts.ts';
import { formatId, newNumber } from '../base/ids.ts';
import { formatUsd } from '../base/money.ts';
import { nextTurn } from '../base/next-turn.ts';
import type { Fault } from '../catalog/catalog.ts';
import { bounds } from '../config.ts';
import {
  type AccountWithMeters,
  accountJson,
  accountSchema,
  accountTermsJson,
  findAccount,
  withMeters,
} from './account-json.ts';
import { type AdminApp, type AdminEnvironment, invalidRequest } from './admin-app.ts';
import { answerPage } from './answer-page.ts';
import { idField, jsonAnswer, jsonBody, linksById, pageAnswer } from './answers.ts';
import { createOnce, type Remember } from './create-once.ts';
import { defineRoute } from './define-route.ts';
import type { AdminDependencies } from './dependencies.ts';
import { amountField, groupsField, idsFilter, nameField, noteField, periodField } from './fields.ts';
import { findByIds } from './find-by-ids.ts';
import { pageQuery, pagesOf } from './pages.ts';
import { holders, maySeeAccount, operator } from './principal.ts';
import { leaveTrail } from './trail.ts';
import type { TakeTurn } from './turns.ts';

const PATH = '/api/v1/accounts';

const changeable = {
  name: nameField,
  groups: groupsField,
  credit_line: amountField(0),
  allowance: amountField(0).nullable(),
  allowance_period: periodField,
};

const createBody = z.strictObject({
  ...changeable,
  groups: groupsField.default(['default']),
  credit_line: changeable.credit_line.optional(),
  allowance: changeable.allowance.optional(),
  allowance_period: changeable.allowance_period.optional(),
  credit: amountField(0).optional(),
  credit_kind: z.enum(['payment', 'promotion']).default('payment'),
  note: noteField.optional(),
  reference: noteField.optional(),
});
const changeBody = z.strictObject({ ...changeable, status: z.enum(['enabled', 'disabled']) }).partial();
const params = z.object({ id: idField('acct') });

const createAccount = defineRoute({
  operationId: 'account-create',
  summary: 'Make an account, with its first credit',
  roles: operator,
  isCreation: true,
  method: 'post',
  path: PATH,
  request: { body: jsonBody(createBody) },
  responses: {
    201: {
      ...jsonAnswer(accountSchema, 'The account'),
      links: linksById('account-show', 'account-change', 'credit-create', 'entry-list'),
    },
  },
});
const listAccounts = defineRoute({
  operationId: 'account-list',
  summary: 'List accounts',
  roles: holders,
  method: 'get',
  path: PATH,
  request: {
    query: z.strictObject({
      ...pageQuery,
      name: nameField.optional().openapi({ description: 'That their names have it in them, in capitals or not.' }),
      group: z.string().optional().openapi({ description: 'That they are in this group.' }),
      ids: idsFilter('acct').optional(),
    }),
  },
  responses: { 200: pageAnswer(accountSchema, 'Accounts, oldest first') },
});
const showAccount = defineRoute({
  operationId: 'account-show',
  summary: 'Show an account',
  roles: holders,
  method: 'get',
  path: `${PATH}/{id}`,
  request: { params },
  responses: { 200: jsonAnswer(accountSchema, 'The account') },
});
const changeAccount = defineRoute({
  operationId: 'account-change',
  summary: 'Change an account',
  roles: operator,
  method: 'patch',
  path: `${PATH}/{id}`,
  request: { params, body: jsonBody(changeBody) },
  responses: { 200: jsonAnswer(accountSchema, 'The account as it is now') },
});

export function addAccounts(app: AdminApp, dependencies: AdminDependencies, takeTurn: TakeTurn): void {
  const { accounts } = dependencies;
  app.openapi(createAccount, async (context) => {
    const body = context.req.valid('json');
    const created = await takeTurn(context, () =>
      createOnce(dependencies, context, body, (remember) => storeAccount(dependencies, context, body, remember)),
    );
    return context.json(accountJson(await findAccount(dependencies, context.get('principal'), created.object)), 201);
  });
  app.openapi(listAccounts, async (context) => {
    const { limit, cursor, name, group, ids } = context.req.valid('query');
    const isWanted = accountFilter(name, group);
    const rowJson = async (row: Account) => accountJson(await withMeters(dependencies, row));
    if (ids !== undefined) {
      const isSeen = (row: Account) => maySeeAccount(context.get('principal'), row.id) && isWanted(row);
      return answerPage(await findByIds({ kind: 'acct', ids, cursor }, accounts.getAccount, isSeen), rowJson, null);
    }
    const pages = pagesOf(dependencies, context);
    const after = pages.after(cursor);
    const own = context.get('principal').accountId;
    if (own !== null) {
      const account = await findAccount(dependencies, context.get('principal'), formatId('acct', own));
      const isShown = after === null && isWanted(account.account);
      return context.json({ data: isShown ? [accountJson(account)] : [], next_cursor: null }, 200);
    }
    const { rows, last } = await searchAccounts(accounts, isWanted, after, limit);
    const next = last === null ? null : pages.next(limit, limit, last);
    return answerPage(rows, rowJson, next);
  });
  app.openapi(showAccount, async (context) =>
    context.json(
      accountJson(await findAccount(dependencies, context.get('principal'), context.req.valid('param').id)),
      200,
    ),
  );
  app.openapi(changeAccount, async (context) => {
    const { id } = context.req.valid('param');
    const body = context.req.valid('json');
    const principal = context.get('principal');
    const after = await takeTurn(context, async () => {
      const before = await findAccount(dependencies, principal, id);
      const { account, terms } = changed(before, body);
      if (body.groups !== undefined) await checkGroupsExist(dependencies, account.groups);
      const meters = { ...before.meters, ...terms };
      const note = {
        action: 'account.update',
        object: id,
        account: account.id,
        before: accountTermsJson(before),
        after: accountTermsJson({ account, meters }),
      };
      await accounts.updateAccount(account, terms, leaveTrail(dependencies, context, [note]));
      dependencies.forgetAccount(account.id);
      return findAccount(dependencies, principal, id);
    });
    return context.json(accountJson(after), 200);
  });
}

function accountFilter(name: string | undefined, group: string | undefined): (account: Account) => boolean {
  const part = name?.toLowerCase();
  return (account) =>
    (part === undefined || account.name.toLowerCase().includes(part)) &&
    (group === undefined || account.groups.includes(group));
}

/**
 * At most `limit` accounts that are wanted, of so many as one page looks through; `last` is the one after which the next
 * page begins, null where there is none.
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

async function storeAccount(
  dependencies: AdminDependencies,
  context: Context<AdminEnvironment>,
  body: z.output<typeof createBody>,
  remember: Remember,
): Promise<{ object: string; secret: null }> {
  await checkGroupsExist(dependencies, body.groups);
  const account: Account = {
    id: newNumber(),
    name: body.name,
    groups: body.groups,
    status: 'enabled',
    createdAtMs: dependencies.clock.nowMs(),
  };
  const terms: AccountTerms = {
    enabled: true,
    creditLine: body.credit_line ?? 0,
    allowance: body.allowance ?? null,
    allowancePeriod: body.allowance_period ?? 'total',
  };
  const credit = firstCredit(body);
  const object = formatId('acct', account.id);
  const after = { ...accountTermsJson({ account, meters: terms }), credit: formatUsd(credit?.amount ?? 0) };
  const note = { action: 'account.create', object, account: account.id, before: null, after };
  const trail = leaveTrail(dependencies, context, [note], remember(object, null));
  await dependencies.accounts.createAccount(account, terms, credit, trail);
  return { object, secret: null };
}

function firstCredit(body: z.output<typeof createBody>): FirstCredit | null {
  if ((body.credit ?? 0) === 0) return null;
  return {
    amount: body.credit as number,
    kind: body.credit_kind,
    reference: body.reference ?? null,
    note: body.note ?? null,
  };
}

/** The account and its terms after a change; what the change does not name stays. */
function changed(
  { account, meters }: AccountWithMeters,
  body: z.output<typeof changeBody>,
): { account: Account; terms: AccountTerms } {
  const creditLine = body.credit_line ?? meters.creditLine;
  if (meters.balance + creditLine < meters.held) {
    const message = `must be at least ${formatUsd(meters.held - meters.balance)}, what is owed and held now`;
    throw invalidRequest([{ path: ['credit_line'], message }]);
  }
  const status = body.status ?? account.status;
  return {
    account: { ...account, name: body.name ?? account.name, groups: body.groups ?? account.groups, status },
    terms: {
      enabled: status === 'enabled',
      creditLine,
      allowance: body.allowance === undefined ? meters.allowance : body.allowance,
      allowancePeriod: body.allowance_period ?? meters.allowancePeriod,
    },
  };
}

/** Asks what is stored: this node's snapshot may be older than what its turn goes by. */
async function checkGroupsExist({ catalog }: AdminDependencies, groups: readonly string[]): Promise<void> {
  const documents = await catalog.documents();
  const known = new Set(documents.filter(({ kind }) => kind === 'group').map(({ name }) => name));
  const faults: Fault[] = groups.flatMap((group, at) =>
    known.has(group) ? [] : [{ path: ['groups', at], message: `there is no group "${group}"` }],
  );
  if (faults.length > 0) throw invalidRequest(faults);
}
