// Accounts: made with their first credit, listed, shown, changed. An account is never deleted: its
// entries stay, so it is disabled instead.

import { createRoute, z } from '@hono/zod-openapi';
import type { Account, AccountTerms, FirstCredit } from '../accounts/accounts.ts';
import { newNumber } from '../base/ids.ts';
import { formatUsd } from '../base/money.ts';
import type { Fault } from '../catalog/catalog.ts';
import { type AccountWithMeters, accountJson, accountSchema, findAccount, withMeters } from './account-json.ts';
import { type AdminApp, invalidRequest } from './admin-app.ts';
import { jsonAnswer, jsonBody, pageAnswer } from './answers.ts';
import type { AdminDependencies } from './dependencies.ts';
import { amountField, groupsField, nameField, noteField, periodField } from './fields.ts';
import { cursorNumber, nextCursor, pageQuery } from './pages.ts';
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
const params = z.object({ id: z.string() });

const createAccount = createRoute({
  method: 'post',
  path: PATH,
  request: { body: jsonBody(createBody) },
  responses: { 201: jsonAnswer(accountSchema, 'The account') },
});
const listAccounts = createRoute({
  method: 'get',
  path: PATH,
  request: { query: z.strictObject(pageQuery) },
  responses: { 200: pageAnswer(accountSchema, 'Accounts, oldest first') },
});
const showAccount = createRoute({
  method: 'get',
  path: `${PATH}/{id}`,
  request: { params },
  responses: { 200: jsonAnswer(accountSchema, 'The account') },
});
const changeAccount = createRoute({
  method: 'patch',
  path: `${PATH}/{id}`,
  request: { params, body: jsonBody(changeBody) },
  responses: { 200: jsonAnswer(accountSchema, 'The account as it is now') },
});

export function addAccounts(app: AdminApp, dependencies: AdminDependencies, takeTurn: TakeTurn): void {
  const { accounts } = dependencies;
  app.openapi(createAccount, async (context) => {
    const body = context.req.valid('json');
    const account = await takeTurn(() => storeAccount(dependencies, body));
    return context.json(accountJson(await withMeters(dependencies, account)), 201);
  });
  app.openapi(listAccounts, async (context) => {
    const { limit, cursor } = context.req.valid('query');
    const rows = await accounts.listAccounts({ after: cursorNumber(cursor), limit });
    const data = (await Promise.all(rows.map((row) => withMeters(dependencies, row)))).map(accountJson);
    return context.json({ data, next_cursor: nextCursor(rows.length, limit, rows.at(-1)?.id) }, 200);
  });
  app.openapi(showAccount, async (context) =>
    context.json(accountJson(await findAccount(dependencies, context.req.valid('param').id)), 200),
  );
  app.openapi(changeAccount, async (context) => {
    const { id } = context.req.valid('param');
    const body = context.req.valid('json');
    await takeTurn(async () => {
      const before = await findAccount(dependencies, id);
      const { account, terms } = changed(before, body);
      if (body.groups !== undefined) checkGroupsExist(dependencies, account.groups);
      await accounts.updateAccount(account, terms);
      dependencies.forgetAccount(account.id);
    });
    return context.json(accountJson(await findAccount(dependencies, id)), 200);
  });
}

async function storeAccount(dependencies: AdminDependencies, body: z.output<typeof createBody>): Promise<Account> {
  checkGroupsExist(dependencies, body.groups);
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
  await dependencies.accounts.createAccount(account, terms, firstCredit(body));
  return account;
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

function checkGroupsExist(dependencies: AdminDependencies, groups: readonly string[]): void {
  const known = dependencies.catalog.current().groups;
  const faults: Fault[] = groups.flatMap((group, at) =>
    known.has(group) ? [] : [{ path: ['groups', at], message: `there is no group "${group}"` }],
  );
  if (faults.length > 0) throw invalidRequest(faults);
}
