// Credit: adds to an account's balance, or corrects it downward within what is available.

import { createRoute, z } from '@hono/zod-openapi';
import { formatId } from '../base/ids.ts';
import { formatUsd, NANO_MAX } from '../base/money.ts';
import { TurnpikeError } from '../errors.ts';
import type { Answer } from '../ledger/ledger.ts';
import { findAccount } from './account-json.ts';
import { type AdminApp, invalidRequest } from './admin-app.ts';
import { jsonAnswer, jsonBody } from './answers.ts';
import type { AdminDependencies } from './dependencies.ts';
import { amountField, noteField } from './fields.ts';

const creditBody = z.strictObject({
  amount: amountField(-NANO_MAX).refine((amount) => amount !== 0, 'must not be zero'),
  note: noteField.nullable().optional(),
  reference: noteField.nullable().optional(),
  kind: z.enum(['payment', 'promotion', 'adjustment']).optional(),
});
const creditSchema = z
  .object({
    account: z.string(),
    amount: z.string(),
    balance: z.string(),
    reference: z.string().nullable(),
    note: z.string().nullable(),
    repeated: z.boolean(),
  })
  .openapi('Credit');

const giveCredit = createRoute({
  method: 'post',
  path: '/api/v1/accounts/{id}/credits',
  request: { params: z.object({ id: z.string() }), body: jsonBody(creditBody) },
  responses: {
    201: jsonAnswer(creditSchema, 'The credit was given'),
    200: jsonAnswer(creditSchema, 'The same amount had been given before under this reference; nothing was added'),
  },
});

export function addCredits(app: AdminApp, dependencies: AdminDependencies): void {
  app.openapi(giveCredit, async (context) => {
    const { account } = await findAccount(dependencies, context.req.valid('param').id);
    const { amount, reference = null, note = null, kind } = context.req.valid('json');
    const source = kind ?? (amount < 0 ? 'adjustment' : 'payment');
    const [answer] = await dependencies.ledger.submit({
      operations: [{ kind: 'credit', account: account.id, amount, source, reference, note }],
    });
    const { amount: before, balance, repeated } = credited(answer, account.id);
    if (before !== amount) throw otherAmount(reference, before, amount);
    const body = { account: formatId('acct', account.id), amount: formatUsd(amount), balance: formatUsd(balance) };
    return context.json({ ...body, reference, note, repeated }, repeated ? 200 : 201);
  });
}

type Credited = Extract<Answer, { kind: 'credited' }>;

function credited(answer: Answer | undefined, account: number): Credited {
  if (answer?.ok && answer.kind === 'credited') return answer;
  if (answer?.ok === false && answer.reason === 'beyond_maximum') {
    const message = `would raise the balance beyond ${formatUsd(NANO_MAX)}, the most that an account can hold`;
    throw invalidRequest([{ path: ['amount'], message }]);
  }
  if (answer?.ok === false && answer.reason === 'below_available') {
    const message = `takes more than the ${formatUsd(answer.available ?? 0)} that is available`;
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
