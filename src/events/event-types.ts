// Every type of event: title, severity, audience, members of its data, and its description in one sentence.
// Amounts are decimal strings in USD, times ISO 8601, ids as in the admin API. Data never has a secret.

import { z } from 'zod';
import { showDay, showTime } from '../base/clock.ts';
import { showUsd } from '../base/money.ts';

export type Severity = 'info' | 'warning' | 'error';

/** `account`: the account's own destinations, and operators'. `installation`: operators' only, even about an account. */
export type Audience = 'account' | 'installation';

interface EventDefinition<Shape extends z.ZodRawShape> {
  /** A few words, as a subject. */
  title: string;
  severity: Severity;
  audience: Audience;
  /** About the security of the account: mails about it cannot be unsubscribed. */
  isSecurity?: true;
  data: Shape;
  /** One sentence in plain text. */
  describe(data: z.infer<z.ZodObject<Shape>>): string;
}

function define<Shape extends z.ZodRawShape>({ isSecurity, data, ...rest }: EventDefinition<Shape>) {
  return { ...rest, isSecurity: isSecurity ?? false, data: z.strictObject(data) };
}

const amount = z.string().describe('USD, as a decimal string.');
const exactAmount = z.string().describe('USD, as an exact decimal string.');
const bonus = amount.optional();
const count = z.int().min(0);
const time = z.iso.datetime();
const id = z.string();
/** One of the account's thresholds. */
const percent = z.int().min(1).max(100);
const period = z.enum(['total', 'day', 'week', 'month']);
const paymentKind = z.enum(['checkout', 'auto_recharge', 'subscription']);
const payment = { payment: id, kind: paymentKind };
const key = { key: id, name: z.string(), prefix: z.string() };
const actor = z.string().describe('Who made the change: "tok_…", "person_…", "local" or "start".');

const incident = {
  incident: id,
  kind: z.string().describe('As in the list of incidents.'),
  severity: z.enum(['warning', 'critical']),
  since: time.describe('When the problem began, as far as it is known.'),
  model: z.string().nullable(),
  provider: z.string().nullable().describe('null in incidents of accounts.'),
  key: id.nullable(),
  subject: z.string().nullable().describe('The name of a destination, an export, a credential, a task or a signal.'),
  cause: z.string().nullable().describe('The fault of the provider, or the error code of the refusals.'),
  message: z.string().nullable().describe('What the provider or the service said last.'),
  requests: count.nullable().describe('Requests that were affected so far; null: not counted.'),
};

const money = {
  'balance.low': define({
    title: 'Balance low',
    severity: 'warning',
    audience: 'account',
    data: { threshold: amount, available: amount },
    describe: (data) => `The balance fell below ${showUsd(data.threshold)}: ${showUsd(data.available)} is available.`,
  }),
  'balance.exhausted': define({
    title: 'Balance exhausted',
    severity: 'error',
    audience: 'account',
    data: { available: amount },
    describe: () => 'The balance is exhausted. Requests that need it are rejected.',
  }),
  'allowance.used': define({
    title: 'Allowance used',
    severity: 'warning',
    audience: 'account',
    data: { percent, used: amount, allowance: amount, period },
    describe: (data) =>
      `${data.percent}% of the ${periodic[data.period]}allowance of ${showUsd(data.allowance)} is used.`,
  }),
  'quota.used': define({
    title: 'Quota of a key used',
    severity: 'warning',
    audience: 'account',
    data: { key: id, percent, used: amount, quota: amount, period },
    describe: (data) =>
      `The key ${data.key} has used ${data.percent}% of its ${periodic[data.period]}quota of ${showUsd(data.quota)}.`,
  }),
  'budget.used': define({
    title: 'Budget of a user used',
    severity: 'warning',
    audience: 'account',
    data: {
      person: id,
      window: z.enum(['5h', 'day', 'week', 'month']),
      percent,
      used: amount,
      budget: amount,
      stops: z.boolean(),
      resets_at: z.string().nullable(),
    },
    describe: (data) =>
      `The user ${data.person} has used ${data.percent}% of their ${periodic[data.window]}budget of ${showUsd(data.budget)}.`,
  }),
  'budget.burning': define({
    title: 'Budget used up too fast',
    severity: 'warning',
    audience: 'account',
    data: {
      limit: z.enum(['allowance', 'quota', 'budget', 'plan_window']).describe('The kind of limit.'),
      key: id.nullable().describe('Of a quota.'),
      person: id.nullable().describe('Of a budget.'),
      window: z.enum(['5h', 'day', 'week', 'month']),
      speed: z.enum(['fast', 'slow']),
      spent: amount.describe('USD that are known to have been used within the last minutes.'),
      minutes: count,
      used: amount.describe('USD that were used in the window.'),
      amount: amount.describe('The limit in USD.'),
      exhausted_at: time.describe('When nothing is left at this speed.'),
      resets_at: time,
    },
    describe: (data) =>
      `${showUsd(data.spent)} of the ${burningName(data)} was used within ${countOf(data.minutes, 'minute')}. At this rate, it runs out on ${showTime(data.exhausted_at)}, before it resets on ${showTime(data.resets_at)}.`,
  }),
  'plan_window.used': define({
    title: 'Plan allowance used',
    severity: 'warning',
    audience: 'account',
    data: {
      plan: z.string(),
      window: z.enum(['5h', 'day', 'week', 'month']),
      percent,
      used: amount,
      limit: amount,
      resets_at: time.nullable(),
    },
    describe: (data) =>
      `${data.percent}% of the ${periodic[data.window]}allowance of the plan ${data.plan} (${showUsd(data.limit)}) is used.`,
  }),
  'spend.unusual': define({
    title: 'Unusual spending',
    severity: 'warning',
    audience: 'account',
    data: {
      day: z.iso.date(),
      spent: amount,
      usual: amount.describe('USD that the account usually spends in a day, by its own past.'),
    },
    describe: (data) =>
      `${showUsd(data.spent)} was spent on ${showDay(data.day)}, compared with ${showUsd(data.usual)} on a usual day.`,
  }),
  'message.written_off': define({
    title: 'Cost written off',
    severity: 'warning',
    audience: 'installation',
    data: { request: id, key: id, amount },
    describe: (data) =>
      `${showUsd(data.amount)} of the cost of the request ${data.request} could not be charged and was written off.`,
  }),
} as const;

