// Credit: adds to an account's balance, corrects it downward within what is available, or gives up a debt.

import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { formatId } from '../base/ids.ts';
import { formatUsd, NANO_MAX } from '../base/money.ts';
import { TurnpikeError } from '../errors.ts';
import type { Answer, Credit } from '../ledger/ledger.ts';
import { findAccount } from './account-json.ts';
import { type AdminApp, type AdminEnvironment, invalidRequest } from './admin-app.ts';
import { amountShown, idField, jsonAnswer, jsonBody } from './answers.ts';
import { createOnce, type Remember } from './create-once.ts';
import { defineRoute } from './define-route.ts';
import type { AdminDependencies } from './dependencies.ts';
import { amountField, noteField } from './fields.ts';
import { operator } from './principal.ts';
import { leaveTrail } from './trail.ts';
import type { TakeTurn } from './turns.ts';

const creditBody = z.strictObject({
  amount: amountField(-NANO_MAX).refine((amount) => amount !== 0, 'must not be zero'),
  note: noteField.nullable().optional(),
  reference: noteField.nullable().optional(),
  kind: z
    .enum(['payment', 'promotion', 'adjustment', 'write_off'], {
      error: 'must be payment, promotion, adjustment or write_off',
    })
    .optional()
    .openapi({ description: 'write_off: a debt is given up, at most as much as is owed.' }),
});
export const creditSchema = z
  .object({
    account: idField('acct'),
    amount: amountShown,
    balance: amountShown,
    reference: z.string().nullable(),
    note: z.string().nullable(),
    repeated: z.boolean(),
  })
  .openapi('Credit');

const giveCredit = defineRoute({
  operationId: 'credit-create',
  summary: 'Credit an account, or correct its balance',
  roles: operator,
  isCreation: true,
  conflict: 'The reference has credited this account before, with another amount',
  method: 'post',
  path: '/api/v1/accounts/{id}/credits',
  request: { params: z.object({ id: idField('acct') }), body: jsonBody(creditBody) },
  responses: {
    201: jsonAnswer(creditSchema, 'The credit was given'),
    200: jsonAnswer(creditSchema, 'The same amount had been given before under this reference; nothing was added'),
  },
});

export function addCredits(app: AdminApp, dependencies: AdminDependencies, takeTurn: TakeTurn): void {
  app.openapi(giveCredit, async (context) => {
    const body = context.req.valid('json');
    const { id } = context.req.valid('param');
    let answer: Credited | null = null;
    const created = await takeTurn(context, () =>
      createOnce(dependencies, context, body, async (remember) => {
        answer = await storeCredit(dependencies, context, id, body, remember);
        return { object: id, secret: null };
      }),
    );
    const { account, meters } = await findAccount(dependencies, context.get('principal'), created.object);
    const { amount, reference = null, note = null } = body;
    const given = answer as Credited | null;
    const isRepeated = given === null || given.repeated;
    const shown = {
      account: formatId('acct', account.id),
      amount: formatUsd(amount),
      balance: formatUsd(given?.balance ?? meters.balance),
      reference,
      note,
      repeated: isRepeated,
    };
    return context.json(shown, isRepeated ? 200 : 201);
  });
}

/** Gives the credit, once for its reference. Throws invalid_request, conflict, object_not_found. */
async function storeCredit(
  dependencies: AdminDependencies,
  context: Context<AdminEnvironment>,
  id: string,
  { amount, reference = null, note = null, kind }: z.output<typeof creditBody>,
  remember: Remember,
): Promise<Credited> {
  const { account } = await findAccount(dependencies, context.get('principal'), id);
  const source = kind ?? (amount < 0 ? 'adjustment' : 'payment');
  const after = { amount: formatUsd(amount), kind: source, reference, note };
  const change = { action: 'credit.create', object: id, account: account.id, before: null, after };
  const trail = leaveTrail(dependencies, context, [change], remember(id, null));
  // Decided by the ledger alone: what other nodes change is nothing to it.
  const [answer] = await dependencies.ledger.submit({
    operations: [{ kind: 'credit', account: account.id, amount, source, reference, note }],
    alongside: dependencies.trailRows({ ...trail, since: null }),
  });
  const given = credited(answer, account.id, source);
  if (given.amount !== amount) throw otherAmount(reference, given.amount, amount);
  return given;
}

type Credited = Extract<Answer, { kind: 'credited' }>;
type CreditSource = Credit['source'];

function credited(answer: Answer | undefined, account: number, source: CreditSource): Credited {
  if (answer?.ok && answer.kind === 'credited') return answer;
  if (answer?.ok === false && answer.reason === 'beyond_maximum') {
    const message = `would raise the balance beyond ${formatUsd(NANO_MAX)}, the most that an account can hold`;
    throw invalidRequest([{ path: ['amount'], message }]);
  }
  if (answer?.ok === false && answer.reason === 'below_available') {
    const available = formatUsd(answer.available ?? 0);
    const message =
      source === 'write_off'
        ? `must be above zero, and at most the ${available} that the account owes`
        : `takes more than the ${available} that is available`;
    throw invalidRequest([{ path: ['amount'], message }]);
  }
  if (answer?.ok === false && answer.reason === 'unknown_account')
    throw new TurnpikeError('object_not_found', `There is no account "${formatId('acct', account)}".`);
  throw new Error(`the ledger answered a credit with ${JSON.stringify(answer)}`);
}

function otherAmount(reference: string | null, before: number, amount: number): TurnpikeError {
  const was = `The reference "${reference}" credited this account with ${formatUsd(before)} before`;
  return new TurnpikeError('conflict', `${was}, not with ${formatUsd(amount)}: nothing was credited.`);
}
