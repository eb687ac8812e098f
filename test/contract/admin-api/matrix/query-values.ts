// For every query parameter of the admin API: its values, and the objects that the filtered response contains. A
// parameter without values fails the test.

import { groupsOf, type ObjectKind, parentOf, type World, type WorldObject } from './world.ts';

export interface QueryValue {
  value: string;
  /** The object that the value names: an object of another account is answered as if it did not exist. */
  names: WorldObject | 'none' | null;
  /** Which of the objects visible to the principal remain in the list. */
  keeps(object: WorldObject): boolean;
  isWrong: boolean;
  /** Whether it asks for accounts below, too. */
  reachesBelow?: boolean;
}

type Values = (world: World) => QueryValue[];

const everything = () => true;
const nothing = () => false;

/** By parameter, or by route and parameter if they differ. Cursors have their own test. */
export const queryValues: Record<string, Values> = {
  limit: () => [plain('1000'), wrong('0'), wrong('1001'), wrong('all')],
  cursor: () => [wrong('!!'), wrong('%00')],
  since: () => [plain('2020-01-01'), plain('2099-01-01T00:00:00Z', nothing), wrong('yesterday')],
  until: () => [plain('2099-01-01'), plain('2020-01-01T00:00:00Z', nothing), wrong('tomorrow')],
  account: (world) => [
    ...objectsOf(world, 'account').map((named) => naming(named, ({ account }) => account === named.account)),
    missing('acct_000000000'),
    missing('acct_'),
  ],
  key: (world) => [
    ...objectsOf(world, 'key').map((key) => naming(key, (object) => object.name.endsWith(` of ${ownerOf(key)}`))),
    missing('key_000000000'),
  ],
  below: () => [{ ...plain('true'), reachesBelow: true }, plain('false'), wrong('yes')],
  parent: (world) => [
    ...objectsOf(world, 'account').map((named) =>
      naming(named, ({ account }) => account !== null && parentOf[account] === named.account),
    ),
    missing('acct_000000000'),
  ],
  'GET /api/v1/keys?person': (world) => [
    ...objectsOf(world, 'person').map((person) => naming(person, nothing)),
    missing('person_000000000'),
  ],
  model: () => [plain('sandbox-echo'), plain('no such model', nothing), wrong('')],
  exact: () => [plain('true'), plain('false'), wrong('yes')],
  text: () => [plain('a'), wrong('a'.repeat(101))],
  code: () => [plain('model_not_found'), wrong('no_such_code')],
  model_search: () => [plain('BOX-echo'), plain('no such model', nothing), wrong('')],
  error: () => [plain('upstream_overloaded', nothing), wrong('')],
  provider: () => [plain('sandbox'), plain('no-such-provider', nothing), wrong('')],
  stream: () => [plain('true'), plain('false', nothing), wrong('yes')],
  endpoint: () => [plain('messages'), plain('rerank', nothing), wrong('video')],
  cost_min: () => [plain('0'), plain('9999', nothing), wrong('-1'), wrong('much')],
  sort: () => [plain('at'), plain('cost'), plain('tokens'), plain('latency'), wrong('model')],
  order: () => [plain('desc'), plain('asc'), wrong('up')],
  'GET /api/v1/provider-bills?provider': () => [plain('house-behind'), plain('sandbox', nothing), wrong('')],
  search: () => [plain('no such name', nothing), wrong(' ')],
  groups: () => [plain('no-such-group', nothing)],
  patterns: () => [plain('no-such-model-*', nothing)],
  serves: () => [plain('moderation', ({ name }) => name === 'sandbox-moderation'), wrong('video')],
  'GET /api/v1/keys?search': () => [plain('no such key', nothing), wrong(' ')],
  'GET /api/v1/keys?status': () => [plain('revoked', ({ name }) => name.endsWith('revoked')), wrong('pending')],
  'GET /api/v1/keys?sort': () => [plain('created'), plain('name'), plain('last_used'), wrong('balance')],
  'GET /api/v1/accounts?sort': () => [plain('created'), plain('name'), plain('balance'), wrong('at')],
  'GET /api/v1/usage?status': () => [plain('2xx'), plain('529', nothing), wrong('600')],
  'GET /api/v1/usage/summary?status': () => [plain('2xx'), plain('529', nothing), wrong('600')],
  outcome: () => [plain('failed', nothing), plain('completed'), plain('not_completed', nothing), wrong('all')],
  kind: () => [plain('credit'), plain('refund'), plain('beside_usage'), wrong('usage')],
  'GET /api/v1/payments?kind': () => [plain('checkout'), plain('subscription', nothing), wrong('usage')],
  status: () => [plain('pending'), plain('refunded', nothing), wrong('revoked')],
  'GET /api/v1/batches?status': () => [plain('running'), plain('ended', nothing), wrong('all')],
  'GET /api/v1/incidents?status': () => [plain('open'), plain('ended'), wrong('all')],
  // Entries of an account: a message of another account has no entries, like one that does not exist.
  request: (world) => [
    ...objectsOf(world, 'usage').map(({ id }) => plain(id)),
    plain(`req_${'0'.repeat(25)}`),
    wrong('req_'),
  ],
  destination: (world) => [
    ...objectsOf(world, 'destination').map((named) => naming(named, ({ account }) => account === named.account)),
    missing('dest_000000000'),
  ],
  'GET /api/v1/deliveries?status': () => [plain('failed'), plain('delivered', nothing), wrong('lost')],
  type: () => [plain('key.created'), plain('backup.failed', nothing), wrong('key.lost')],
  month: () => [plain('2026-11'), plain('1999-12'), wrong('2026-13'), wrong('9999-01'), wrong('november')],
  step: () => [plain('hour'), plain('day'), wrong('week')],
  'GET /api/v1/usage/timeline?since': () => [
    plain('2026-11-20'),
    wrong('2020-01-01'), // too many hours
    wrong('2099-01-01T00:00:00Z'),
    wrong('yesterday'),
  ],
  'GET /api/v1/usage/timeline?until': () => [
    plain('2026-11-20T12:00:00Z'),
    plain('2099-01-01', nothing),
    plain('2020-01-01T00:00:00Z', nothing),
    wrong('tomorrow'),
  ],
  'GET /api/v1/exports/file?kind': () => [plain('records'), plain('costs'), plain('focus'), wrong('usage')],
  'GET /api/v1/exports/file?tag_name': () => [wrong('team')], // without the dimension
  'GET /api/v1/exports/file?since': () => [
    plain('2026-11-20'),
    wrong('2020-01-01'), // too many days
    wrong('2099-01-01T00:00:00Z'),
    wrong('yesterday'),
  ],
  format: () => [plain('csv'), plain('parquet'), wrong('xls')],
  by: () => [plain('key'), plain('model,day'), wrong('key,key'), wrong('account,key,model'), wrong('')],
  // Ids of another account are left out, like ids that do not exist.
  'GET /api/v1/accounts?ids': (world) => idsOf(world, 'account', 'acct_000000000'),
  'GET /api/v1/keys?ids': (world) => idsOf(world, 'key', 'key_000000000'),
  name: () => [plain('ALPHA', ({ account }) => account === 'alpha'), plain('no-such-name', nothing), wrong('')],
  ...Object.fromEntries(
    ['', '/summary', '/totals'].map((report) => [
      `GET /api/v1/usage${report}?group`,
      () => [plain('default'), plain('no-such-group', nothing), wrong('')],
    ]),
  ),
  group: () => [
    plain('alpha-group', ({ account }) => account !== null && groupsOf[account].includes('alpha-group')),
    plain('no-such-group', nothing),
  ],
  'GET /api/v1/usage/margin?since': () => [plain('2020-01-01'), wrong('2099-01-01'), wrong('yesterday')],
  'GET /api/v1/usage/margin?until': () => [plain('2099-01-01'), plain('2020-01-01'), wrong('tomorrow')],
  'GET /api/v1/usage/margin?group_by': () => [
    plain('group'),
    plain('provider'),
    plain('person'),
    wrong('tag'),
    wrong('day'),
  ],
  previous_since: () => [plain('2020-01-01'), wrong('2099-01-01')],
  previous_until: () => [plain('2020-01-01'), wrong('2099-01-01')],
  'GET /api/v1/refusals/totals?group_by': () => [plain('code'), plain('minute'), plain('hour'), wrong('model')],
  group_by: () => [
    ...['model', 'key', 'account', 'provider', 'group', 'person'].map((value) => plain(value)),
    wrong('secret'),
    wrong('tag'), // without tag_name
  ],
  then_by: () => [plain('model'), plain('provider'), wrong('secret'), wrong('tag')],
  tag_name: () => [plain('Team'), wrong('7'), wrong('')],
  tag: () => [plain('team:search', nothing), wrong('team'), wrong(':search')],
  session: () => [plain('no such session', nothing), wrong(''), wrong('x'.repeat(129))],
  agent: () => [plain('no such agent', nothing), wrong('')],
  person: () => [plain('person_000000000', nothing), wrong('person_')],
  // Audit records: the values are compared as text, and the results belong to the principal anyway.
  object: (world) => world.objects.map(({ id }) => plain(id)),
  actor: (world) => [...world.principals.filter(({ id }) => id !== '').map(({ id }) => plain(id)), plain('local')],
};

