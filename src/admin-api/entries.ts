// The journal of an account: every change of its balance, newest first; its open holds, one per running message, oldest
// first; and its monthly statements: opening and closing balance, what changed it, and usage.

import { z } from '@hono/zod-openapi';
import type { Account } from '../accounts/accounts.ts';
import { parseDigits } from '../base/checked-number.ts';
import { formatId } from '../base/ids.ts';
import { batchOfReserve } from '../batches/batches.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import {
  besideUsageKinds,
  creditKinds,
  type Entry,
  type EntryPage,
  entryKinds,
  type OpenHold,
  type SeldomKind,
  systemAccounts,
} from '../ledger/ledger.ts';
import { isPaid } from '../payments/payments.ts';
import { type AccountMonth, emptyTotal, type UsageTotal } from '../reports/reports.ts';
import { findAccount } from './accounts.ts';
import { invalidMember } from './admin-app.ts';
import { type AdminDependencies, holders } from './dependencies.ts';
import { encoderOf, type ValueOf } from './encode.ts';
import { amountShown, countShown, dayShown, idField, isoDay, rangeFields, timeShown } from './fields.ts';
import { after, afterText, answerPage, requesterOf } from './pages.ts';
import { paymentOf, paymentSchema } from './payments.ts';
import { type AdminRoute, type Call, get, list } from './route.ts';
import { tagNameField, used, usedOf } from './usage-totals.ts';
import { hideable } from './visibility.ts';

const SYSTEM_NAMES: ReadonlyMap<number, string> = new Map([
  [systemAccounts.payments, 'payments'],
  [systemAccounts.promotions, 'promotions'],
  [systemAccounts.revenue, 'revenue'],
  [systemAccounts.adjustments, 'adjustments'],
  [systemAccounts.writeOffs, 'write_offs'],
  [systemAccounts.carriedForward, 'carried_forward'],
  [systemAccounts.plans, 'plans'],
  [systemAccounts.debts, 'debts'],
]);

export const entrySchema = z
  .object({
    seq: countShown,
    at: timeShown,
    kind: z.enum(entryKinds),
    debit: z.string().describe('The account whose balance decreased: an account ID, or the name of a system account.'),
    credit: z.string().describe('The account whose balance increased.'),
    amount: amountShown,
    change: amountShown.describe("The signed change of this account's balance."),
    reference: z.string().nullable(),
    note: z.string().nullable(),
    message_account: idField('acct')
      .nullable()
      .optional()
      .describe(
        'In entry-list, while accounts are below this one: the account whose message this is, which may be one that pays from this account. null for other entries, and when the usage record is no longer kept.',
      ),
  })
  .openapi('Entry');

const encodeEntry = encoderOf(entrySchema);

/** Values for `entrySchema`. */
function entryOf(entry: Entry, account: number): ValueOf<typeof entrySchema> {
  const { debit, credit } = entry;
  const parties = { debit: partyName(debit), credit: partyName(credit) };
  return { ...entry, ...parties, change: changeOf(entry, account), messageAccount: undefined };
}

/** Write-offs move between system accounts: the entry belongs to the account but leaves its balance unchanged. */
function changeOf({ debit, credit, amount }: Entry, account: number): number {
  if (credit === account) return amount;
  return debit === account ? -amount : 0;
}

function partyName(party: number): string {
  return SYSTEM_NAMES.get(party) ?? formatId('acct', party);
}

const seldomKinds: readonly SeldomKind[] = entryKinds.filter((kind) => kind !== 'usage');
const KINDS: Readonly<Record<string, readonly SeldomKind[]>> = {
  ...Object.fromEntries(seldomKinds.map((kind) => [kind, [kind]])),
  credit: creditKinds,
  beside_usage: [...besideUsageKinds, 'carried_forward'],
};

/** Usage is missing from the filter: nearly every entry is usage, and a search would find nearly all. */
const kindField = z
  .enum(Object.keys(KINDS) as [string, ...string[]], { error: `must be ${Object.keys(KINDS).join(' or ')}` })
  .describe(
    'credit: payment, promotion, adjustment, debt_write_off, debt and plan_payment. beside_usage: every change of the balance except usage.',
  );