const payments = {
  'payment.succeeded': define({
    title: 'Payment received',
    severity: 'info',
    audience: 'account',
    data: { ...payment, amount, bonus: bonus.describe('USD that were credited as a bonus beside it.') },
    describe: (data) =>
      `${showUsd(data.amount)} was ${isOfPlan(data) ? 'paid for a plan' : 'paid and credited'}${withBonus(data)} (${data.payment}).`,
  }),
  'payment.failed': define({
    title: 'Payment failed',
    severity: 'warning',
    audience: 'account',
    data: { ...payment, amount, failure: z.string().nullable() },
    describe: (data) => `The payment ${data.payment} of ${showUsd(data.amount)} failed${because(data.failure)}.`,
  }),
  'payment.refunded': define({
    title: 'Payment refunded',
    severity: 'info',
    audience: 'account',
    data: {
      ...payment,
      amount: amount.describe('USD that were taken back from the balance now.'),
      refunded: amount.describe('USD that were refunded of this payment in all.'),
      debt: amount.describe('USD that the account owes beyond its floor.'),
      bonus: bonus.describe('USD of its bonus that were taken back now.'),
    },
    describe: (data) => `The payment ${data.payment} was refunded. ${deducted(data)}`,
  }),
  'payment.disputed': define({
    title: 'Payment disputed',
    severity: 'error',
    audience: 'account',
    data: {
      ...payment,
      amount: amount.describe('USD that were taken back now.'),
      disputed: amount,
      debt: amount,
      bonus,
    },
    describe: (data) => `The payment ${data.payment} was disputed. ${deducted(data)}`,
  }),
  'payment.restored': define({
    title: 'Dispute closed',
    severity: 'info',
    audience: 'account',
    data: { ...payment, amount: amount.describe('USD that were credited again.'), bonus },
    describe: (data) =>
      `The dispute about the payment ${data.payment} was closed. ${isNothing(data.amount) ? 'Nothing' : showUsd(data.amount)} was ${isOfPlan(data) ? 'returned' : 'credited again'}${withBonus(data)}.`,
  }),
  'payment.mismatched': define({
    title: 'Payment does not match',
    severity: 'error',
    audience: 'installation',
    data: { payment: id.nullable(), source: z.string(), reason: z.string() },
    describe: (data) => `A payment (${data.source}) was not credited${because(data.reason)}.`,
  }),
  'recharge.succeeded': define({
    title: 'Auto-recharge succeeded',
    severity: 'info',
    audience: 'account',
    data: { payment: id, amount, bonus },
    describe: (data) => `Auto-recharge added ${showUsd(data.amount)} to the balance${withBonus(data)}.`,
  }),
  'recharge.failed': define({
    title: 'Auto-recharge failed',
    severity: 'error',
    audience: 'account',
    data: { payment: id, amount, failure: z.string().nullable() },
    describe: (data) => `The auto-recharge of ${showUsd(data.amount)} failed${because(data.failure)}.`,
  }),
  'recharge.limited': define({
    title: 'Auto-recharge limit reached',
    severity: 'warning',
    audience: 'account',
    data: { per_day_max: count },
    describe: (data) => `Auto-recharge has reached its limit of ${countOf(data.per_day_max, 'recharge')} per day.`,
  }),
  'recharge.suspended': define({
    title: 'Auto-recharge turned off',
    severity: 'error',
    audience: 'account',
    data: { failures: count },
    describe: (data) =>
      `Auto-recharge was turned off after ${countOf(data.failures, 'failure')} in a row. Check the payment method, then turn it on again.`,
  }),
  'code.redeemed': define({
    title: 'Code redeemed',
    severity: 'info',
    audience: 'account',
    data: { batch: id, amount },
    describe: (data) => `A code worth ${showUsd(data.amount)} was redeemed.`,
  }),
} as const;

