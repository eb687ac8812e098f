// Incidents: problems that have begun and not ended, with whom they affect and what can be done. An account holder sees those that
// concern the account, without providers and their words.

import { z } from '@hono/zod-openapi';
import { formatId } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import { type Incident, incidentKinds, mostAffectingFirst, onePerProblem } from '../incidents/incidents.ts';
import { visibleCatalog } from './catalog.ts';
import { everyone, maySeeAccount, maySeeKey, seesBalance } from './dependencies.ts';
import { encoderOf } from './encode.ts';
import { amountShown, countShown, idField, timeShown } from './fields.ts';
import { type AdminRoute, type Call, get } from './route.ts';
import { hideable } from './visibility.ts';

/** Ways to do something about an incident. */
export const incidentActions = [
  'view_requests',
  'view_rejected',
  'view_provider',
  'view_model',
  'view_key',
  'view_destination',
  'view_export',
  'view_events',
  'add_route',
  'add_credential',
  'edit_credential',
  'add_provider_credit',
  'add_credit',
  'raise_limit',
  'enable_account',
  'change_price',
  'update_prices',
  'refund',
  'tell_customers',
] as const;
type IncidentAction = (typeof incidentActions)[number];

const affectedSchema = z.object({
  account: idField('acct'),
  account_name: z.string().nullable(),
  requests: countShown,
});

export const incidentSchema = z
  .object({
    id: idField('inc'),
    kind: z
      .enum(incidentKinds)
      .describe(
        'model_failing: messages of the model fail. provider_failing: all routes of the provider that are used fail. route_failing: a route fails while others answer. account_refused, key_refused: requests of the account or the key are refused. requests_rejected: requests of an application that repeats a mistake, or of unknown keys. credential_unreadable: the credential of a provider cannot be read. destination_failing, mail_failing, recharge_failing, export_failing, backup_failing, telemetry_failing: nothing of it succeeds. task_failing: a background task. negative_margin: a model is sold below its cost. prices_outdated: prices are those of an old price list.',
      ),
    severity: z.enum(['warning', 'critical']),
    since: timeShown.describe('When the problem began, as far as it is known.'),
    last_seen_at: timeShown,
    ended_at: timeShown.nullable().describe('null: it is open.'),
    account: idField('acct').nullable().describe('The account that it concerns; null: the installation.'),
    account_name: z.string().nullable(),
    key: idField('key').nullable(),
    key_name: z.string().nullable(),
    model: z.string().nullable(),
    models: z.array(z.string()).describe('The models that are affected.'),
    provider: hideable('provider', z.string().nullable()),
    upstream_model: hideable('upstream_model', z.string().nullable()),
    subject: z.string().nullable().describe('The name of a destination, an export, a credential, a task or a signal.'),
    subject_id: z.string().nullable().describe('The id of the destination or the export.'),
    cause: z
      .string()
      .nullable()
      .describe('The fault of the provider, such as rate_limited or out_of_credit, or the error code of the refusals.'),
    message: z.string().nullable().describe('What the provider or the service said last, without secrets.'),
    message_at: timeShown.nullable(),
    requests: countShown
      .nullable()
      .describe('Requests that were affected since it began, at most in the last day; null: not counted.'),
    all_requests: countShown.nullable().describe('All requests of the same time, of the same model, route or account.'),
    share: z.number().min(0).max(1).nullable().describe('`requests` of `all_requests`.'),
    accounts: countShown.nullable().describe('Accounts that were affected; null: not counted.'),
    most_affected: z.array(affectedSchema).describe('The accounts with most affected requests.'),
    loss: amountShown.nullable().describe('What was lost in the last two days.'),
    actions: z.array(z.enum(incidentActions)).describe('What can be done about it, the most useful first.'),
  })
  .openapi('Incident');

export const incidentListSchema = z.object({
  data: z
    .array(incidentSchema)
    .describe(
      'Open ones: critical ones first, then by the number of affected accounts and requests. Ended ones: the latest first.',
    ),
});

const encodeIncident = encoderOf(incidentSchema);

export const incidentRoutes: AdminRoute[] = [
  get('/incidents', 'incident-list', 'List incidents', everyone, {
    query: {
      status: z.enum(['open', 'ended'], { error: 'must be open or ended' }).default('open'),
    },
    answer: [incidentListSchema, 'Incidents that the token may see'],
    async handle(call) {
      const seen: Incident[] = [];
      const mayBuy = await modelsOf(call);
      for (const incident of await readIncidents(call, call.query.status))
        if (await maySee(call, incident, mayBuy)) seen.push(incident);
      return { data: await Promise.all(seen.map((incident) => incidentJson(call, incident))) };
    },
  }),
];

async function readIncidents({ incidents, clock, principal }: Call, status: 'open' | 'ended'): Promise<Incident[]> {
  if (status === 'open') {
    const open = await incidents.listOpenIncidents();
    return (principal.accountId === null ? onePerProblem(open) : open).sort(mostAffectingFirst);
  }
  return incidents.listEndedIncidents(clock.nowMs() - bounds.incidentsEndedShownMs, bounds.incidentsEndedShown);
}