const REQUEST_ID = /^req_[0-9A-Za-z]{25}$/;

export const holdSchema = z
  .object({
    request_id: z
      .string()
      .openapi({ pattern: '^(req_[0-9A-Za-z]{25}|rsv_[0-9]+_[0-9]+)$' })
      .describe('`rsv_…`: the reserve of a batch, for the requests that have not begun.'),
    batch: idField('msgbatch').nullable().describe('The batch whose reserve it is; null: it is of a message.'),
    key: idField('key'),
    group: hideable('group', z.string()),
    model: z.string(),
    stream: z.boolean(),
    amount: amountShown.describe('The amount on hold; it changes while the message runs.'),
    since: timeShown.describe('Time of the admission.'),
    caller_left: z
      .boolean()
      .describe('The client has disconnected; the service waits for the end of the answer to bill it.'),
  })
  .openapi('Hold');

const encodeHold = encoderOf(holdSchema);

function holdJson({ draft, openedAtMs, left, ...hold }: OpenHold): z.infer<typeof holdSchema> {
  const { model, stream } = draft;
  return encodeHold({
    ...hold,
    batch: batchOfReserve(hold.requestId),
    model,
    stream,
    sinceMs: openedAtMs,
    callerLeft: left,
  });
}

const params = z.object({ id: idField('acct') });

export const entryRoutes: AdminRoute[] = [
  list('/accounts/{id}/entries', 'entry-list', "List an account's journal entries", holders, {
    params,
    query: {
      kind: kindField.optional(),
      request: z
        .string()
        .regex(REQUEST_ID, 'must be a request id')
        .optional()
        .describe('Only entries of this message, while its usage record is kept. Cannot be combined with `kind`.'),
      ...rangeFields,
    },
    page: [entrySchema, 'Journal entries, newest first'],
    async handle(call) {
      const { account } = await findAccount(call, call.params.id);
      const { limit, kind, request, since, until } = call.query;
      if (kind !== undefined && request !== undefined) throw invalidMember('kind', 'cannot be combined with request');
      const before = after(call);
      const message = request === undefined ? undefined : await findMessage(call, account.id, request);
      const kinds = kind === undefined ? undefined : KINDS[kind];
      const page = {
        account: account.id,
        ...(kinds !== undefined && { kinds }),
        ...(message != null && { message }),
        sinceMs: since ?? null,
        untilMs: until ?? null,
        before,
        limit,
      };
      const rows = message === null ? [] : await call.ledger.listEntries(page, requesterOf(call));
      const hasBelow = rows.length > 0 && (await call.accounts.listBelow(account.id)).length > 0;
      const json = async (row: Entry) => {
        const shown = entryOf(row, account.id);
        return encodeEntry(hasBelow ? { ...shown, messageAccount: await messageAccountOf(call, row) } : shown);
      };
      return answerPage(call, rows, json, ({ seq }) => seq);
    },
  }),
  list('/accounts/{id}/holds', 'hold-list', 'List the open holds of an account', holders, {
    params,
    page: [holdSchema, 'Open holds, oldest first'],
    async handle(call) {
      const { account } = await findAccount(call, call.params.id);
      const page = { account: account.id, after: afterText(call), limit: call.query.limit };
      return answerPage(call, await call.ledger.listHolds(page, requesterOf(call)), holdJson, (row) => row.requestId);
    },
  }),
];

async function messageAccountOf({ usage }: AdminDependencies, { reference }: Entry): Promise<number | null> {
  if (reference === null || !REQUEST_ID.test(reference)) return null;
  return (await usage.getUsage(reference))?.account ?? null;
}

/**
 * When the account's message, or one that it paid for, ended, which locates its entries; null if the account has no such message, or it was
 * dropped.
 */
async function findMessage(
  { usage }: AdminDependencies,
  account: number,
  requestId: string,
): Promise<EntryPage['message'] | null> {
  const record = await usage.getUsage(requestId);
  return record?.account === account || record?.payer === account ? { requestId, endedAtMs: record.atMs } : null;
}

const monthShown = z.string().openapi({ pattern: '^\\d{4}-(0[1-9]|1[0-2])$', examples: ['2026-11'] });