const plans = {
  'plan.started': define({
    title: 'Plan started',
    severity: 'info',
    audience: 'account',
    data: { plan: z.string(), ends_at: time.nullable() },
    describe: (data) => `The plan ${data.plan} started.`,
  }),
  'plan.changed': define({
    title: 'Plan changed',
    severity: 'info',
    audience: 'account',
    data: { plan: z.string(), former: z.string() },
    describe: (data) => `The plan changed from ${data.former} to ${data.plan}.`,
  }),
  'plan.renewed': define({
    title: 'Plan renewed',
    severity: 'info',
    audience: 'account',
    data: { plan: z.string(), paid_until: time },
    describe: (data) => `The plan ${data.plan} is paid until ${showTime(data.paid_until)}.`,
  }),
  'plan.ending': define({
    title: 'Plan ends soon',
    severity: 'warning',
    audience: 'account',
    data: { plan: z.string(), ends_at: time },
    describe: (data) => `The plan ${data.plan} ends on ${showTime(data.ends_at)}.`,
  }),
  'plan.ended': define({
    title: 'Plan ended',
    severity: 'warning',
    audience: 'account',
    data: { plan: z.string() },
    describe: (data) => `The plan ${data.plan} ended.`,
  }),
  'subscription.refused': define({
    title: 'Subscription refused',
    severity: 'error',
    audience: 'account',
    data: { subscription: z.string(), reason: z.string() },
    describe: (data) =>
      `The subscription ${data.subscription} was canceled and its payment is returned${because(data.reason)}.`,
  }),
  'plan.payment_failed': define({
    title: 'Payment for the plan failed',
    severity: 'error',
    audience: 'account',
    data: { plan: z.string(), ends_at: time.nullable() },
    describe: (data) =>
      `The payment for the plan ${data.plan} failed.${data.ends_at === null ? '' : ` The plan ends on ${showTime(data.ends_at)}.`}`,
  }),
} as const;

