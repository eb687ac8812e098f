// Refunds: what a message cost is given back, wholly or in part. Its record then costs that much less.

import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { formatId } from '../base/ids.ts';
import { formatUsd, NANO_MAX, type Nano } from '../base/money.ts';
import { TurnpikeError } from '../errors.ts';
import { type Answer, Outpaced, type StoredUsageRecord } from '../ledger/ledger.ts';
import { type AdminApp, type AdminEnvironment, invalidRequest } from './admin-app.ts';
import { amountShown, idField, jsonAnswer, jsonBody, requestIdField } from './answers.ts';
import { createOnce, type Remember } from './create-once.ts';
import { defineRoute } from './define-route.ts';
import type { AdminDependencies } from './dependencies.ts';
import { amountField, noteField } from './fields.ts';
import { operator } from './principal.ts';
import { leaveTrail } from './trail.ts';
import type { TakeTurn } from './turns.ts';

const refundBody = z.strictObject({
  amount: amountField(0)
    .refine((amount) => amount !== 0, 'must not be zero')
    .optional()
    .openapi({ description: 'At most what was paid for the message and not given back yet; absent: all of that.' }),
  note: noteField.nullable().optional(),
});
export const refundSchema = z
  .object({
    request_id: requestIdField,
    account: idField('acct'),
    amount: amountShown,
    balance: amountShown,
    note: z.string().nullable(),
  })
  .openapi('Refund');

const giveRefund = defineRoute({
  operationId: 'refund-create',
  summary: 'Give back what a message cost, or a part of it',
  roles: operator,
  isCreation: true,
  method: 'post',
  path: '/api/v1/usage/{request_id}/refunds',
  request: { params: z.object({ request_id: requestIdField }), body: jsonBody(refundBody) },
  responses: { 201: jsonAnswer(refundSchema, 'It was given back') },
});

export function addRefunds(app: AdminApp, dependencies: AdminDependencies, takeTurn: TakeTurn): void {
  app.openapi(giveRefund, async (context) => {
    const body = context.req.valid('json');
    const { request_id: requestId } = context.req.valid('param');
    const record = await findRecord(dependencies, requestId);
    const { object } = await takeTurn(context, () =>
      createOnce(dependencies, context, body, (remember) =>
        storeRefund(dependencies, context, requestId, body, remember),
      ),
    );
    const meters = await dependencies.ledger.accountMeters(record.account, dependencies.clock.nowMs());
    const shown = {
      request_id: requestId,
      account: formatId('acct', record.account),
      amount: amountOf(object),
      balance: formatUsd(meters?.balance ?? 0),
      note: body.note ?? null,
    };
    return context.json(shown, 201);
  });
}

async function findRecord({ usage }: AdminDependencies, requestId: string): Promise<StoredUsageRecord> {
  const record = await usage.getUsage(requestId);
  if (record !== null) return record;
  throw new TurnpikeError('object_not_found', `There is no usage record of "${requestId}".`);
}

/** Gives it back. Throws invalid_request where it is more than can be, object_not_found. */
async function storeRefund(
  dependencies: AdminDependencies,
  context: Context<AdminEnvironment>,
  requestId: string,
  { amount: asked, note = null }: z.output<typeof refundBody>,
  remember: Remember,
): Promise<{ object: string; secret: null }> {
  const { account, cost, writtenOff } = await findRecord(dependencies, requestId);
  // Decided here and not by the ledger, so that whoever repeats the request can be told the same amount.
  const amount = asked ?? cost - writtenOff;
  if (amount === 0) throw invalidRequest([{ path: ['amount'], message: 'nothing of this message is left to refund' }]);
  const object = objectOf(requestId, amount);
  const after = { amount: formatUsd(amount), note };
  const change = { action: 'refund.create', object: requestId, account, before: null, after };
  const trail = leaveTrail(dependencies, context, [change], remember(object, null));
  const [answer] = await dependencies.ledger.submit({
    operations: [{ kind: 'refund', requestId, amount, note }],
    alongside: dependencies.trailRows({ ...trail, since: null }), // whether it can be is the ledger's to say
  });
  if (asked === undefined && isBeyond(answer)) throw new Outpaced('a part of it was given back since it was read');
  checkRefunded(answer, requestId);
  return { object, secret: null };
}

/** What a creation remembers: one message may be refunded more than once, each time with an amount of its own. */
function objectOf(requestId: string, amount: Nano): string {
  return `${requestId} ${formatUsd(amount)}`;
}

function amountOf(object: string): string {
  return object.slice(object.indexOf(' ') + 1);
}

function isBeyond(answer: Answer | undefined): boolean {
  return answer?.ok === false && answer.reason === 'below_available';
}

function checkRefunded(answer: Answer | undefined, requestId: string): void {
  if (answer?.ok) return;
  if (answer?.reason === 'below_available') {
    const message = `is more than the ${formatUsd(answer.available ?? 0)} that is left to refund of this message`;
    throw invalidRequest([{ path: ['amount'], message }]);
  }
  if (answer?.reason === 'beyond_maximum') {
    const message = `would raise the balance beyond ${formatUsd(NANO_MAX)}, the most that an account can hold`;
    throw invalidRequest([{ path: ['amount'], message }]);
  }
  if (answer?.reason === 'unknown_message')
    throw new TurnpikeError('object_not_found', `There is no usage record of "${requestId}".`);
  throw new Error(`the ledger answered a refund with ${JSON.stringify(answer)}`);
}
