// SCIM 2.0 under /scim/v2: authenticates, reads requests, and answers in the words of RFC 7644. Only tokens with the role scim have
// access, and no session has.

import { type Context, Hono } from 'hono';
import { parseWholeNumber } from '../base/checked-number.ts';
import { FairQueue } from '../base/fair-queue.ts';
import { newRequestId } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import { asTurnpikeError, overloaded, TurnpikeError } from '../errors.ts';
import {
  type JsonMembers,
  memberOf,
  providerConfig,
  readSelection,
  resourceTypes,
  type Selection,
  schemas,
  scimErrorBody,
  scimFault,
  selectAttributes,
} from '../scim/scim.ts';
import { type AdminEnvironment, readJsonText, reportAnswered } from './admin-app.ts';
import { authenticate } from './authenticate.ts';
import type { WithChangeLock } from './changes.ts';
import { type AdminDependencies, roleRefusal } from './dependencies.ts';
import type { Call } from './route.ts';
import { groupResources } from './scim-groups.ts';
import { userResources } from './scim-users.ts';

const SCIM_TYPES = /^application\/(?:scim\+)?json\s*(;\s*charset="?utf-8"?\s*)?$/i;
const TYPE_WORDS = 'application/scim+json or application/json';

/** A request of a directory. */
export interface ScimCall extends Call<unknown, ScimQuery, JsonMembers> {
  /** The URL of the API, without a slash at its end. */
  base: string;
}

export interface ScimQuery {
  filter: string | null;
  /** Rows to skip. */
  offset: number;
  count: number;
  selection: Selection;
  /** The response was asked to have certain attributes, so it must have a body. */
  isSelective: boolean;
}

/** One type of resource. Each function throws the errors of the response. */
export interface ScimResources {
  list(call: ScimCall): Promise<{ rows: JsonMembers[]; total: number }>;
  create(call: ScimCall): Promise<JsonMembers>;
  show(call: ScimCall, id: string): Promise<JsonMembers>;
  replace(call: ScimCall, id: string): Promise<JsonMembers>;
  /** null: a response without a body. */
  patch(call: ScimCall, id: string): Promise<JsonMembers | null>;
  remove(call: ScimCall, id: string): Promise<void>;
}

type Answer = Response | Promise<Response>;

/** Never throws or rejects. */
export function makeScimApp(
  dependencies: AdminDependencies,
  withChangeLock: WithChangeLock,
): (request: Request, address: string, isOverTls: boolean) => Answer {
  const app = new Hono<AdminEnvironment>();
  const queue = new FairQueue<string>(
    {
      running: bounds.scimAnswersMax,
      runningPerOwner: bounds.scimAnswersMax,
      tasks: bounds.scimAnswersMax + bounds.scimWaitingMax,
      tasksPerOwner: bounds.scimAnswersMax + bounds.scimWaitingMax,
    },
    () => overloaded('Too many SCIM requests are waiting. Try again shortly.'),
  );
  app.use(async (context, next) => {
    const startedMs = dependencies.clock.nowMs();
    const requestId = newRequestId(startedMs);
    context.set('requestId', requestId);
    await next();
    reportAnswered(dependencies, context, startedMs);
    context.header('request-id', requestId);
    context.header('cache-control', 'no-store');
  });
  app.use(async (context, next) => {
    const authorization = context.req.header('authorization');
    const principal = await authenticate(dependencies, authorization, context.env.address);
    context.set('principal', principal);
    if (principal.role !== 'scim') throw roleRefusal(principal, ['scim']);
    using _turn = await queue.enter(principal.id);
    await next();
  });
  addDiscovery(app, (context) => baseOf(dependencies, context));
  const callOf = (context: Context<AdminEnvironment>) => makeCall(dependencies, withChangeLock, context);
  addSearch(app, '/scim/v2', callOf, [userResources, groupResources]);
  addResources(app, '/scim/v2/Users', callOf, userResources);
  addResources(app, '/scim/v2/Groups', callOf, groupResources);
  for (const path of ['/scim/v2/Bulk', '/scim/v2/Me'])
    app.all(path, () => {
      throw new TurnpikeError('route_not_found', 'This operation is not supported.', { status: 501 });
    });
  app.notFound(() => {
    throw new TurnpikeError('route_not_found', 'There is no such path.');
  });
  app.onError((thrown, context) => {
    const error = asTurnpikeError(thrown);
    context.set('failure', error);
    if (error.status >= 500) dependencies.report(context.get('requestId'), thrown);
    const headers = { ...error.headers(), 'content-type': 'application/scim+json' };
    return new Response(scimErrorBody(error), { status: error.status, headers });
  });
  return (request, address, isOverTls) => app.fetch(request, { address, isOverTls });
}

