// Payments, the billing facts of accounts and handled webhook events: their statements and reads, the same for both
// databases.

import { exactNumber } from '../base/checked-number.ts';
import type { Billing, HandledEvent, Payment, PaymentPage, PaymentRow, PaymentStore } from '../payments/payments.ts';
import type { CoCommittedStatement } from './co-committed.ts';
import { prepareCount, prepareDocument, prepareOne, readPage } from './readable-rows.ts';
import { Bindings, nextParameter, type ReadValue, type SqlReader } from './sql-reader.ts';
import { documents, readStored } from './stored-documents.ts';
import { CHANGE } from './tables.ts';

export function paymentStatement(row: PaymentRow): CoCommittedStatement {
  switch (row.table) {
    case 'payments':
      return writePayment(row.payment);
    case 'billing':
      return writeBilling(row.billing);
    case 'payment_events':
      return writeHandledEvent(row.event);
  }
}

/** Its account, kind and time are written once. */
function writePayment(payment: Payment): CoCommittedStatement {
  const { id, accountId, kind, status, source, version, createdAtMs, checkAtMs } = payment;
  const document = JSON.stringify(payment);
  if (version === 1)
    return {
      text: `INSERT INTO payments (id, account_id, kind, status, source, version, created_at_ms, check_at_ms, document)
         VALUES ($1, $2, $3, $4, $5, 1, $6, $7, $8) ON CONFLICT DO NOTHING`,
      values: [id, accountId, kind, status, source, createdAtMs, checkAtMs, document],
      race: 'the payment exists, or another auto-recharge of the account is pending',
    };
  return {
    text: `UPDATE payments SET status = $3, source = $4, version = $2, check_at_ms = $5, document = $6
       WHERE id = $1 AND version + 1 = $2 AND NOT EXISTS (SELECT 1 FROM payments o WHERE o.source = $4 AND o.id <> $1)`,
    values: [id, version, status, source, checkAtMs, document],
    race: 'the payment was changed meanwhile, or its source belongs to another one',
  };
}

function writeBilling(billing: Billing): CoCommittedStatement {
  const { accountId, version, customer } = billing;
  const document = JSON.stringify(billing);
  const race = 'the billing facts of the account were changed meanwhile';
  if (version === 1)
    return {
      text: `INSERT INTO billing (account_id, version, customer, document) VALUES ($1, 1, $2, $3) ON CONFLICT DO NOTHING`,
      values: [accountId, customer, document],
      race,
    };
  return {
    text: `UPDATE billing SET version = $2, customer = $3, document = $4 WHERE account_id = $1 AND version + 1 = $2`,
    values: [accountId, version, customer, document],
    race,
  };
}

function writeHandledEvent({ id, atMs, type, payment }: HandledEvent): CoCommittedStatement {
  return {
    text: `INSERT INTO payment_events (id, at_ms, type, payment_id) VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING`,
    values: [id, atMs, type, payment],
  };
}

export function paymentReads(on: SqlReader): PaymentStore {
  const preparePage = (rest: string) => {
    const text = `SELECT id, document FROM payments WHERE ${rest} LIMIT $1`;
    const ask = on.prepare<PaymentTable>(`${text} OFFSET ${nextParameter(text)}`);
    return (limit: number, ...values: readonly ReadValue[]) =>
      readPayments(on, limit, (skipped) => ask(limit, ...values, skipped));
  };
  const handledEvent = `SELECT id, ${on.number('at_ms')} AS "atMs", type, ${on.number('payment_id')} AS payment
    FROM payment_events WHERE id = $1`;
  const due = preparePage('check_at_ms <= $2 ORDER BY check_at_ms');
  const inRange = preparePage('created_at_ms < $2 AND (created_at_ms, id) > ($3, $4) ORDER BY created_at_ms, id');
  return {
    getPayment: prepareDocument(on, documents.payment, 'SELECT document FROM payments WHERE id = $1'),
    findPaymentBySource: prepareDocument(on, documents.payment, 'SELECT document FROM payments WHERE source = $1'),
    listPayments: (page) => listPayments(on, page),
    listDuePayments: (nowMs, limit) => due(limit, nowMs),
    listPaymentsInRange: ({ sinceMs, untilMs }, after, limit) =>
      inRange(limit, untilMs, after?.createdAtMs ?? sinceMs, after?.id ?? 0),
    countPending: prepareCount(on, 'payments', `account_id = $1 AND status = 'pending'`),
    countRechargesSince: prepareCount(
      on,
      'payments',
      `account_id = $1 AND kind = 'auto_recharge' AND created_at_ms >= $2 AND status NOT IN ('failed', 'canceled')`,
    ),
    countPaymentsSince: prepareCount(on, 'payments', 'account_id = $1 AND kind = $2 AND created_at_ms >= $3'),
    getBilling: prepareDocument(on, documents.billing, 'SELECT document FROM billing WHERE account_id = $1'),
    findBillingByCustomer: prepareDocument(on, documents.billing, 'SELECT document FROM billing WHERE customer = $1'),
    findHandledEvent: prepareOne(on, handledEvent, (row: HandledEvent) => row),
    sumCredits: sumCredits(on),
    countByStatus: on.prepare(
      `SELECT status, ${on.number('count(*)')} AS count FROM payments GROUP BY status ORDER BY status`,
    ),
  };
}

