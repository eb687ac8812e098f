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
    describe: () => 'The balance is exhausted: messages that need it are refused.',
  }),
  'allowance.used': define({
    title: 'Allowance used',
    severity: 'warning',
    audience: 'account',
    data: { percent, used: amount, allowance: amount, period },
    describe: (data) => `${data.percent} % of the allowance of ${showUsd(data.allowance)} (${data.period}) are used.`,
  }),
  'quota.used': define({
    title: 'Quota of a key used',
    severity: 'warning',
    audience: 'account',
    data: { key: id, percent, used: amount, quota: amount, period },
    describe: (data) =>
      `${data.percent} % of the quota of ${showUsd(data.quota)} (${data.period}) of the key ${data.key} are used.`,
  }),
  'budget.used': define({
    title: 'Budget of a person used',
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
      `${data.percent} % of the budget of ${showUsd(data.budget)} (${data.window}) of the person ${data.person} are used.`,
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
      `${showUsd(data.spent)} was used in ${data.minutes} minutes of the ${burningName(data)} of ${showUsd(data.amount)} (${data.window}): at this speed, it is used up at ${showTime(data.exhausted_at)}, before it begins anew at ${showTime(data.resets_at)}.`,
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
      `${data.percent} % of the ${data.window} window of the plan ${data.plan} (${showUsd(data.limit)}) are used.`,
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
      `${showUsd(data.spent)} was spent on ${showDay(data.day)}; a usual day is ${showUsd(data.usual)}.`,
  }),
  'message.written_off': define({
    title: 'Cost written off',
    severity: 'warning',
    audience: 'installation',
    data: { request: id, key: id, amount },
    describe: (data) => `${showUsd(data.amount)} of the message ${data.request} could not be paid and was written off.`,
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
    describe: (data) => `The payment ${data.payment} was refunded: ${takenBack(data)}.`,
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
    describe: (data) => `The payment ${data.payment} was disputed: ${takenBack(data)}.`,
  }),
  'payment.restored': define({
    title: 'Dispute closed',
    severity: 'info',
    audience: 'account',
    data: { ...payment, amount: amount.describe('USD that were credited again.'), bonus },
    describe: (data) =>
      `The dispute of ${data.payment} was closed: ${showUsd(data.amount)} was ${isOfPlan(data) ? 'returned' : 'credited again'}${withBonus(data)}.`,
  }),
  'payment.mismatched': define({
    title: 'Payment does not match',
    severity: 'error',
    audience: 'installation',
    data: { payment: id.nullable(), source: z.string(), reason: z.string() },
    describe: (data) => `A payment of the provider (${data.source}) was not credited: ${data.reason}.`,
  }),
  'recharge.succeeded': define({
    title: 'Auto-recharge succeeded',
    severity: 'info',
    audience: 'account',
    data: { payment: id, amount, bonus },
    describe: (data) => `The balance was recharged automatically by ${showUsd(data.amount)}${withBonus(data)}.`,
  }),
  'recharge.failed': define({
    title: 'Auto-recharge failed',
    severity: 'error',
    audience: 'account',
    data: { payment: id, amount, failure: z.string().nullable() },
    describe: (data) => `The automatic recharge of ${showUsd(data.amount)} failed${because(data.failure)}.`,
  }),
  'recharge.limited': define({
    title: 'Auto-recharge limit reached',
    severity: 'warning',
    audience: 'account',
    data: { per_day_max: count },
    describe: (data) => `The balance was recharged ${data.per_day_max} times today, the most that is allowed.`,
  }),
  'recharge.suspended': define({
    title: 'Auto-recharge switched off',
    severity: 'error',
    audience: 'account',
    data: { failures: count },
    describe: (data) =>
      `The automatic recharge was switched off after ${data.failures} failures in a row. Check the payment method and switch it on again.`,
  }),
  'code.redeemed': define({
    title: 'Code redeemed',
    severity: 'info',
    audience: 'account',
    data: { batch: id, amount },
    describe: (data) => `A code of ${showUsd(data.amount)} was redeemed.`,
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
    describe: (data) => `The plan ${data.plan} ends at ${showTime(data.ends_at)}.`,
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
    describe: (data) => `The subscription ${data.subscription} was ended, and its payment is returned: ${data.reason}.`,
  }),
  'plan.payment_failed': define({
    title: 'Payment of the plan failed',
    severity: 'error',
    audience: 'account',
    data: { plan: z.string(), ends_at: time.nullable() },
    describe: (data) =>
      `The payment of the plan ${data.plan} failed${data.ends_at === null ? '' : `; it ends at ${showTime(data.ends_at)}`}.`,
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
    describe: (data) => `The key ${named(data)} got a new secret from ${actorName(data.actor)}.`,
  }),
  'key.expiring': define({
    title: 'Key expires soon',
    severity: 'warning',
    audience: 'account',
    data: { ...key, expires_at: time },
    describe: (data) => `The key ${named(data)} expires at ${showTime(data.expires_at)}.`,
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
    describe: (data) => `A token of the role ${data.role} (${data.token}) was created by ${actorName(data.actor)}.`,
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
    describe: (data) => `${data.email} signed up; the account got ${showUsd(data.credit)}.`,
  }),
  'sign_up.limited': define({
    title: 'Limit of sign-ups reached',
    severity: 'warning',
    audience: 'installation',
    data: { per_day_max: count },
    describe: (data) => `${data.per_day_max} accounts signed up today, the most that is allowed.`,
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
      `${data.count} requests ${data.key === null ? '' : `of the key ${data.key} `}were rejected within ${data.minutes} minutes (${data.code}).`,
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
      `${incidentWords(data, true)} from ${showTime(data.since)} to ${showTime(data.ended_at)}; this is over.`,
  }),
  'provider.failing': define({
    title: 'Provider failing',
    severity: 'error',
    audience: 'installation',
    data: { provider: z.string(), since: time },
    describe: (data) => `All routes of the provider ${data.provider} fail since ${showTime(data.since)}.`,
  }),
  'provider.recovered': define({
    title: 'Provider recovered',
    severity: 'info',
    audience: 'installation',
    data: { provider: z.string(), since: time.describe('When it began to fail.') },
    describe: (data) => `The provider ${data.provider} answers again; it failed since ${showTime(data.since)}.`,
  }),
  'export.failed': define({
    title: 'Export failed',
    severity: 'error',
    audience: 'account',
    data: { export: id, name: z.string(), period: z.string(), reason: z.string() },
    describe: (data) => `The export "${data.name}" of ${data.period} could not be sent: ${data.reason}`,
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
      `The bill of ${data.provider} for ${showDay(data.day)} is ${showUsd(data.billed)}; ${showUsd(data.recorded)} was recorded. The difference is ${showUsd(data.difference)}.`,
  }),
  'price.scheduled': define({
    title: 'Price scheduled',
    severity: 'info',
    audience: 'installation',
    data: { model: z.string(), from: time.describe('When it takes effect.'), actor },
    describe: (data) =>
      `A price of the model ${data.model} was scheduled for ${showTime(data.from)} by ${actorName(data.actor)}.`,
  }),
  'price.canceled': define({
    title: 'Scheduled price canceled',
    severity: 'info',
    audience: 'installation',
    data: { model: z.string(), from: time.describe('When it would have taken effect.'), actor },
    describe: (data) =>
      `The price of the model ${data.model} that was scheduled for ${showTime(data.from)} was canceled by ${actorName(data.actor)}.`,
  }),
  'price.changed': define({
    title: 'Price changed',
    severity: 'info',
    audience: 'installation',
    data: { model: z.string(), from: time.describe('When it took effect.') },
    describe: (data) => `The scheduled price of the model ${data.model} is in force since ${showTime(data.from)}.`,
  }),
  'backup.failed': define({
    title: 'Backup failed',
    severity: 'error',
    audience: 'installation',
    data: { reason: z.string() },
    describe: (data) => `A backup failed: ${data.reason}.`,
  }),
  'upkeep.failed': define({
    title: 'Upkeep failed',
    severity: 'error',
    audience: 'installation',
    data: { task: z.string(), reason: z.string() },
    describe: (data) => `The background task ${data.task} failed: ${data.reason}.`,
  }),
  'destination.disabled': define({
    title: 'Destination disabled',
    severity: 'error',
    audience: 'account',
    data: { destination: id, name: z.string(), reason: z.string() },
    describe: (data) => `The destination ${data.name} (${data.destination}) was disabled: ${data.reason}.`,
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

function burningName({ limit, key: keyId, person }: Record<'limit', string> & Record<'key' | 'person', string | null>) {
  if (limit === 'quota') return `quota of the key ${keyId}`;
  if (limit === 'budget') return `budget of the person ${person}`;
  return limit === 'allowance' ? 'allowance' : 'allowance of the plan';
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
  model_failing: ({ model }) => [`Requests of the model ${model}`, 'have failed', 'failed'],
  provider_failing: ({ provider }) => [`Requests to the provider ${provider}`, 'have failed', 'failed'],
  route_failing: ({ model, provider }) => [`The route of ${model} to ${provider}`, 'has failed', 'failed'],
  account_refused: (data) => [`Requests of the account${codeOf(data)}`, 'have been refused', 'were refused'],
  key_refused: (data) => [`Requests of the key ${data.key}${codeOf(data)}`, 'have been refused', 'were refused'],
  requests_rejected: (data) => [`Many requests${codeOf(data)}`, 'have been rejected', 'were rejected'],
  credential_unreadable: ({ subject, provider }) => [
    `The credential ${subject} of the provider ${provider}`,
    'has been unreadable',
    'was unreadable',
  ],
  destination_failing: ({ subject }) => [`The destination ${subject}`, 'has failed', 'failed'],
  mail_failing: () => ['Mail', 'has failed', 'failed'],
  recharge_failing: () => ['Automatic recharges', 'have failed', 'failed'],
  export_failing: ({ subject }) => [`The export ${subject}`, 'has failed', 'failed'],
  backup_failing: () => ['Backups', 'have failed', 'failed'],
  task_failing: ({ subject }) => [`The background task ${subject}`, 'has failed', 'failed'],
  telemetry_failing: ({ subject }) => [`Telemetry (${subject})`, 'has failed', 'failed'],
  negative_margin: ({ model }) => [`The model ${model}`, 'has been sold below its cost', 'was sold below its cost'],
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
  return credited === undefined ? '' : `, with a bonus of ${showUsd(credited)}`;
}

/** Said of a refund or a dispute. */
function takenBack(data: { kind: string; amount: string; debt: string; bonus?: string | undefined }): string {
  const ofBonus = data.bonus === undefined ? '' : ` and ${showUsd(data.bonus)} of its bonus`;
  const verb = ofBonus === '' ? 'was' : 'were';
  return `${showUsd(data.amount)}${ofBonus} ${verb} taken from ${paidBy(data)}${owing(data.debt)}`;
}

function paidBy(paid: { kind: string }): string {
  return isOfPlan(paid) ? 'what was paid for a plan' : 'the balance';
}

function owing(debt: string): string {
  return debt === '0' ? '' : `, and ${showUsd(debt)} is owed`;
}

function named({ key: keyId, name }: { key: string; name: string }): string {
  return name === '' ? keyId : `“${name}” (${keyId})`;
}
