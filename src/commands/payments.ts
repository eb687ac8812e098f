// The commands on payments, as rows of the table of API commands. `payments check` repeats its request until the whole
// range is compared, and exits with 1 if anything differs.

import { integerOf } from '../base/checked-number.ts';
import type { AdminClient, Row } from './admin-client.ts';
import { type ApiCommand, describe, flag, LIST_ROWS_DEFAULT, sinceFlag, untilFlag } from './api-command.ts';
import type { Invocation } from './command.ts';
import { amountNotNegative, choice, count, text, time } from './flags.ts';
import { type Column, columns } from './output.ts';

export const paymentKinds = ['checkout', 'auto_recharge', 'subscription'] as const;
export const paymentStatuses = [
  'pending',
  'failed',
  'canceled',
  'paid',
  'partially_refunded',
  'refunded',
  'disputed',
] as const;

const paymentColumns: readonly Column[] = columns(
  'id account kind status amount credited refunded disputed created_at',
);
const paymentDetails: readonly Column[] = [
  ...paymentColumns,
  ...columns('total tax fee checkout_url receipt_url'),
  ['FAILURE', (row) => (row['failure'] as Row | null)?.['message'] ?? null],
  ...columns('mismatch updated_at'),
];

const rechargeColumns: readonly Column[] = [
  ...columns('account enabled threshold amount per_day_max'),
  ['METHOD', (row) => methodText(row['payment_method'] as Row | null)],
  ['LAST FAILURE', (row) => (row['last_failure'] as Row | null)?.['message'] ?? null],
];

function methodText(method: Row | null): string | null {
  return method && [method['brand'] ?? method['kind'], method['last4']].filter((part) => part !== null).join(' ');
}

const rechargeTable: readonly ApiCommand[] = [
  describe(
    'auto-recharge show ACCOUNT',
    'shows the automatic recharge of an account',
    'GET /accounts/{id}/auto-recharge',
    {
      columns: rechargeColumns,
    },
  ),
  describe(
    'auto-recharge enable ACCOUNT',
    'recharges an account automatically, or changes how; settings without a flag stay unchanged',
    'PATCH /accounts/{id}/auto-recharge',
    {
      body: { enabled: true },
      flags: {
        threshold: flag('AMOUNT', 'threshold', amountNotNegative, 'recharges when less than this is available'),
        amount: flag('AMOUNT', 'amount', amountNotNegative, 'the credit to buy, in whole cents'),
        'per-day-max': flag('N', 'per_day_max', count, 'the largest number of recharges in a day (UTC)'),
      },
      columns: rechargeColumns,
    },
  ),
  describe('auto-recharge disable ACCOUNT', 'stops recharging an account', 'PATCH /accounts/{id}/auto-recharge', {
    body: { enabled: false },
    columns: rechargeColumns,
  }),
];

export const paymentTable: readonly ApiCommand[] = [
  ...rechargeTable,
  describe('payments list', 'lists payments, newest first', 'GET /payments', {
    flags: {
      account: flag('ID', 'account', text, 'only payments of this account'),
      status: flag(
        'STATUS',
        'status',
        choice(paymentStatuses),
        `only payments with this status: ${paymentStatuses.join(', ')}`,
      ),
      since: sinceFlag,
      until: untilFlag,
      kind: flag('KIND', 'kind', choice(paymentKinds), `only payments of this kind: ${paymentKinds.join(', ')}`),
    },
    rowsDefault: LIST_ROWS_DEFAULT,
    columns: paymentColumns,
    whenEmpty: 'There are no payments.',
  }),
  describe('payments show ID', 'shows a payment', 'GET /payments/{id}', { columns: paymentDetails }),
  describe(
    'payments check',
    "compares the journal with the payment provider's list; exits 1 when anything differs",
    'POST /payments/check',
    {
      flags: {
        since: flag('TIME', 'since', time, 'payments created from this time (default: 30 days ago)'),
        until: flag('TIME', 'until', time, 'payments created before this time (default: now)'),
      },
      switches: { repair: { help: "first brings payments that differ to the provider's state" } },
      send: checkAll,
      print: printCheck,
    },
  ),
];

/** All parts of the range, as one response. */
async function checkAll(client: AdminClient, path: string, body: Row): Promise<Row> {
  const differences: unknown[] = [];
  let compared = 0;
  let asked = body;
  for (;;) {
    const part = await client.post(path, asked);
    differences.push(...(part['differences'] as unknown[]));
    compared += integerOf(part['compared']);
    if (part['is_complete'] === true) return { ...part, ok: differences.length === 0, compared, differences };
    asked = { ...asked, since: part['checked_until'] };
  }
}

async function printCheck({ world, json }: Invocation, check: Row): Promise<number> {
  const differences = check['differences'] as Row[];
  const line = ({ kind, payment, source, account, message }: Row) =>
    `${kind}: ${[payment, source, account].filter((name) => name !== null).join(' ')}: ${message}\n`;
  if (json) await world.write(`${JSON.stringify(check, null, 2)}\n`);
  else {
    await world.write(differences.map(line).join(''));
    const result = differences.length === 0 ? 'no differences' : `differences: ${differences.length}`;
    await world.write(`compared ${check['compared']} payments: ${result}\n`);
  }
  return differences.length === 0 ? 0 : 1;
}