/** The values of one parameter of a route; null if the route does not have it. */
export function valuesOfQuery(world: World, route: string, query: string): QueryValue[] | null {
  return (queryValues[`${route}?${query}`] ?? queryValues[query])?.(world) ?? null;
}

/** Each id alone, all ids together, and no id. */
function idsOf(world: World, kind: ObjectKind, unknownId: string): QueryValue[] {
  const all = objectsOf(world, kind);
  const some = all.map((one) => plain(`${one.id},${unknownId}`, ({ id }) => id === one.id));
  return [...some, plain(all.map(({ id }) => id).join(',')), plain(unknownId, nothing), wrong('all'), wrong('')];
}

function ownerOf({ name }: WorldObject): string {
  return name.replace(/^key of /, '');
}

function objectsOf({ objects }: World, kind: ObjectKind): WorldObject[] {
  return objects.filter((object) => object.kind === kind);
}

function plain(value: string, keeps: QueryValue['keeps'] = everything): QueryValue {
  return { value, names: null, keeps, isWrong: false };
}

function wrong(value: string): QueryValue {
  return { value, names: null, keeps: nothing, isWrong: true };
}

function missing(value: string): QueryValue {
  return { value, names: 'none', keeps: nothing, isWrong: false };
}

function naming(object: WorldObject, keeps: QueryValue['keeps']): QueryValue {
  return { value: object.id, names: object, keeps, isWrong: false };
}
