// Credits: add to an account's balance, deduct within what is available, or forgive a debt. Refunds: return all or part
// of a message's cost, which reduces the record's cost.

import { z } from '@hono/zod-openapi';
import { formatId } from '../base/ids.ts';
import { formatUsd, NANO_MAX } from '../base/money.ts';
import { TurnpikeError } from '../errors.ts';
import { type Answer, type Credit, Outpaced, type StoredUsageRecord } from '../ledger/ledger.ts';
import { refuseUnusedBalance } from './account-tree.ts';
import { findAccount } from './accounts.ts';
import { invalidMember, noObject } from './admin-app.ts';
import { changeNote, createOnce, type Made, type Remember, recordAudit } from './changes.ts';
import { operator } from './dependencies.ts';
import { encoderOf } from './encode.ts';
import { amountField, amountShown, idField, noteField, requestIdField } from './fields.ts';
import { type AdminRoute, type Call, type CallWith, post } from './route.ts';

const creditBody = z.strictObject({
  amount: amountField(-NANO_MAX).refine((amount) => amount !== 0, 'must not be zero'),
  note: noteField.nullable().optional().describe('A note in the journal.'),
  reference: noteField.nullable().optional().describe('Adds the credit only once, even if the request is repeated.'),
  kind: z
    .enum(['payment', 'promotion', 'adjustment', 'write_off'], {
      error: 'must be payment, promotion, adjustment or write_off',
    })
    .optional()
    .describe(
      'By default payment, or adjustment for a negative amount. write_off: writes off a debt, at most the amount that the account owes.',
    ),
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

const encodeCredit = encoderOf(creditSchema);

export const creditRoutes: AdminRoute[] = [
  post('/accounts/{id}/credits', 'credit-create', 'Credit an account or adjust its balance', operator, {
    params: z.object({ id: idField('acct') }),
    body: creditBody,
    isCreation: true,
    conflict: 'The reference already credited this account with a different amount',
    answer: [creditSchema, 'The credit was added'],
    repeated: 'The same amount was already credited under this reference; nothing was added',
    async handle(call) {
      const { id } = call.params;
      const { amount, reference = null, note = null } = call.body;
      let given: Credited | null = null;
      const created = await createOnce(call, async (remember) => {
        given = await storeCredit(call, id, remember);
        return { object: id, secret: null };
      });
      const { account, meters } = await findAccount(call, created.object);
      const { balance = meters.balance, repeated = true } = (given as Credited | null) ?? {};
      if (repeated) call.context.status(200);
      return encodeCredit({ account: account.id, amount, balance, reference, note, repeated });
    },
  }),
];

/** Adds the credit, once per reference. Throws invalid_request, conflict, object_not_found. */
async function storeCredit(call: CallWith<typeof creditBody>, id: string, remember: Remember): Promise<Credited> {
  const { amount, reference = null, note = null, kind } = call.body;
  const { account } = await findAccount(call, id);
  if (amount > 0) refuseUnusedBalance(account);
  const source = kind ?? (amount < 0 ? 'adjustment' : 'payment');
  const shown = { amount: formatUsd(amount), kind: source, reference, note };
  const change = changeNote('credit.create', id, account.id, null, shown);
  const auditContext = recordAudit(call, [change], remember(id, null));
  // The ledger alone decides: changes of other nodes do not matter.
  const [answer] = await call.ledger.submit({
    operations: [{ kind: 'credit', account: account.id, amount, source, reference, note }],
    coCommitted: call.auditRows({ ...auditContext, since: null }),
  });
  const given = credited(answer, account.id, source);
  if (given.amount !== amount) {
    const was = `The reference "${reference}" already credited this account with ${formatUsd(given.amount)}`;
    throw new TurnpikeError('conflict', `${was}, not with ${formatUsd(amount)}: nothing was credited.`);
  }
  return given;
}

type Credited = Extract<Answer, { kind: 'credited' }>;

/** Throws invalid_request for an amount that the account cannot take, and object_not_found. */
export function credited(answer: Answer | undefined, account: number, source: Credit['source']): Credited {
  if (answer?.ok && answer.kind === 'credited') return answer;
  if (answer?.ok === false && answer.reason === 'beyond_maximum') throw invalidMember('amount', BEYOND_MAXIMUM);
  if (answer?.ok === false && answer.reason === 'below_available') {
    const available = formatUsd(answer.available ?? 0);
    throw invalidMember(
      'amount',
      source === 'write_off'
        ? `must be greater than zero and at most ${available}, the amount that the account owes`
        : `exceeds the ${available} that is available`,
    );
  }
  if (answer?.ok === false && answer.reason === 'unknown_account') throw noObject('account', formatId('acct', account));
  throw new Error(`the ledger answered a credit with ${JSON.stringify(answer)}`);
}

const BEYOND_MAXIMUM = `would raise the balance above ${formatUsd(NANO_MAX)}, the largest possible balance`;

const refundBody = z.strictObject({
  amount: amountField(0)
    .refine((amount) => amount !== 0, 'must not be zero')
    .optional()
    .describe('At most the part of the cost that is not yet refunded; by default all of it.'),
  note: noteField.nullable().optional().describe('A note in the journal.'),
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

export const refundRoutes: AdminRoute[] = [
  post('/usage/{request_id}/refunds', 'refund-create', 'Refund the cost of a message, or a part of it', operator, {
    params: z.object({ request_id: requestIdField }),
    body: refundBody,
    isCreation: true,
    answer: [refundSchema, 'The refund was made'],
    async handle(call) {
      const { request_id } = call.params;
      const record = await findRecord(call, request_id);
      const { object } = await createOnce(call, (remember) => storeRefund(call, request_id, remember));
      const meters = await call.ledger.accountMeters(record.account, call.clock.nowMs());
      return {
        request_id,
        account: formatId('acct', record.account),
        amount: object.slice(object.indexOf(' ') + 1),
        balance: formatUsd(meters?.balance ?? 0),
        note: call.body.note ?? null,
      };
    },
  }),
];

async function findRecord({ usage }: Call, requestId: string): Promise<StoredUsageRecord> {
  const record = await usage.getUsage(requestId);
  if (record !== null) return record;
  throw noObject('usage record of', requestId);
}

/** Refunds an amount. Throws invalid_request if it exceeds what was paid, object_not_found. */
async function storeRefund(call: CallWith<typeof refundBody>, requestId: string, remember: Remember): Promise<Made> {
  const { amount: asked, note = null } = call.body;
  const { account, cost, writtenOff } = await findRecord(call, requestId);
  // Decided here and not by the ledger, so that a retry returns the same amount.
  const amount = asked ?? cost - writtenOff;
  if (amount === 0) throw invalidMember('amount', 'this message has no cost left to refund');
  // Identifies the refund for its idempotency record: one message may have several, each with its own amount.
  const object = `${requestId} ${formatUsd(amount)}`;
  const change = changeNote('refund.create', requestId, account, null, { amount: formatUsd(amount), note });
  const auditContext = recordAudit(call, [change], remember(object, null));
  const [answer] = await call.ledger.submit({
    operations: [{ kind: 'refund', requestId, amount, note }],
    coCommitted: call.auditRows({ ...auditContext, since: null }), // the ledger decides whether it is possible
  });
  checkRefunded(answer, requestId, asked);
  return { object, secret: null };
}

function checkRefunded(answer: Answer | undefined, requestId: string, asked: number | undefined): void {
  if (answer?.ok) return;
  if (answer?.reason === 'below_available') {
    if (asked === undefined) throw new Outpaced('a part of it was refunded in the meantime');
    throw invalidMember(
      'amount',
      `exceeds the ${formatUsd(answer.available ?? 0)} of this message that can still be refunded`,
    );
  }
  if (answer?.reason === 'beyond_maximum') throw invalidMember('amount', BEYOND_MAXIMUM);
  if (answer?.reason === 'unknown_message') throw noObject('usage record of', requestId);
  throw new Error(`the ledger answered a refund with ${JSON.stringify(answer)}`);
}