const access = {
  'key.created': define({
    title: 'Key created',
    severity: 'info',
    audience: 'account',
    isSecurity: true,
    data: { ...key, actor },
    describe: (data) => `The key ${named(data)} was created by ${actorName(data.actor)}.`,
  }),
  'key.rotated': define({
    title: 'Key rotated',
    severity: 'info',
    audience: 'account',
    isSecurity: true,
    data: { ...key, actor },
    describe: (data) => `The key ${named(data)} was rotated by ${actorName(data.actor)}.`,
  }),
  'key.expiring': define({
    title: 'Key expires soon',
    severity: 'warning',
    audience: 'account',
    data: { ...key, expires_at: time },
    describe: (data) => `The key ${named(data)} expires on ${showTime(data.expires_at)}.`,
  }),
  'key.disabled': define({
    title: 'Key disabled',
    severity: 'warning',
    audience: 'account',
    isSecurity: true,
    data: { ...key, status: z.enum(['disabled', 'revoked']), actor },
    describe: (data) => `The key ${named(data)} was ${data.status} by ${actorName(data.actor)}.`,
  }),
  'token.created': define({
    title: 'Token created',
    severity: 'info',
    audience: 'account',
    isSecurity: true,
    data: { token: id, name: z.string(), role: z.string(), actor },
    describe: (data) =>
      `The token ${named({ ...data, key: data.token })} with the role ${data.role} was created by ${actorName(data.actor)}.`,
  }),
  'person.joined': define({
    title: 'User joined',
    severity: 'info',
    audience: 'account',
    isSecurity: true,
    data: { person: id, email: z.string(), role: z.string() },
    describe: (data) => `${data.email} joined with the role ${data.role}.`,
  }),
  'password.reset': define({
    title: 'Password reset',
    severity: 'info',
    audience: 'account',
    isSecurity: true,
    data: { person: id, email: z.string() },
    describe: (data) => `The password of ${data.email} was reset.`,
  }),
  'account.signed_up': define({
    title: 'Account signed up',
    severity: 'info',
    audience: 'installation',
    data: { name: z.string(), email: z.string(), credit: amount },
    describe: (data) =>
      `${data.email} signed up${isNothing(data.credit) ? '' : ` and received ${showUsd(data.credit)} of credit`}.`,
  }),
  'sign_up.limited': define({
    title: 'Limit of sign-ups reached',
    severity: 'warning',
    audience: 'installation',
    data: { per_day_max: count },
    describe: (data) => `Sign-ups have reached their limit of ${countOf(data.per_day_max, 'account')} per day.`,
  }),
} as const;

const service = {
  'requests.rejected': define({
    title: 'Many requests rejected',
    severity: 'warning',
    audience: 'account',
    data: {
      key: id.nullable().describe('null: keys of the account together, or requests without a known key.'),
      code: z.string().describe('The error code.'),
      count: count.describe('Requests that were rejected with this code.'),
      minutes: count.describe('In so many minutes.'),
    },
    describe: (data) =>
      `${countOf(data.count, 'request')} ${data.key === null ? '' : `with the key ${data.key} `}${data.count === 1 ? 'was' : 'were'} rejected within ${countOf(data.minutes, 'minute')} (${data.code}).`,
  }),
  'batch.ended': define({
    title: 'Batch ended',
    severity: 'info',
    audience: 'account',
    data: {
      batch: id,
      key: id,
      requests: count,
      succeeded: count,
      errored: count.describe('Requests that failed.'),
      canceled: count.describe('Requests that were not sent, because the batch was canceled or its file was lost.'),
      expired: count.describe('Requests that were not sent in time.'),
      cost: exactAmount.describe('USD that its requests have cost.'),
    },
    describe: (data) =>
      `The batch ${data.batch} of the key ${data.key} ended: ${batchResults(data)}. It cost ${showUsd(data.cost)}.`,
  }),
  'incident.opened': define({
    title: 'Incident opened',
    severity: 'error',
    audience: 'account',
    data: incident,
    describe: (data) => `${incidentWords(data, false)} since ${showTime(data.since)}${sayingOf(data)}.`,
  }),
  'incident.ended': define({
    title: 'Incident ended',
    severity: 'info',
    audience: 'account',
    data: { ...incident, ended_at: time },
    describe: (data) =>
      `${incidentWords(data, true)} from ${showTime(data.since)} to ${showTime(data.ended_at)}. The incident has ended.`,
  }),
  'provider.failing': define({
    title: 'Provider failing',
    severity: 'error',
    audience: 'installation',
    data: { provider: z.string(), since: time },
    describe: (data) => `All routes of the provider ${data.provider} have failed since ${showTime(data.since)}.`,
  }),
  'provider.recovered': define({
    title: 'Provider recovered',
    severity: 'info',
    audience: 'installation',
    data: { provider: z.string(), since: time.describe('When it began to fail.') },
    describe: (data) => `The provider ${data.provider} has recovered. It had failed since ${showTime(data.since)}.`,
  }),
  'export.failed': define({
    title: 'Export failed',
    severity: 'error',
    audience: 'account',
    data: { export: id, name: z.string(), period: z.string(), reason: z.string() },
    describe: (data) => `The export “${data.name}” for ${data.period} could not be sent${because(data.reason)}.`,
  }),
  'provider_bill.differs': define({
    title: 'Provider bill differs',
    severity: 'warning',
    audience: 'installation',
    data: {
      provider: z.string(),
      day: z.iso.date(),
      billed: exactAmount.describe("USD of the provider's bill."),
      recorded: exactAmount.describe('USD of the recorded provider costs.'),
      difference: exactAmount.describe('What was billed, less what was recorded.'),
      parts: z
        .strictObject({
          rounding: exactAmount,
          tiers: exactAmount,
          cancelled: exactAmount,
          beside: exactAmount,
          unknown_price: exactAmount,
          unexplained: exactAmount,
        })
        .describe('What explains the difference; they add up to it.'),
    },
    describe: (data) =>
      `The bill of ${data.provider} for ${showDay(data.day)} is ${showUsd(data.billed)}, but ${showUsd(data.recorded)} was recorded. The difference is ${showUsd(data.difference)}.`,
  }),
  'price.scheduled': define({
    title: 'Price scheduled',
    severity: 'info',
    audience: 'installation',
    data: { model: z.string(), from: time.describe('When it takes effect.'), actor },
    describe: (data) =>
      `A new price for the model ${data.model} was scheduled for ${showTime(data.from)} by ${actorName(data.actor)}.`,
  }),
  'price.canceled': define({
    title: 'Scheduled price canceled',
    severity: 'info',
    audience: 'installation',
    data: { model: z.string(), from: time.describe('When it would have taken effect.'), actor },
    describe: (data) =>
      `The price for the model ${data.model} that was scheduled for ${showTime(data.from)} was canceled by ${actorName(data.actor)}.`,
  }),
  'price.changed': define({
    title: 'Price changed',
    severity: 'info',
    audience: 'installation',
    data: { model: z.string(), from: time.describe('When it took effect.') },
    describe: (data) => `The scheduled price for the model ${data.model} took effect on ${showTime(data.from)}.`,
  }),
  'backup.failed': define({
    title: 'Backup failed',
    severity: 'error',
    audience: 'installation',
    data: { reason: z.string() },
    describe: (data) => `A backup failed${because(data.reason)}.`,
  }),
  'upkeep.failed': define({
    title: 'Upkeep failed',
    severity: 'error',
    audience: 'installation',
    data: { task: z.string(), reason: z.string() },
    describe: (data) => `The background task ${data.task} failed${because(data.reason)}.`,
  }),
  'destination.disabled': define({
    title: 'Destination disabled',
    severity: 'error',
    audience: 'account',
    data: { destination: id, name: z.string(), reason: z.string() },
    describe: (data) =>
      `The destination ${named({ ...data, key: data.destination })} was disabled${because(data.reason)}.`,
  }),
  'destination.tested': define({
    title: 'Test',
    severity: 'info',
    audience: 'account',
    data: { destination: id },
    describe: (data) => `This is a test of the destination ${data.destination}.`,
  }),
} as const;