export const statementSchema = z
  .object({
    account: idField('acct'),
    month: monthShown,
    since: timeShown.describe('Start of the month.'),
    until: timeShown.describe('Start of the next month.'),
    is_over: z.boolean().describe('Whether the month has ended; otherwise `closing_balance` is the current balance.'),
    opening_balance: amountShown,
    closing_balance: amountShown.describe('Exactly opening_balance + credited − used + refunded + corrected.'),
    credited: amountShown.describe('The signed sum of payments, promotions, adjustments and written-off debts.'),
    bonus: amountShown.describe('The part of `credited` that are bonuses of payments, less those taken back.'),
    used: amountShown.describe(
      'The amount that messages were charged when they ended, with those of accounts below that pay from this one.',
    ),
    refunded: amountShown.describe('Refunds made in this month, for messages of any month.'),
    corrected: amountShown.describe(
      'Corrections made in this month, for messages of any month; negative if they were charges.',
    ),
    usage: z
      .object(used)
      .describe(
        'Usage of the messages that ended in this month, at their current cost: cost − written_off equals `used` minus later refunds and corrections of these messages.',
      ),
    by_day: z
      .array(
        z.object({
          day: dayShown,
          ...used,
          balance_paid: amountShown
            .nullable()
            .describe(
              'The amount that the balance paid when these messages ended, without what a plan paid. All days add up to `used`. null if the month has too many messages.',
            ),
        }),
      )
      .describe('Oldest day first.'),
    by_model: z.array(z.object({ model: z.string(), ...used })).describe('Highest cost first.'),
    models: countShown.describe('Total number of models; by_model lists the first ones.'),
    by_key: z.array(z.object({ key: idField('key'), ...used })).describe('Highest cost first.'),
    keys: countShown.describe('Total number of keys; by_key lists the first ones.'),
    below: z
      .array(z.object({ account: idField('acct'), name: z.string(), pays_from: z.enum(['own', 'parent']), ...used }))
      .describe(
        'Usage of this month of each account that is below this one now, on every level, highest cost first; without those that have none.',
      ),
    usage_with_below: z.object(used).describe('The sum of `usage` and of all `below`.'),
    by_tag: z
      .array(z.object({ tag: z.string().nullable().describe('Its value; null: messages without the tag.'), ...used }))
      .describe(
        '`usage_with_below` by the value of the tag `tag_name`, highest cost first; all values together are its sum. Empty without `tag_name`.',
      ),
    tags: countShown.describe('Total number of values; by_tag lists the first ones.'),
    entries: z
      .array(entrySchema)
      .describe('Changes of the balance other than usage: credits, refunds and corrections, newest first.'),
    has_more_entries: z.boolean().describe('entry-list with kind=beside_usage lists all of them.'),
    payments: z
      .array(paymentSchema)
      .describe(
        'Payments that were created in this month and paid, newest first, as they are now: with tax, refunds, disputes and fee.',
      ),
  })
  .openapi('Statement');

const encodeStatement = encoderOf(statementSchema);

const MONTH_WORDS = 'must be a month, such as "2026-11"';
const MONTH = /^(19[7-9]\d|[2-9]\d{3})-(0[1-9]|1[0-2])$/;

/** A month in UTC. */
export const monthField = z
  .string({ error: MONTH_WORDS })
  .regex(MONTH, MONTH_WORDS)
  .openapi({ examples: ['2026-11'] });

