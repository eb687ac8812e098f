// Payments, billing facts and handled events of the in-memory store.

import type { Billing, HandledEvent, Payment, PaymentRow, PaymentStore } from '../../../src/payments/payments.ts';
import type { MemoryTables } from './tables.ts';

export interface PaymentTables {
  payments: Map<number, Payment>;
  billing: Map<number, Billing>;
  paymentEvents: Map<string, HandledEvent>;
}

/** Whether another change came first, so that the row cannot be written. */
export function isOutpaced({ payments, billing }: PaymentTables, row: PaymentRow): boolean {
  if (row.table === 'payment_events') return false;
  if (row.table === 'billing')
    return (
      (billing.get(row.billing.accountId)?.version ?? 0) + 1 !== row.billing.version ||
      [...billing.values()].some(
        (other) => other.accountId !== row.billing.accountId && other.customer === row.billing.customer,
      )
    );
  const { id, accountId, version, source, kind, status } = row.payment;
  const others = [...payments.values()].filter((other) => other.id !== id);
  return (
    (payments.get(id)?.version ?? 0) + 1 !== version ||
    (source !== null && others.some((other) => other.source === source)) ||
    (kind === 'auto_recharge' &&
      status === 'pending' &&
      others.some(
        (other) => other.accountId === accountId && other.kind === 'auto_recharge' && other.status === 'pending',
      ))
  );
}

export function writePaymentRow(tables: PaymentTables, row: PaymentRow): void {
  if (row.table === 'payments') tables.payments.set(row.payment.id, row.payment);
  else if (row.table === 'billing') tables.billing.set(row.billing.accountId, row.billing);
  else if (!tables.paymentEvents.has(row.event.id)) tables.paymentEvents.set(row.event.id, row.event);
}

/** Oldest first. */
function compare(one: Payment, other: Payment): number {
  return one.createdAtMs - other.createdAtMs || one.id - other.id;
}

export function paymentReads(tables: MemoryTables): PaymentStore {
  const { payments, billing, paymentEvents } = tables;
  const all = () => [...payments.values()].sort(compare);
  return {
    getPayment: async (id) => payments.get(id) ?? null,
    findPaymentBySource: async (source) => all().find((payment) => payment.source === source) ?? null,
    async listPayments({ accountId, status, kind, sinceMs, untilMs, after, limit }) {
      const last = after === null ? undefined : payments.get(after);
      return all()
        .filter((payment) => accountId === null || payment.accountId === accountId)
        .filter((payment) => status === null || payment.status === status)
        .filter((payment) => kind === null || payment.kind === kind)
        .filter(({ createdAtMs }) => createdAtMs >= (sinceMs ?? 0) && createdAtMs < (untilMs ?? Infinity))
        .filter((payment) => last === undefined || compare(payment, last) < 0)
        .reverse()
        .slice(0, limit);
    },
    listDuePayments: async (nowMs, limit) =>
      all()
        .filter(({ checkAtMs }) => checkAtMs !== null && checkAtMs <= nowMs)
        .sort((one, other) => (one.checkAtMs ?? 0) - (other.checkAtMs ?? 0))
        .slice(0, limit),
    listPaymentsInRange: async ({ sinceMs, untilMs }, after, limit) =>
      all()
        .filter(({ createdAtMs }) => createdAtMs >= sinceMs && createdAtMs < untilMs)
        .filter((payment) => after === null || compare(payment, { ...payment, ...after }) > 0)
        .slice(0, limit),
    countPending: async (accountId) =>
      all().filter((payment) => payment.accountId === accountId && payment.status === 'pending').length,
    countPaymentsSince: async (accountId, kind, sinceMs) =>
      all().filter(
        (payment) => payment.accountId === accountId && payment.kind === kind && payment.createdAtMs >= sinceMs,
      ).length,
    countRechargesSince: async (accountId, sinceMs) =>
      all().filter(
        ({ accountId: of, kind, status, createdAtMs }) =>
          of === accountId &&
          kind === 'auto_recharge' &&
          createdAtMs >= sinceMs &&
          !['failed', 'canceled'].includes(status),
      ).length,
    async sumCredits(accountId, prefix) {
      const changes = tables.entries
        .filter(({ account, reference }) => account === accountId && reference?.startsWith(prefix))
        .map(({ debit, credit, amount }) => (credit === accountId ? amount : debit === accountId ? -amount : 0));
      const carried = [...tables.carriedCredits].filter(([name]) => name.startsWith(`${accountId} ${prefix}`));
      return [...changes, ...carried.map(([, amount]) => amount)].reduce((sum, change) => sum + change, 0);
    },
    getBilling: async (accountId) => billing.get(accountId) ?? null,
    findBillingByCustomer: async (customer) => [...billing.values()].find((one) => one.customer === customer) ?? null,
    findHandledEvent: async (id) => paymentEvents.get(id) ?? null,
    async countByStatus() {
      const counts = new Map<Payment['status'], number>();
      for (const { status } of all()) counts.set(status, (counts.get(status) ?? 0) + 1);
      return [...counts].map(([status, count]) => ({ status, count })).sort((a, b) => (a.status < b.status ? -1 : 1));
    },
  };
}