/** The public URL of the service, or that of the request. */
function baseOf({ sessions }: AdminDependencies, context: Context): string {
  return `${sessions?.publicOrigin ?? new URL(context.req.url).origin}/scim/v2`;
}

function reply(body: JsonMembers | null, status = 200, headers: Record<string, string> = {}): Response {
  if (body === null) return new Response(null, { status: 204 });
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/scim+json', ...headers },
  });
}

const LIST_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';

function listReply(rows: readonly JsonMembers[], total = rows.length, offset = 0): Response {
  const place = { totalResults: total, startIndex: offset + 1, itemsPerPage: rows.length };
  return reply({ schemas: [LIST_SCHEMA], ...place, Resources: rows });
}

function onlyGet(app: Hono<AdminEnvironment>, path: string): void {
  refuseOthers(app, path, 'GET, HEAD');
}

/** After the methods that the path takes. */
function refuseOthers(app: Hono<AdminEnvironment>, path: string, allow: string): void {
  app.all(path, () => {
    throw new TurnpikeError('method_not_allowed', `This path accepts only ${allow}.`, { headers: { allow } });
  });
}

function addDiscovery(app: Hono<AdminEnvironment>, baseUrl: (context: Context<AdminEnvironment>) => string): void {
  app.get('/scim/v2/ServiceProviderConfig', (context) => reply(providerConfig(baseUrl(context))));
  onlyGet(app, '/scim/v2/ServiceProviderConfig');
  const lists = { ResourceTypes: resourceTypes, Schemas: schemas };
  for (const [name, list] of Object.entries(lists)) {
    app.get(`/scim/v2/${name}`, (context) => {
      // RFC 7644, section 4: filters of these lists are refused.
      if (context.req.query('filter') !== undefined)
        throw new TurnpikeError('role_not_allowed', 'filter: is not supported here');
      return listReply(list(baseUrl(context)));
    });
    onlyGet(app, `/scim/v2/${name}`);
    app.get(`/scim/v2/${name}/:id`, (context) => {
      const found = list(baseUrl(context)).find(({ id }) => id === context.req.param('id'));
      if (found === undefined) throw new TurnpikeError('object_not_found', `There is no such entry of ${name}.`);
      return reply(found);
    });
    onlyGet(app, `/scim/v2/${name}/:id`);
  }
}

/** A path that matches has one. */
function idOf(context: Context): string {
  return context.req.param('id') ?? '';
}

/** Queries without parameters in the URL (RFC 7644, section 3.4.3): of one type, or of all, one after another. */
function addSearch(
  app: Hono<AdminEnvironment>,
  path: string,
  callOf: (context: Context<AdminEnvironment>) => Promise<ScimCall>,
  types: readonly ScimResources[],
): void {
  app.post(`${path}/.search`, async (context) => {
    const asked = await callOf(context);
    const query = readSearch(asked.body);
    const found: JsonMembers[] = [];
    let total = 0;
    for (const { list } of types) {
      const offset = Math.max(0, query.offset - total);
      const { rows, total: more } = await list({
        ...asked,
        query: { ...query, offset, count: query.count - found.length },
      });
      found.push(...rows);
      total += more;
    }
    return listReply(
      found.map((row) => selectAttributes(query.selection, row)),
      total,
      query.offset,
    );
  });
  refuseOthers(app, `${path}/.search`, 'POST');
}

