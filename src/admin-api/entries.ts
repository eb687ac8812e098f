// The journal of an account: every change of its balance, newest first. Entries are never altered.

import { z } from '@hono/zod-openapi';
import { formatId } from '../base/ids.ts';
import { formatUsd } from '../base/money.ts';
import { type Entry, systemAccounts } from '../ledger/ledger.ts';
import { findAccount } from './account-json.ts';
import type { AdminApp } from './admin-app.ts';
import { answerPage } from './answer-page.ts';
import { amountShown, countShown, idField, pageAnswer, timeShown } from './answers.ts';
import { askingOf } from './asking.ts';
import { defineRoute } from './define-route.ts';
import type { AdminDependencies } from './dependencies.ts';
import { timeField } from './fields.ts';
import { pageQuery, pagesOf } from './pages.ts';
import { holders } from './principal.ts';

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

const listEntries = defineRoute({
  operationId: 'entry-list',
  summary: "List an account's journal entries",
  roles: holders,
  method: 'get',
  path: '/api/v1/accounts/{id}/entries',
  request: {
    params: z.object({ id: idField('acct') }),
    query: z.strictObject({ ...pageQuery, since: timeField.optional(), until: timeField.optional() }),
  },
  responses: { 200: pageAnswer(entrySchema, 'Journal entries, newest first') },
});

export function addEntries(app: AdminApp, dependencies: AdminDependencies): void {
  app.openapi(listEntries, async (context) => {
    const { account } = await findAccount(dependencies, context.get('principal'), context.req.valid('param').id);
    const { limit, cursor, since, until } = context.req.valid('query');
    const pages = pagesOf(dependencies, context);
    const page = {
      account: account.id,
      sinceMs: since ?? null,
      untilMs: until ?? null,
      before: pages.after(cursor),
      limit,
    };
    const rows = await dependencies.ledger.listEntries(page, askingOf(context));
    const next = pages.next(rows.length, limit, rows.at(-1)?.seq);
    return answerPage(rows, (row) => entryJson(row, account.id), next);
  });
}

function entryJson(entry: Entry, account: number): z.infer<typeof entrySchema> {
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