/** Filters beside the first one are applied to the rows found. `|| ''` keeps their columns from choosing the index. */
async function listPayments(on: SqlReader, page: PaymentPage): Promise<Payment[]> {
  const { accountId, status, kind, sinceMs, untilMs, after, limit } = page;
  const bindings = new Bindings();
  const conditions: string[] = [];
  const filters = [
    ...(accountId === null ? [] : [['account_id', accountId] as const]),
    ...(status === null ? [] : [['status', status] as const]),
    ...(kind === null ? [] : [['kind', kind] as const]),
  ];
  for (const [at, [column, value]] of filters.entries())
    conditions.push(`r.${column}${at === 0 ? '' : ` || ''`} = ${bindings.add(value)}`);
  if (sinceMs !== null) conditions.push(`r.created_at_ms >= ${bindings.add(sinceMs)}`);
  if (untilMs !== null) conditions.push(`r.created_at_ms < ${bindings.add(untilMs)}`);
  if (after !== null) {
    const last = bindings.add(after);
    conditions.push(
      `(r.created_at_ms, r.id) < (COALESCE((SELECT l.created_at_ms FROM payments l WHERE l.id = ${last}), -1), ${last})`,
    );
  }
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  const text = `SELECT r.id, r.document FROM payments r ${where} ORDER BY r.created_at_ms DESC, r.id DESC LIMIT ${bindings.add(limit)}`;
  const ask = (skipped: number) =>
    on.read<PaymentTable>(`${text} OFFSET ${nextParameter(text)}`, ...bindings.values, skipped);
  return readPayments(on, limit, ask);
}

interface PaymentTable {
  id: number;
  document: string;
}

function readPayments(on: SqlReader, limit: number, ask: (skipped: number) => Promise<PaymentTable[]>) {
  return readPage(
    on,
    limit,
    ask,
    ({ id }) => id,
    ({ document }) => readStored(documents.payment, document),
  );
}

/** References with a prefix are a range of the index. */
function sumCredits(on: SqlReader): PaymentStore['sumCredits'] {
  const inRange = 'r.account_id = $1 AND r.reference >= $2 AND r.reference < $3';
  const sum = on.prepare<{ sum: string | null }>(
    `SELECT CAST(sum(change) AS text) AS sum FROM (
       SELECT ${CHANGE} AS change FROM entries r
       WHERE ${inRange} AND r.kind <> 'usage' AND r.kind <> 'write_off' AND r.kind <> 'correction' AND r.kind <> 'refund'
         AND r.reference IS NOT NULL
       UNION ALL SELECT r.amount FROM carried_credits r WHERE ${inRange}) changes`,
  );
  return async (accountId, prefix) => {
    const [row] = await sum(accountId, prefix, after(prefix));
    return exactNumber(BigInt(row?.sum ?? 0));
  };
}

/** The least text after all that begin with this one. */
function after(prefix: string): string {
  return `${prefix.slice(0, -1)}${String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1)}`;
}