function readSearch(body: JsonMembers): ScimQuery {
  const given = new URLSearchParams();
  for (const name of ['attributes', 'excludedAttributes', 'filter', 'startIndex', 'count']) {
    const value = memberOf(body, name);
    if (value === undefined || value === null) continue;
    const isList = Array.isArray(value) && value.every((one) => typeof one === 'string');
    if (!isList && typeof value !== 'string' && typeof value !== 'number')
      throw scimFault('invalidValue', `${name}: must be a text, a number or a list of texts`);
    given.set(name, String(value));
  }
  return readQuery(given);
}

function addResources(
  app: Hono<AdminEnvironment>,
  path: string,
  callOf: (context: Context<AdminEnvironment>) => Promise<ScimCall>,
  resources: ScimResources,
): void {
  const selected = ({ query }: ScimCall, resource: JsonMembers) => selectAttributes(query.selection, resource);
  app.get(path, async (context) => {
    const call = await callOf(context);
    const { rows, total } = await resources.list(call);
    return listReply(
      rows.map((row) => selected(call, row)),
      total,
      call.query.offset,
    );
  });
  app.post(path, async (context) => {
    const call = await callOf(context);
    const made = await resources.create(call);
    const { location } = made['meta'] as { location: string };
    return reply(selected(call, made), 201, { location });
  });
  refuseOthers(app, path, 'GET, HEAD, POST');
  addSearch(app, path, callOf, [resources]);
  const one = `${path}/:id{[^.][^/]*}`;
  app.get(one, async (context) => {
    const call = await callOf(context);
    return reply(selected(call, await resources.show(call, idOf(context))));
  });
  app.put(one, async (context) => {
    const call = await callOf(context);
    return reply(selected(call, await resources.replace(call, idOf(context))));
  });
  app.patch(one, async (context) => {
    const call = await callOf(context);
    const patched = await resources.patch(call, idOf(context));
    return reply(patched && selected(call, patched));
  });
  app.delete(one, async (context) => {
    await resources.remove(await callOf(context), idOf(context));
    return reply(null);
  });
  refuseOthers(app, one, 'GET, HEAD, PUT, PATCH, DELETE');
}

async function makeCall(
  dependencies: AdminDependencies,
  withChangeLock: WithChangeLock,
  context: Context<AdminEnvironment>,
): Promise<ScimCall> {
  const query = readQuery(new URL(context.req.url).searchParams);
  const hasBody = ['POST', 'PUT', 'PATCH'].includes(context.req.method);
  const text = hasBody ? await readJsonText(context.req.raw, bounds.scimBodyBytesMax, SCIM_TYPES, TYPE_WORDS) : '';
  return {
    ...dependencies,
    context,
    principal: context.get('principal'),
    changeInTurn: (change) => withChangeLock(context, change),
    params: {},
    query,
    body: text === '' ? {} : (JSON.parse(text) as JsonMembers),
    base: baseOf(dependencies, context),
  };
}

function readQuery(given: URLSearchParams): ScimQuery {
  const [attributes, excluded] = [given.get('attributes'), given.get('excludedAttributes')];
  return {
    filter: given.get('filter') || null,
    offset: Math.max(1, wholeNumber(given.get('startIndex'), 'startIndex', 1)) - 1,
    count: Math.min(Math.max(0, wholeNumber(given.get('count'), 'count', bounds.scimPageMax)), bounds.scimPageMax),
    selection: readSelection(attributes, excluded),
    isSelective: Boolean(attributes || excluded),
  };
}

/** A negative number is 0 (RFC 7644, section 3.4.2.4). */
function wholeNumber(text: string | null, name: string, byDefault: number): number {
  if (text === null || text === '') return byDefault;
  const number = /^-?\d{1,9}$/.test(text) ? parseWholeNumber(text.replace('-', '')) : null;
  if (number === null) throw scimFault('invalidValue', `${name}: must be a whole number`);
  return text.startsWith('-') ? 0 : number;
}
