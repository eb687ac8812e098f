// Adds the group of a paid recharge to its account: under the change lock, like a change of an operator, and in one transaction with the
// payment, so that it happens once. Not reachable from outside.

import { Hono } from 'hono';
import { formatId, newRequestId } from '../base/ids.ts';
import { isGroupDue, type Payment, paymentActor } from '../payments/payments.ts';
import { changedAccount, withMeters } from './accounts.ts';
import type { AdminEnvironment } from './admin-app.ts';
import { changeNote, recordAudit, type WithChangeLock } from './changes.ts';
import type { AdminDependencies } from './dependencies.ts';
import type { Call } from './route.ts';

/** Resolves once the group of the payment is added, or need not be. Rejects with store_unavailable, overloaded. */
export type AddPaidGroup = (payment: number) => Promise<void>;

export function makeAddPaidGroup(dependencies: AdminDependencies, withChangeLock: WithChangeLock): AddPaidGroup {
  const own = new Hono<AdminEnvironment>(); // for the context of changes
  own.onError((failure) => {
    throw failure;
  });
  own.post('/', async (context) => {
    context.set('requestId', newRequestId(dependencies.clock.nowMs()));
    context.set('actor', { id: paymentActor.id, role: 'service' });
    const { payment } = (await context.req.json()) as { payment: number };
    const call = { ...dependencies, context } as unknown as Call;
    await withChangeLock(context, () => addGroup(call, payment));
    return context.json(null);
  });
  return async (payment) => {
    const body = JSON.stringify({ payment });
    await own.request('/', { method: 'POST', body }, { address: '', isOverTls: false });
  };
}

async function addGroup(call: Call, paymentId: number): Promise<void> {
  const payment = await call.paymentStore.getPayment(paymentId);
  const account = payment === null ? null : await call.accounts.getAccount(payment.accountId);
  if (payment === null || account === null || !isGroupDue(payment)) return;
  const { name } = payment.group;
  const addedAtMs = call.clock.nowMs();
  const done: Payment = {
    ...payment,
    version: payment.version + 1,
    group: { name, addedAtMs },
    checkAtMs: null,
    updatedAtMs: addedAtMs,
  };
  const row = { table: 'payments', payment: done };
  if (account.groups.includes(name) || !call.catalog.current().groups.has(name)) {
    await call.ledger.submit({ operations: [], coCommitted: [row] });
    return;
  }
  const before = await withMeters(call, account);
  const { account: after, terms } = changedAccount(before, { groups: [name, ...account.groups] });
  const paid = formatId('pay', payment.id);
  const groups = [...account.groups];
  const id = formatId('acct', account.id);
  const note = changeNote('account.update', id, account.id, { groups }, { groups: [...after.groups], payment: paid });
  await call.accounts.updateAccount(after, terms, { ...recordAudit(call, [note]), rows: [row] });
  call.forgetAccount(account.id);
}