export const eventTypes = { ...money, ...payments, ...plans, ...access, ...service } as const;

export type EventType = keyof typeof eventTypes;
export type EventData<Type extends EventType> = z.infer<(typeof eventTypes)[Type]['data']>;

export function isEventType(text: string): text is EventType {
  return Object.hasOwn(eventTypes, text);
}

/** Said before a limit. */
const periodic = { total: '', '5h': '5-hour ', day: 'daily ', week: 'weekly ', month: 'monthly ' } as const;

interface BurningLimit extends Record<'key' | 'person', string | null> {
  limit: string;
  window: keyof typeof periodic;
  amount: string;
}

function burningName(data: BurningLimit): string {
  const { limit, key: keyId, person, window, amount: max } = data;
  const [name, of] =
    limit === 'quota'
      ? ['quota', ` of the key ${keyId}`]
      : limit === 'budget'
        ? ['budget', ` of the user ${person}`]
        : ['allowance', limit === 'plan_window' ? ' of the plan' : ''];
  return `${periodic[window]}${name}${of} (${showUsd(max)})`;
}

function countOf(count: number, thing: string): string {
  return `${count.toLocaleString('en-US')} ${thing}${count === 1 ? '' : 's'}`;
}

/** Such as "8 of 10 requests succeeded, 2 were canceled". */
function batchResults(data: Record<'requests' | 'succeeded' | 'errored' | 'canceled' | 'expired', number>): string {
  const were = (count: number, word: string) =>
    count === 0 ? [] : [`${count.toLocaleString('en-US')} ${count === 1 ? 'was' : 'were'} ${word}`];
  const failed = data.errored === 0 ? [] : [`${data.errored.toLocaleString('en-US')} failed`];
  const expired = data.expired === 0 ? [] : [`${data.expired.toLocaleString('en-US')} expired`];
  const succeeded = `${data.succeeded.toLocaleString('en-US')} of ${countOf(data.requests, 'request')} succeeded`;
  return [succeeded, ...failed, ...were(data.canceled, 'canceled'), ...expired].join(', ');
}

