// An account's statement of a month: its balances, what made the one into the other, and what its messages used.

import { z } from '@hono/zod-openapi';
import { formatId } from '../base/ids.ts';
import { formatUsd } from '../base/money.ts';
import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import type { AccountMonth, UsageTotal } from '../ledger/ledger.ts';
import { findAccount } from './account-json.ts';
import { type AdminApp, invalidRequest } from './admin-app.ts';
import { idField, jsonAnswer } from './answers.ts';
import { askingOf } from './asking.ts';
import { defineRoute } from './define-route.ts';
import type { AdminDependencies } from './dependencies.ts';
import { entryJson } from './entry-json.ts';
import { holders } from './principal.ts';
import { statementSchema } from './statement-json.ts';

const MONTH_WORDS = 'must be a month, such as "2026-11"';
const MONTH = /^(19[7-9]\d|[2-9]\d{3})-(0[1-9]|1[0-2])$/;

const showStatement = defineRoute({
  operationId: 'statement-show',
  summary: "Show an account's statement of a month",
  roles: holders,
  method: 'get',
  path: '/api/v1/accounts/{id}/statement',
  request: {
    params: z.object({ id: idField('acct') }),
    query: z.strictObject({
      month: z
        .string()
        .regex(MONTH, MONTH_WORDS)
        .optional()
        .openapi({ description: 'UTC; absent: the present one.', examples: ['2026-11'] }),
    }),
  },
  responses: { 200: jsonAnswer(statementSchema, 'The statement') },
});

export function addStatements(app: AdminApp, dependencies: AdminDependencies): void {
  app.openapi(showStatement, async (context) => {
    const { id } = context.req.valid('param');
    const { account } = await findAccount(dependencies, context.get('principal'), id);
    const nowMs = dependencies.clock.nowMs();
    const name = context.req.valid('query').month ?? nameOf(nowMs);
    if (name > nameOf(nowMs)) throw invalidRequest([{ path: ['month'], message: 'has not begun' }]);
    const span = spanOf(name);
    const question = {
      account: account.id,
      ...span,
      entriesMax: bounds.statementEntriesMax,
      groupsMax: bounds.statementGroupsMax,
    };
    const month = await dependencies.ledger.readMonth(question, askingOf(context));
    // Both are written in one transaction, so the one without the other is a fault of the store.
    if (month === null) throw new Error(`account ${account.id} has no row in the ledger`);
    if (month.journalSinceMs !== null && span.sinceMs < month.journalSinceMs)
      throw new TurnpikeError('object_not_found', `The journal is kept since ${nameOf(month.journalSinceMs)}.`);
    const shown = { account: id, month: name, ...statementJson(month, span, nowMs, account.id) };
    return context.json(shown, 200);
  });
}

interface Span {
  sinceMs: number;
  untilMs: number;
}

function spanOf(name: string): Span {
  const [year = 0, month = 0] = name.split('-').map(Number);
  return { sinceMs: Date.UTC(year, month - 1), untilMs: Date.UTC(year, month) };
}

function nameOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 7);
}

function statementJson(
  month: AccountMonth,
  { sinceMs, untilMs }: Span,
  nowMs: number,
  account: number,
): Omit<z.infer<typeof statementSchema>, 'account' | 'month'> {
  const { day, model, key } = month.totals;
  return {
    since: new Date(sinceMs).toISOString(),
    until: new Date(untilMs).toISOString(),
    is_over: nowMs >= untilMs,
    opening_balance: formatUsd(month.opening),
    closing_balance: formatUsd(month.closing),
    credited: formatUsd(month.credited),
    used: formatUsd(month.used),
    refunded: formatUsd(month.refunded),
    corrected: formatUsd(month.corrected),
    usage: usedJson(day.whole),
    by_day: day.rows.toReversed().map((row) => ({ day: dayOf(row.dayMs), ...usedJson(row) })),
    by_model: model.rows.map((row) => ({ model: row.model ?? '', ...usedJson(row) })),
    models: model.groups,
    by_key: key.rows.map((row) => ({ key: formatId('key', row.key ?? 0), ...usedJson(row) })),
    keys: key.groups,
    entries: month.entries.map((entry) => entryJson(entry, account)),
    has_more_entries: month.hasMoreEntries,
  };
}

function dayOf(dayMs: number | null): string {
  return new Date(dayMs ?? 0).toISOString().slice(0, 10);
}

function usedJson(total: UsageTotal): z.infer<typeof statementSchema>['usage'] {
  return {
    messages: total.messages,
    input_tokens: total.inputTokens,
    output_tokens: total.outputTokens,
    cache_read_input_tokens: total.cacheReadTokens,
    cache_creation_input_tokens: total.cacheWriteTokens,
    cost: formatUsd(total.cost),
    written_off: formatUsd(total.writtenOff),
  };
}
