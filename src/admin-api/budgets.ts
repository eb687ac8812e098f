// Budgets of people: what all keys of a person may use in each window. At each account its default applies, or the budget that
// an owner set there for this person.

import { z } from '@hono/zod-openapi';
import type { Account, Person, PersonBudgetTerms } from '../accounts/accounts.ts';
import { formatUsd } from '../base/money.ts';
import { TurnpikeError } from '../errors.ts';
import type { PersonBudgetReading } from '../ledger/ledger.ts';
import { accountForNew, findAccount } from './accounts.ts';
import { invalidMember, noObject } from './admin-app.ts';
import { changeNote, recordAudit } from './changes.ts';
import { everyone, holdersWhoChange, listChain, maySeeAccount } from './dependencies.ts';
import { encoderOf } from './encode.ts';
import { accountField, amountShown, idField, timeShown } from './fields.ts';
import { findPerson } from './people.ts';
import { budgetField, budgetShown, budgetTerms } from './person-budget.ts';
import { type AdminRoute, type Call, get, patch, post } from './route.ts';

const limitShown = budgetShown.shape.limits.element;

export const budgetSchema = z
  .object({
    person: idField('person'),
    budgets: z.array(
      z.object({
        account: idField('acct').nullable().describe('null: an account above, which the principal does not see.'),
        is_default: z.boolean().describe('Whether it is the default of the account, and not set for this person.'),
        stops: z.boolean().nullable().describe('false: events warn, and nothing is refused; null: no budget.'),
        limits: z.array(
          z.object({
            ...limitShown.shape,
            used: amountShown.describe('By all keys of the person, in all accounts.'),
            held: amountShown.describe('By their running messages.'),
            remaining: amountShown,
            resets_at: timeShown.nullable().describe('null: a window of 5 hours that begins with the next message.'),
          }),
        ),
      }),
    ),
  })
  .openapi('PersonBudget');

const encodeBudget = encoderOf(budgetSchema);

/** People of an account do not learn which accounts are above it. */
async function budgetJson(
  call: Call,
  person: Person,
  readings: readonly PersonBudgetReading[],
): Promise<z.infer<typeof budgetSchema>> {
  const isSeen = await Promise.all(readings.map(({ account }) => maySeeAccount(call, account)));
  const budgets = readings.map(({ account, isDefault, terms, limits }, at) => ({
    account: isSeen[at] === true ? account : null,
    isDefault,
    stops: terms?.stops ?? null,
    limits: limits.map(({ length, ...limit }) => ({ ...limit, window: length })),
  }));
  return encodeBudget({ person: person.id, budgets });
}

const ofAccount = accountField
  .optional()
  .describe('Where it applies: the account of the person (the default), one above it, or one below it.');
const changeBody = z.strictObject({
  account: ofAccount,
  limits: budgetField.shape.limits.nullable().describe('null: no limit, whatever the default of the account is.'),
  stops: budgetField.shape.stops.describe('Whether a message that exceeds a limit is refused; false: events warn.'),
});
const params = z.object({ id: idField('person') });

export const budgetRoutes: AdminRoute[] = [
  get('/people/{id}/budget', 'person-budget-show', 'Retrieve the budget of a person', everyone, {
    params,
    query: {
      account: accountField
        .optional()
        .describe(
          'The account of keys, whose budget applies together with those above it; by default that of the person.',
        ),
    },
    answer: [budgetSchema, 'The budget at the account and at each one above it'],
    handle: (call) => showBudget(call, call.query.account),
  }),
  patch('/people/{id}/budget', 'person-budget-update', 'Set the budget of a person', holdersWhoChange, {
    params,
    body: changeBody,
    conflict: 'The person belongs to the installation, or has budgets of their own at too many accounts',
    answer: [budgetSchema, 'The budget at the account and at each one above it'],
    handle: (call) => changeBudget(call, termsOf(call.body)),
  }),
  post(
    '/people/{id}/budget/reset',
    'person-budget-reset',
    'Return a person to the default budget of an account',
    holdersWhoChange,
    {
      params,
      body: z.strictObject({ account: ofAccount }),
      conflict: 'The person belongs to the installation',
      answer: [budgetSchema, 'The budget at the account and at each one above it'],
      handle: (call) => changeBudget(call, 'default'),
    },
  ),
];

