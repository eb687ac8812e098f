// An entry of the journal as it is shown to an account's people: with what it did to their balance.

import { z } from '@hono/zod-openapi';
import { formatId } from '../base/ids.ts';
import { formatUsd } from '../base/money.ts';
import { type Entry, systemAccounts } from '../ledger/ledger.ts';
import { amountShown, countShown, timeShown } from './answers.ts';

const SYSTEM_NAMES: ReadonlyMap<number, string> = new Map([
  [systemAccounts.payments, 'payments'],
  [systemAccounts.promotions, 'promotions'],
  [systemAccounts.revenue, 'revenue'],
  [systemAccounts.adjustments, 'adjustments'],
  [systemAccounts.writeOffs, 'write_offs'],
  [systemAccounts.carriedForward, 'carried_forward'],
]);

export const entrySchema = z
  .object({
    seq: countShown,
    at: timeShown,
    kind: z.enum([
      'payment',
      'promotion',
      'adjustment',
      'debt_write_off',
      'usage',
      'write_off',
      'correction',
      'refund',
      'carried_forward',
    ]),
    debit: z
      .string()
      .openapi({ description: 'Whose balance went down: an account, or one of the system by its name.' }),
    credit: z.string().openapi({ description: 'Whose balance went up.' }),
    amount: amountShown,
    change: amountShown.openapi({ description: "What it did to this account's balance, with its sign." }),
    reference: z.string().nullable(),
    note: z.string().nullable(),
  })
  .openapi('Entry');

export function entryJson(entry: Entry, account: number): z.infer<typeof entrySchema> {
  return {
    seq: entry.seq,
    at: new Date(entry.atMs).toISOString(),
    kind: entry.kind,
    debit: partyName(entry.debit),
    credit: partyName(entry.credit),
    amount: formatUsd(entry.amount),
    change: formatUsd(changeOf(entry, account)),
    reference: entry.reference,
    note: entry.note,
  };
}

/** What is written off moves between accounts of the system: it is about this account, and leaves its balance. */
function changeOf({ debit, credit, amount }: Entry, account: number): number {
  if (credit === account) return amount;
  return debit === account ? -amount : 0;
}

function partyName(party: number): string {
  return SYSTEM_NAMES.get(party) ?? formatId('acct', party);
}
