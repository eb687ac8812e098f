// The expected rights in the admin API, written for this test: nothing is read from the application. The operator may
// do everything. A route without a row fails the test.

import { isOver, type ObjectKind, type Principal, type WorldObject } from './world.ts';

/** Which objects a role reaches through a route. */
export type Reach = 'everything' | 'its account' | 'what it made' | 'nothing';

export interface RouteRule {
  viewer: Reach;
  owner: Reach;
  member: Reach;
  /** The kind of object that the path names. */
  object: ObjectKind | null;
  /** The kind of object listed in the response. */
  lists: ObjectKind | null;
  /** The kind of object counted in the response, as `messages` of its `total` or of all its rows. */
  counts: ObjectKind | null;
  /** The status on success. */
  done: number;
  /** A revoked key stays revoked; a disabled person gets no link. */
  refusesRevoked: boolean;
  /** A disabled account gets no subscription. */
  refusesDisabled: boolean;
  /** An account that pays from the one above gets no credit. */
  refusesUnused: boolean;
  /** People of the installation have no budgets. */
  refusesInstallation: boolean;
  /** A disabled account may use it. */
  isForDisabled: boolean;
  /** Whether the route needs no token. */
  isOpen: boolean;
}

type Reaches = [viewer: Reach, owner: Reach, member: Reach];

const ofTheInstallation: Reaches = ['everything', 'nothing', 'nothing'];
const operatorOnly: Reaches = ['nothing', 'nothing', 'nothing'];
const seenByHolders: Reaches = ['everything', 'its account', 'nothing'];
const changedByHolders: Reaches = ['nothing', 'its account', 'nothing'];
const seenByEveryone: Reaches = ['everything', 'its account', 'its account'];
const seenByMakers: Reaches = ['everything', 'its account', 'what it made'];
const changedByMakers: Reaches = ['nothing', 'its account', 'what it made'];
const madeByEveryone: Reaches = ['nothing', 'its account', 'its account'];
const ofMakers: Reaches = ['what it made', 'what it made', 'what it made'];