/** The models that the principal's account can use; null: all. */
async function modelsOf(call: Call): Promise<ReadonlySet<string> | null> {
  if (call.principal.accountId === null) return null;
  return new Set((await visibleCatalog(call)).models.map(({ name }) => name));
}

async function maySee(
  call: Call,
  { account, facts: { kind, model, key } }: Incident,
  models: ReadonlySet<string> | null,
): Promise<boolean> {
  if (models === null) return true;
  if (kind === 'model_failing') return model !== null && models.has(model);
  if (account === null || !(await maySeeAccount(call, account))) return false;
  if (call.principal.role !== 'member') return true;
  if (kind === 'account_refused') return true;
  const found = key === null ? null : await call.accounts.getKey(key);
  return found !== null && (await maySeeKey(call, found));
}

async function incidentJson(call: Call, incident: Incident): Promise<z.infer<typeof incidentSchema>> {
  const { seq, account, beganAtMs, seenAtMs, endedAtMs, facts } = incident;
  const { kind, requests, ofRequests, said, saidAtMs, subjectId, mostAffected, loss } = facts;
  const isOperators = call.principal.accountId === null;
  const isOfProvider = kind === 'model_failing' && !isOperators;
  const nameOf = async (id: number) => (await call.accounts.getAccount(id))?.name ?? null;
  const share =
    requests === null || ofRequests === null || ofRequests === 0 ? null : Math.min(1, requests / ofRequests);
  const hidden = isOfProvider
    ? { provider: null, upstreamModel: null, cause: null, requests: null, ofRequests: null, accounts: null }
    : {};
  const showsMessage = !isOfProvider && seesBalance(call.principal);
  const affected = isOperators ? mostAffected.slice(0, AFFECTED_NAMED) : [];
  return encodeIncident({
    ...facts,
    ...hidden,
    id: seq,
    sinceMs: beganAtMs,
    lastSeenAtMs: seenAtMs,
    endedAtMs,
    account,
    accountName: account === null ? null : await nameOf(account),
    keyName: facts.key === null ? null : ((await call.accounts.getKey(facts.key))?.name ?? null),
    subjectId: subjectId === null ? null : formatId(kind === 'export_failing' ? 'exp' : 'dest', subjectId),
    message: showsMessage ? said : null,
    messageAtMs: showsMessage ? saidAtMs : null,
    allRequests: isOfProvider ? null : ofRequests,
    share,
    loss: isOperators ? loss : null,
    mostAffected: await Promise.all(affected.map(async (one) => ({ ...one, accountName: await nameOf(one.account) }))),
    actions: endedAtMs === null ? actionsFor(call, incident) : [],
  });
}

const AFFECTED_NAMED = 5;

function actionsFor({ principal }: Call, incident: Incident): IncidentAction[] {
  const actions = actionsOf(incident);
  if (principal.accountId === null) return actions;
  return actions.filter((action) => (OF_HOLDERS[principal.role] ?? []).includes(action));
}

/** The actions of account holders. */
const OF_HOLDERS: Partial<Record<string, readonly IncidentAction[]>> = {
  owner: ['view_requests', 'view_rejected', 'view_key', 'view_destination', 'view_export', 'add_credit'],
  member: ['view_requests', 'view_rejected', 'view_key'],
};

function actionsOf({ facts: { kind, cause, provider } }: Incident): IncidentAction[] {
  switch (kind) {
    case 'model_failing':
      return ['add_route', 'view_requests', 'tell_customers', 'refund', ...(provider === null ? [] : VIEW_PROVIDER)];
    case 'provider_failing':
      return [...(OF_CAUSE[cause ?? ''] ?? []), 'view_provider', 'add_route', 'tell_customers'];
    case 'route_failing':
      return [...(OF_CAUSE[cause ?? ''] ?? []), 'view_model', 'view_provider'];
    case 'account_refused':
      return [...(OF_REFUSAL[cause ?? ''] ?? ['raise_limit']), 'view_rejected', 'tell_customers'];
    case 'key_refused':
      return ['view_key', 'view_rejected', 'tell_customers'];
    case 'requests_rejected':
      return ['view_rejected'];
    case 'credential_unreadable':
      return ['edit_credential'];
    case 'destination_failing':
      return ['view_destination'];
    case 'export_failing':
      return ['view_export'];
    case 'negative_margin':
      return ['change_price', 'view_requests'];
    case 'prices_outdated':
      return ['update_prices'];
    case 'recharge_failing':
      return ['add_credit', 'tell_customers'];
    default:
      return ['view_events'];
  }
}

const VIEW_PROVIDER = ['view_provider'] as const;

const OF_CAUSE: Readonly<Record<string, readonly IncidentAction[]>> = {
  out_of_credit: ['add_provider_credit'],
  credentials: ['edit_credential'],
  rate_limited: ['add_credential'],
};

const OF_REFUSAL: Readonly<Record<string, readonly IncidentAction[]>> = {
  insufficient_user_quota: ['add_credit', 'raise_limit'],
  account_disabled: ['enable_account'],
};