function termsOf({ limits, stops }: z.output<typeof changeBody>): PersonBudgetTerms | null {
  return limits && budgetTerms({ limits, stops });
}

type ObjectCall<Query = unknown, Body = unknown> = Call<{ id: string }, Query, Body>;

async function showBudget(call: ObjectCall, asked: string | undefined): Promise<z.infer<typeof budgetSchema>> {
  const {
    principal,
    params: { id },
  } = call;
  const isOwn = principal.id === id;
  if (principal.role === 'member' && !isOwn) throw noObject('person', id);
  const person = await findPerson(call, id);
  const account = asked === undefined ? null : (await findAccount(call, asked)).account;
  if (person.accountId === null) return budgetJson(call, person, []);
  return budgetJson(call, person, await readBudgets(call, person, await chainFor(call, person, account)));
}

async function readBudgets(
  { ledger, clock }: Call,
  person: Person,
  chain: readonly Account[],
): Promise<PersonBudgetReading[]> {
  const question = { person: person.id, accounts: chain.map(({ id }) => id) };
  const readings = await ledger.personMeters(question, clock.nowMs());
  // Both are written in one transaction, so a missing row is a fault of the store.
  if (readings === null) throw new Error(`person ${person.id} has no row in the ledger`);
  return readings;
}

/**
 * The account, by default that of the person, and those above it. Keys of the person are in their account or in those below it. Throws
 * invalid_request.
 */
async function chainFor({ accounts }: Call, person: Person, asked: Account | null): Promise<Account[]> {
  const own = await accounts.getAccount(person.accountId as number);
  if (own === null) throw new Error(`the account of person ${person.id} cannot be read`);
  const chainOfPerson = await listChain(accounts, own.id);
  const chain = asked === null ? chainOfPerson : await listChain(accounts, asked.id);
  if (chain.some(({ id }) => id === own.id) || chainOfPerson.some(({ id }) => id === chain[0]?.id)) return chain;
  throw invalidMember('account', 'must be the account of the person, one above it, or one below it');
}

/** The budget after a change by owners of the account, or of one above it, or by operators. */
async function changeBudget(
  call: ObjectCall<unknown, { account?: string | undefined }>,
  terms: PersonBudgetTerms | null | 'default',
): Promise<z.infer<typeof budgetSchema>> {
  const {
    people,
    params: { id },
    body: { account: asked },
  } = call;
  return call.changeInTurn(async () => {
    const person = await findPerson(call, id);
    if (person.accountId === null)
      throw new TurnpikeError('conflict', 'People of the installation have no keys of their own, and no budgets.');
    // Owners see their account and those below it, and nobody else's budgets.
    const account = asked === undefined ? null : await accountForNew(call, asked, 'is required');
    const chain = await chainFor(call, person, account);
    const [at] = chain as [Account];
    const [before] = await readBudgets(call, person, chain);
    const isDefault = terms === 'default';
    const after = { isDefault, ...(isDefault ? { terms: null } : { terms }) };
    const note = changeNote('person_budget.update', id, at.id, termsJson(before ?? null), termsJson(after));
    await people.setBudget(person, { account: at.id, terms }, recordAudit(call, [note]));
    return budgetJson(call, person, await readBudgets(call, person, chain));
  });
}

/** For the audit log. */
function termsJson(budget: Pick<PersonBudgetReading, 'isDefault' | 'terms'> | null) {
  const terms = budget === null || budget.isDefault ? null : budget.terms;
  return {
    is_default: budget?.isDefault ?? true,
    stops: terms?.stops ?? null,
    limits: terms?.limits.map(({ length, limit }) => ({ window: length, limit: formatUsd(limit) })) ?? null,
  };
}