export const policy: Record<string, RouteRule> = {
  'POST /api/v1/accounts': rule(changedByHolders, { done: 201 }),
  'GET /api/v1/accounts': rule(seenByHolders, { lists: 'account' }),
  'GET /api/v1/accounts/{id}': rule(seenByHolders, { object: 'account' }),
  'PATCH /api/v1/accounts/{id}': rule(changedByHolders, { object: 'account' }),
  'POST /api/v1/accounts/{id}/credits': rule(operatorOnly, { object: 'account', done: 201, refusesUnused: true }),
  'GET /api/v1/accounts/{id}/entries': rule(seenByHolders, { object: 'account' }),
  'GET /api/v1/accounts/{id}/holds': rule(seenByHolders, { object: 'account' }),
  'GET /api/v1/accounts/{id}/statement': rule(seenByHolders, { object: 'account' }),
  'GET /api/v1/exports/file': rule(seenByHolders),
  'POST /api/v1/exports': rule(changedByHolders, { done: 201 }),
  'GET /api/v1/exports': rule(seenByHolders, { lists: 'export' }),
  'GET /api/v1/exports/{id}': rule(seenByHolders, { object: 'export' }),
  'PATCH /api/v1/exports/{id}': rule(changedByHolders, { object: 'export' }),
  'GET /api/v1/exports/{id}/runs': rule(seenByHolders, { object: 'export' }),
  'POST /api/v1/exports/{id}/run': rule(changedByHolders, { object: 'export' }),
  'POST /api/v1/keys': rule(madeByEveryone, { done: 201 }),
  'GET /api/v1/keys': rule(seenByMakers, { lists: 'key' }),
  'GET /api/v1/keys/{id}': rule(seenByMakers, { object: 'key' }),
  'PATCH /api/v1/keys/{id}': rule(changedByMakers, { object: 'key', refusesRevoked: true }),
  'POST /api/v1/keys/{id}/revoke': rule(changedByMakers, { object: 'key' }),
  'POST /api/v1/keys/{id}/rotate': rule(changedByMakers, { object: 'key', done: 201, refusesRevoked: true }),
  'GET /api/v1/batches': rule(seenByMakers, { lists: 'batch' }),
  'GET /api/v1/batches/{id}': rule(seenByMakers, { object: 'batch' }),
  'POST /api/v1/batches/{id}/cancel': rule(changedByMakers, { object: 'batch' }),
  'GET /api/v1/usage': rule(seenByMakers, { lists: 'usage' }),
  'GET /api/v1/usage/totals': rule(seenByMakers, { counts: 'usage' }),
  'GET /api/v1/usage/margin': rule(ofTheInstallation),
  'GET /api/v1/usage/top': rule(seenByMakers, { counts: 'usage' }),
  'GET /api/v1/usage/summary': rule(seenByMakers, { counts: 'usage' }),
  'GET /api/v1/usage/timeline': rule(seenByMakers, { counts: 'usage' }),
  'GET /api/v1/refusals': rule(seenByMakers),
  'GET /api/v1/refusals/totals': rule(seenByMakers),
  'GET /api/v1/attention': rule(seenByMakers),
  'GET /api/v1/incidents': rule(seenByMakers),
  'GET /api/v1/search': rule(seenByMakers),
  'GET /api/v1/usage/{request_id}': rule(seenByMakers, { object: 'usage' }),
  'POST /api/v1/usage/{request_id}/refunds': rule(operatorOnly, { object: 'usage', done: 201 }),
  'POST /api/v1/code-batches': rule(operatorOnly, { done: 201 }),
  'GET /api/v1/code-batches': rule(ofTheInstallation, { lists: 'code-batch' }),
  'GET /api/v1/code-batches/{id}': rule(ofTheInstallation, { object: 'code-batch' }),
  'PATCH /api/v1/code-batches/{id}': rule(operatorOnly, { object: 'code-batch' }),
  'GET /api/v1/code-batches/{id}/codes': rule(ofTheInstallation, { object: 'code-batch' }),
  'POST /api/v1/accounts/{id}/redemptions': rule(changedByHolders, { object: 'account', refusesUnused: true }),
  'GET /api/v1/device-codes/{code}': rule(seenByEveryone, { object: 'device-code' }),
  'POST /api/v1/device-codes/{code}/approve': rule(madeByEveryone, { object: 'device-code' }),
  'POST /api/v1/device-codes/{code}/deny': rule(madeByEveryone, { object: 'device-code' }),
  'GET /api/v1/agent-sign-ins': rule(seenByMakers, { lists: 'agent-sign-in' }),
  'POST /api/v1/agent-sign-ins/{id}/revoke': rule(changedByMakers, { object: 'agent-sign-in' }),
  'POST /api/v1/tokens': rule(changedByHolders, { done: 201 }),
  'GET /api/v1/tokens': rule(seenByHolders, { lists: 'token' }),
  'GET /api/v1/tokens/{id}': rule(seenByHolders, { object: 'token' }),
  'POST /api/v1/tokens/{id}/revoke': rule(changedByHolders, { object: 'token' }),
  'POST /api/v1/people': rule(changedByHolders, { done: 201 }),
  'GET /api/v1/people': rule(seenByHolders, { lists: 'person' }),
  'POST /api/v1/people/import': rule(changedByHolders, { done: 201 }),
  'GET /api/v1/people/{id}': rule(seenByHolders, { object: 'person' }),
  'PATCH /api/v1/people/{id}': rule(changedByHolders, { object: 'person' }),
  'POST /api/v1/people/{id}/link': rule(changedByHolders, { object: 'person', done: 201, refusesRevoked: true }),
  'GET /api/v1/views': rule(ofMakers),
  'POST /api/v1/views': rule(ofMakers, { done: 201 }),
  'PATCH /api/v1/views/{id}': rule(ofMakers, { object: 'view' }),
  'POST /api/v1/views/{id}/delete': rule(ofMakers, { object: 'view' }),
  'POST /api/v1/directory-groups': rule(operatorOnly, { done: 201 }),
  'GET /api/v1/directory-groups': rule(ofTheInstallation, { lists: 'directory-group' }),
  'GET /api/v1/directory-groups/{id}': rule(ofTheInstallation, { object: 'directory-group' }),
  'PATCH /api/v1/directory-groups/{id}': rule(operatorOnly, { object: 'directory-group' }),
  'GET /api/v1/people/{id}/budget': rule(seenByMakers, { object: 'person' }),
  'PATCH /api/v1/people/{id}/budget': rule(changedByHolders, { object: 'person', refusesInstallation: true }),
  'POST /api/v1/people/{id}/budget/reset': rule(changedByHolders, { object: 'person', refusesInstallation: true }),
  'GET /api/v1/payment-options': rule(seenByHolders),
  'GET /api/v1/payments': rule(seenByHolders, { lists: 'payment' }),
  'GET /api/v1/payments/{id}': rule(seenByHolders, { object: 'payment' }),
  'POST /api/v1/payments': rule(changedByHolders, { done: 201, refusesUnused: true }),
  'POST /api/v1/accounts/{id}/portal': rule(changedByHolders, { object: 'account' }),
  'POST /api/v1/payments/check': rule(operatorOnly),
  'GET /api/v1/accounts/{id}/auto-recharge': rule(seenByHolders, { object: 'account' }),
  'PATCH /api/v1/accounts/{id}/auto-recharge': rule(changedByHolders, { object: 'account' }),
  'GET /api/v1/audit': rule(seenByHolders),
  'POST /api/v1/destinations': rule(changedByHolders, { done: 201 }),
  'GET /api/v1/destinations': rule(seenByHolders, { lists: 'destination' }),
  'GET /api/v1/destinations/{id}': rule(seenByHolders, { object: 'destination' }),
  'PATCH /api/v1/destinations/{id}': rule(changedByHolders, { object: 'destination' }),
  'POST /api/v1/destinations/{id}/rotate': rule(changedByHolders, { object: 'destination' }),
  'POST /api/v1/destinations/{id}/test': rule(changedByHolders, { object: 'destination' }),
  'GET /api/v1/event-types': rule(seenByHolders),
  'GET /api/v1/events': rule(seenByHolders),
  'POST /api/v1/backups': rule(operatorOnly),
  'POST /api/v1/backup-failures': rule(operatorOnly),
  'GET /api/v1/deliveries': rule(seenByHolders, { lists: 'delivery' }),
  'GET /api/v1/deliveries/{id}': rule(seenByHolders, { object: 'delivery' }),
  'POST /api/v1/deliveries/{id}/redeliver': rule(changedByHolders, { object: 'delivery' }),
  'GET /api/v1/models': rule(seenByEveryone),
  'GET /api/v1/models/differences': rule(ofTheInstallation),
  'GET /api/v1/groups': rule(seenByEveryone),
  'GET /api/v1/plans': rule(seenByEveryone),
  'GET /api/v1/accounts/{id}/forecast': rule(seenByHolders, { object: 'account' }),
  'GET /api/v1/accounts/{id}/plan': rule(seenByHolders, { object: 'account' }),
  'PATCH /api/v1/accounts/{id}/plan': rule(changedByHolders, { object: 'account' }),
  'POST /api/v1/accounts/{id}/subscription': rule(changedByHolders, { object: 'account', refusesDisabled: true }),
  'POST /api/v1/accounts/{id}/subscription/cancel': rule(changedByHolders, { object: 'account', done: 409 }), // there is none
  'POST /api/v1/accounts/{id}/subscription/resume': rule(changedByHolders, { object: 'account', done: 409 }),
  'GET /api/v1/routes/health': rule(ofTheInstallation),
  'GET /api/v1/providers': rule(ofTheInstallation),
  'GET /api/v1/providers/{name}': rule(ofTheInstallation, { object: 'provider' }),
  'POST /api/v1/providers/{name}/test': rule(operatorOnly, { object: 'provider' }),
  'GET /api/v1/providers/{name}/models': rule(operatorOnly, { object: 'provider' }),
  'POST /api/v1/providers/{name}/models': rule(operatorOnly, { object: 'provider' }),
  'GET /api/v1/provider-presets': rule(ofTheInstallation),
  'GET /api/v1/integrations': rule(ofTheInstallation),
  'POST /api/v1/integrations/{id}/test': rule(operatorOnly, { object: 'integration' }),
  'GET /api/v1/price-changes': rule(ofTheInstallation),
  'POST /api/v1/price-changes': rule(operatorOnly),
  'POST /api/v1/price-changes/cancel': rule(operatorOnly, { done: 404 }), // nothing is scheduled
  'GET /api/v1/provider-bill-sources': rule(ofTheInstallation),
  'POST /api/v1/provider-bill-sources': rule(operatorOnly),
  'POST /api/v1/provider-bill-sources/{provider}/fetch': rule(operatorOnly, {
    object: 'provider-bill-source',
    done: 409, // it has no credential
  }),
  'POST /api/v1/provider-bill-sources/{provider}/import': rule(operatorOnly, {
    object: 'provider-bill-source',
    done: 415, // the matrix sends no CSV
  }),
  'GET /api/v1/provider-bills': rule(ofTheInstallation, { lists: 'provider-bill' }),
  'GET /api/v1/provider-bills/{id}': rule(ofTheInstallation, { object: 'provider-bill' }),
  'POST /api/v1/apply': rule(operatorOnly),
  'POST /api/v1/prices/update': rule(operatorOnly),
  'GET /api/v1/catalogue': rule(ofTheInstallation),
  'GET /api/v1/settings': rule(ofTheInstallation),
  'GET /api/v1/prices': rule(ofTheInstallation),
  'GET /api/v1/me': rule(seenByEveryone),
  'POST /api/v1/me/consent': rule(seenByEveryone, { done: 404, isForDisabled: true }), // there are no terms
  'GET /api/v1/public/landing': rule(seenByEveryone, { isOpen: true, done: 404 }),
  'GET /api/v1/public/models': rule(seenByEveryone, { isOpen: true, done: 404 }),
  'GET /api/v1/public/status': rule(seenByEveryone, { isOpen: true, done: 404 }),
  'GET /api/v1/public/terms': rule(seenByEveryone, { isOpen: true, done: 404 }), // it is off
  'GET /api/v1/sign-in': rule(seenByEveryone, { isOpen: true }),
  'POST /api/v1/invitations/show': rule(seenByEveryone, { isOpen: true }),
  'POST /api/v1/invitations/accept': rule(seenByEveryone, { isOpen: true }),
  'POST /api/v1/sign-ups': rule(seenByEveryone, { isOpen: true }),
  'POST /api/v1/sign-ups/accept': rule(seenByEveryone, { isOpen: true }),
  'POST /api/v1/password-resets': rule(seenByEveryone, { isOpen: true }),
  'POST /api/v1/password-resets/accept': rule(seenByEveryone, { isOpen: true }),
  'POST /api/v1/unsubscribe': rule(seenByEveryone, { isOpen: true }),
  'GET /api/v1/openapi.json': rule(seenByEveryone, { isOpen: true }),
};