interface IncidentData extends Record<'kind', string> {
  model: string | null;
  provider: string | null;
  key: string | null;
  subject: string | null;
  cause: string | null;
  message: string | null;
}

/** The problem of each kind of incident: who, and what they do now and did then. */
const INCIDENT_WORDS: Readonly<Record<string, (data: IncidentData) => readonly [string, string, string]>> = {
  model_failing: ({ model }) => [`Requests for the model ${model}`, 'have failed', 'failed'],
  provider_failing: ({ provider }) => [`Requests to the provider ${provider}`, 'have failed', 'failed'],
  route_failing: ({ model, provider }) => [`The route of ${model} to ${provider}`, 'has failed', 'failed'],
  account_refused: (data) => [`Requests of the account${codeOf(data)}`, 'have been rejected', 'were rejected'],
  key_refused: (data) => [`Requests with the key ${data.key}${codeOf(data)}`, 'have been rejected', 'were rejected'],
  requests_rejected: (data) => [`Many requests${codeOf(data)}`, 'have been rejected', 'were rejected'],
  credential_unreadable: ({ subject, provider }) => [
    `The credential ${subject} of the provider ${provider}`,
    'has been unreadable',
    'was unreadable',
  ],
  destination_failing: ({ subject }) => [`The destination ${subject}`, 'has failed', 'failed'],
  mail_failing: () => ['Sending mail', 'has failed', 'failed'],
  recharge_failing: () => ['Auto-recharges', 'have failed', 'failed'],
  export_failing: ({ subject }) => [`The export ${subject}`, 'has failed', 'failed'],
  backup_failing: () => ['Backups', 'have failed', 'failed'],
  task_failing: ({ subject }) => [`The background task ${subject}`, 'has failed', 'failed'],
  telemetry_failing: ({ subject }) => [`Telemetry (${subject})`, 'has failed', 'failed'],
  negative_margin: ({ model }) => [`The model ${model}`, 'has been sold below cost', 'was sold below cost'],
  prices_outdated: ({ subject }) => [`The price list of ${subject}`, 'has been outdated', 'was outdated'],
};

function codeOf({ cause }: IncidentData): string {
  return cause === null ? '' : ` (${cause})`;
}

function incidentWords(data: IncidentData & { kind: string }, isOver: boolean): string {
  const words = Object.hasOwn(INCIDENT_WORDS, data.kind) ? INCIDENT_WORDS[data.kind]?.(data) : undefined;
  const [who, now, then] = words ?? [`“${data.kind}”`, 'has been a problem', 'was a problem'];
  return `${who} ${isOver ? then : now}`;
}

function sayingOf({ message }: IncidentData): string {
  return message === null ? '' : `: ${message.replace(/\.$/, '')}`;
}

function because(failure: string | null): string {
  return failure === null ? '' : `: ${failure.replace(/\.$/, '')}`;
}

function actorName(id: string): string {
  if (id === 'local') return 'the CLI';
  return id === 'start' ? 'the service' : id;
}

/** A plan's payment does not change the balance. */
function isOfPlan({ kind }: { kind: string }): boolean {
  return kind === 'subscription';
}

function withBonus({ bonus: credited }: { bonus?: string | undefined }): string {
  return credited === undefined || isNothing(credited) ? '' : `, with a bonus of ${showUsd(credited)}`;
}

/** Says what a refund or a dispute took. */
function deducted(data: { kind: string; amount: string; debt: string; bonus?: string | undefined }): string {
  const taken = [
    ...(isNothing(data.amount) ? [] : [showUsd(data.amount)]),
    ...(data.bonus === undefined || isNothing(data.bonus) ? [] : [`${showUsd(data.bonus)} of its bonus`]),
  ];
  const what = taken.length === 0 ? 'Nothing' : taken.join(' and ');
  const from = isOfPlan(data) ? 'what was paid for a plan' : 'the balance';
  const owed = isNothing(data.debt) ? '' : `, and ${showUsd(data.debt)} is owed`;
  return `${what} ${taken.length > 1 ? 'were' : 'was'} deducted from ${from}${owed}.`;
}

function isNothing(usd: string): boolean {
  return /^0*(?:\.0*)?$/.test(usd);
}

function named({ key: keyId, name }: { key: string; name: string }): string {
  return name === '' ? keyId : `“${name}” (${keyId})`;
}