export const statementRoutes: AdminRoute[] = [
  get('/accounts/{id}/statement', 'statement-show', 'Retrieve the monthly statement of an account', holders, {
    params,
    query: {
      month: monthField.optional().describe('The month in UTC; by default the current one.'),
      tag_name: tagNameField.describe('The name of a tag by which usage is grouped, such as cost_centre.'),
    },
    answer: [statementSchema, 'The statement'],
    async handle(call) {
      const { id } = call.params;
      const { account } = await findAccount(call, id);
      const nowMs = call.clock.nowMs();
      const name = call.query.month ?? nameOfMonth(nowMs);
      if (name > nameOfMonth(nowMs)) throw invalidMember('month', 'has not begun');
      const span = spanOfMonth(name);
      const most = {
        messagesMax: bounds.statementMessagesMax,
        entriesMax: bounds.statementEntriesMax,
        groupsMax: bounds.statementGroupsMax,
      };
      const below = await call.accounts.listBelow(account.id);
      const tagName = call.query.tag_name ?? null;
      const question = { account: account.id, below: below.map((one) => one.id), tagName, ...span, ...most };
      const month = await call.ledger.readMonth(question, requesterOf(call));
      // Both are written in one transaction, so a missing one is a fault of the store.
      if (month === null) throw new Error(`account ${account.id} has no row in the ledger`);
      if (month.journalSinceMs !== null && span.sinceMs < month.journalSinceMs)
        throw new TurnpikeError(
          'object_not_found',
          `The journal is kept only since ${nameOfMonth(month.journalSinceMs)}.`,
        );
      const payments = await listPaid(call, account.id, span);
      const statement = statementOf(month, span, nowMs, account.id);
      const company = companyOf(month, new Map(below.map((one) => [one.id, one])), tagName);
      return encodeStatement({ ...statement, ...company, month: name, payments });
    },
  }),
];

/** The usage of the accounts below, by their present places, and by tag. Without any, the sum is the account's own. */
function companyOf({ totals, company }: AccountMonth, below: ReadonlyMap<number, Account>, tagName: string | null) {
  const tags = tagName === null ? undefined : company?.tags;
  return {
    below: (company?.accounts.rows ?? []).flatMap((row) => {
      const found = below.get(row.account ?? 0);
      if (found === undefined) return [];
      return [{ ...usedOf(row), account: found.id, name: found.name, paysFrom: found.paysFrom ?? ('own' as const) }];
    }),
    usageWithBelow: usedOf(company?.accounts.whole ?? totals.day.whole),
    byTag: (tags?.rows ?? []).map(usedOf),
    tags: tags?.groups ?? 0,
  };
}

async function listPaid(call: Call, accountId: number, span: Span) {
  const page = { accountId, status: null, kind: null, after: null, limit: bounds.statementEntriesMax, ...span };
  const rows = await call.paymentStore.listPayments(page);
  return rows.filter(({ status }) => isPaid(status)).map((payment) => paymentOf(call, payment));
}

/** From a time until before another. */
export interface Span {
  sinceMs: number;
  untilMs: number;
}

export function spanOfMonth(name: string): Span {
  const [year = 0, month = 0] = name.split('-').map(parseDigits);
  return { sinceMs: Date.UTC(year, month - 1), untilMs: Date.UTC(year, month) };
}

export function nameOfMonth(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 7);
}

/** The days with usage, and those on which the account paid only for accounts below. */
function withPaidDays(rows: readonly UsageTotal[], paid: ReadonlyMap<number, bigint> | null): UsageTotal[] {
  const days = new Set(rows.map(({ dayMs }) => dayMs));
  const others = [...(paid ?? [])].filter(([dayMs, amount]) => amount !== 0n && !days.has(dayMs));
  return [...rows, ...others.map(([dayMs]) => ({ ...emptyTotal(), dayMs }))];
}

/** Values for `statementSchema`, but for the payments. */
function statementOf(month: AccountMonth, { sinceMs, untilMs }: Span, nowMs: number, account: number) {
  const { day, model, key } = month.totals;
  const paid = month.balancePaid && new Map(month.balancePaid.map((one) => [one.dayMs, one.paid]));
  return {
    ...month,
    account,
    sinceMs,
    untilMs,
    isOver: nowMs >= untilMs,
    openingBalance: month.opening,
    closingBalance: month.closing,
    usage: usedOf(day.whole),
    byDay: withPaidDays(day.rows, paid)
      .sort((one, other) => (one.dayMs ?? 0) - (other.dayMs ?? 0))
      .map((row) => ({
        ...usedOf(row),
        day: isoDay(row.dayMs ?? 0),
        balancePaid: paid && (paid.get(row.dayMs ?? 0) ?? 0n),
      })),
    byModel: model.rows.map((row) => ({ ...usedOf(row), model: row.model ?? '' })),
    models: model.groups,
    byKey: key.rows.map((row) => ({ ...usedOf(row), key: row.key ?? 0 })),
    keys: key.groups,
    entries: month.entries.map((entry) => entryOf(entry, account)),
  };
}