/** Response fields that only operators and viewers read; null and an empty list reveal nothing. */
export const membersOfTheInstallation = [
  'provider_cost',
  'margin',
  'cost_known',
  'routes',
  'base_url',
  'has_credential',
];
/** Response fields about an account's money, which its members do not read. */
export const membersOfHolders = ['balance', 'available', 'held', 'credit_line', 'allowance', 'allowance_used'];

/** The objects that the principal's role reaches through a route; the operator reaches everything. */
export function reachOf(principal: Principal, { viewer, owner, member }: RouteRule): Reach {
  return { operator: 'everything' as const, viewer, owner, member }[principal.role];
}

export function isWithin(reach: Reach, principal: Principal, object: WorldObject): boolean {
  if (reach === 'everything') return true;
  const isMaker = object.maker === principal.name;
  if (principal.account === null) return reach === 'what it made' && isMaker;
  if (reach === 'nothing' || !isOver(principal, object.account)) return false;
  return reach === 'its account' || isMaker;
}

/**
 * The expected status of a valid request by this principal to this object; null stands for an object that does not
 * exist.
 */
export function statusOf(
  principal: Principal,
  method: string,
  rule: RouteRule,
  object: WorldObject | 'none' | null,
): number {
  if (rule.isOpen) return rule.done;
  if (!principal.isKnown) return 401;
  const reach = reachOf(principal, rule);
  if (reach === 'nothing' || (method !== 'GET' && principal.account === 'delta' && !rule.isForDisabled)) return 403; // delta is disabled
  if (object === 'none') return 404;
  if (object !== null && !isWithin(reach, principal, object)) return 404;
  if (object?.account === null && rule.refusesInstallation) return 409;
  if (object?.account === 'delta' && rule.refusesDisabled) return 409;
  if (rule.refusesUnused && (object?.account ?? principal.account) === 'echo') return 409;
  return object?.isRevoked && rule.refusesRevoked ? 409 : rule.done;
}

function rule([viewer, owner, member]: Reaches, more: Partial<RouteRule> = {}): RouteRule {
  return {
    viewer,
    owner,
    member,
    object: null,
    lists: null,
    counts: null,
    done: 200,
    refusesRevoked: false,
    refusesDisabled: false,
    refusesUnused: false,
    refusesInstallation: false,
    isForDisabled: false,
    isOpen: false,
    ...more,
  };
}
