// The OpenAPI document of the admin API is valid, complete, and agrees with the checks of input. `ask` checks in
// every test that the responses match it.

import { beforeAll, describe, expect, test } from 'bun:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { bounds } from '../../../src/config/config.ts';
import { TurnpikeError } from '../../../src/errors.ts';
import {
  compile,
  type Document,
  type DocumentOperation,
  readDocumentText,
  resolveSchema,
  type Schema,
} from './documented.ts';
import { ADDRESS, type Json, makeInstallation, TOKEN } from './installation.ts';
import { type Cell, objectsFor, ownObject, plainCell, send } from './matrix/cells.ts';
import { type Operation, readDocument, readOperations } from './matrix/operations.ts';
import { makeWorld, principalNamed, restoreWorld, type World } from './matrix/world.ts';

let text: string;
let document: Document;
let operations: { name: string; path: string; method: string; operation: DocumentOperation }[];
beforeAll(async () => {
  const { api } = await makeInstallation();
  const answer = await api.fetch(new Request('http://127.0.0.1/api/v1/openapi.json'), ADDRESS);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json']);
  text = await answer.text();
  document = readDocumentText(text);
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, path, method, operation })),
  );
});

test('the document conforms to the schema of OpenAPI 3.1, and every schema in it to JSON Schema 2020-12', async () => {
  expect(await new Validator().validate(JSON.parse(text))).toMatchObject({ valid: true });
  expect(document.openapi).toStartWith('3.1.');
  for (const [name, schema] of everySchema()) expect([name, faultOf(schema)]).toEqual([name, null]);
});

test('every operation has a name made of resource and verb, one tag, and a description of each response', () => {
  const ids = operations.map(({ operation }) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const { name, operation } of operations) {
    expect([name, operation.operationId]).toEqual([name, expect.stringMatching(/^[a-z]+(-[a-z]+)+$/)]);
    expect(operation.tags).toEqual([operation.operationId.replace(/-[a-z]+$/, '')]);
    expect(operation.summary.length).toBeGreaterThan(5);
    for (const answer of Object.values(operation.responses))
      expect(answer).toMatchObject({ description: expect.any(String) });
    const isOpen =
      /\/(?:openapi\.json|sign-in|(?:invitations|sign-ups|password-resets)\/\w+|sign-ups|password-resets|unsubscribe|public\/\w+)$/.test(
        name,
      );
    expect([name, operation.security]).toEqual([name, isOpen ? [] : [{ token: [] }]]);
  }
});

test('every request body lists all of its fields', () => {
  const bodies = operations.flatMap(
    ({ operation }) => operation.requestBody?.content['application/json']?.schema ?? [],
  );
  expect(bodies.length).toBeGreaterThan(8);
  for (const body of bodies) expect(body).toMatchObject({ type: 'object', additionalProperties: false });
});

test('every default and every example matches its schema', () => {
  const counts = { defaults: 0, examples: 0 };
  for (const [name, schema] of everySchema()) {
    const { examples = [], default: usual, ...bare } = schema as Schema & { examples?: unknown[] };
    const defaults = 'default' in schema ? [usual] : [];
    for (const value of [...defaults, ...examples])
      expect([name, value, compile(bare)(value)]).toEqual([name, value, true]);
    counts.defaults += defaults.length;
    counts.examples += examples.length;
  }
  // Clients made from the document send its defaults.
  expect(counts).toEqual({ defaults: expect.any(Number), examples: expect.any(Number) });
  expect(Math.min(counts.defaults, counts.examples)).toBeGreaterThan(10);
});

test('every link leads to an operation with the parameters that the link passes', () => {
  const links = operations.flatMap(({ operation }) =>
    Object.values(operation.responses).flatMap((answer) => Object.values(answer.links ?? {})),
  );
  expect(links.length).toBeGreaterThan(8);
  for (const { operationId, parameters } of links) {
    const target = operations.find(({ operation }) => operation.operationId === operationId)?.operation;
    expect(target?.parameters?.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(parameters)));
  }
});

test('every path accepts exactly the documented methods', async () => {
  const { ask } = await makeInstallation();
  for (const [path, methods] of Object.entries(document.paths)) {
    const named = path.replaceAll(/\{\w+\}/g, 'x');
    const documented = Object.keys(methods).map((method) => method.toUpperCase());
    for (const method of ['QUERY', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      if (documented.includes(method)) continue;
      const { status, headers } = await ask(method, named, {});
      const allowed = (headers.get('allow') ?? '').split(', ').filter((name) => name !== 'HEAD');
      expect([method, path, status, allowed.toSorted()]).toEqual([method, path, 405, documented.toSorted()]);
    }
  }
});

describe('every documented response is returned:', () => {
  let world: World;
  let tested: Operation[];
  beforeAll(async () => {
    world = await makeWorld();
    tested = readOperations(await readDocument(world.installation)).filter(
      ({ path }) => path !== '/api/v1/openapi.json',
    );
  });

  /** A request of the operator that every route accepts. */
  function plainRequest(operation: Operation): TestRequest {
    const principal = principalNamed(world, 'operator');
    const own = ownObject(world, operation, principal);
    const cells = [own, ...objectsFor(world, operation)].map((object) =>
      plainCell(world, operation, principal, object),
    );
    const cell = cells.find(({ expected }) => expected < 300) ?? (cells[0] as Cell);
    return { path: cell.path, body: cell.body, headers: { authorization: `${principal.authorization}` } };
  }

  /**
   * Sends a request to every route that documents the status, as operator, after `change` has altered the request.
   */
  async function expectOfEach(
    status: number,
    change: (request: TestRequest) => Partial<TestRequest>,
    isTested = (_name: string) => true,
  ): Promise<void> {
    const documented = tested.filter(({ statuses, name }) => statuses.includes(status) && isTested(name));
    expect(documented.length).toBeGreaterThan(0);
    const responses: unknown[] = [];
    for (const operation of documented) {
      const plain = plainRequest(operation);
      const request = { ...plain, ...change(plain) };
      responses.push([
        operation.name,
        (await world.installation.ask(operation.method, request.path, request.body, request.headers)).status,
      ]);
      await restoreWorld(world);
    }
    expect(responses).toEqual(documented.map((operation) => [operation.name, status]));
  }
  /** Those that take CSV are in provider-bills.test.ts. */
  const takesJson = (name: string) => !name.endsWith('/import');

  interface TestRequest {
    path: string;
    body?: Json | undefined;
    headers: Record<string, string>;
  }

  test('the same, if every default is sent', async () => {
    const answers: unknown[] = [];
    for (const operation of tested) {
      const found = operations.find(({ name }) => name === `${operation.method.toLowerCase()} ${operation.path}`);
      const query = defaultsOf(
        Object.fromEntries(found?.operation.parameters?.map(({ name, schema }) => [name, schema]) ?? []),
      );
      const members = defaultsOf(found?.operation.requestBody?.content['application/json']?.schema['properties']);
      if (Object.keys({ ...query, ...members }).length === 0) continue;
      const statusOf = async ({ path, body, headers }: TestRequest) => {
        const { status } = await world.installation.ask(operation.method, path, body, headers);
        await restoreWorld(world);
        return status;
      };
      const plain = plainRequest(operation);
      const [path = '', sent = ''] = plain.path.split('?');
      const all = new URLSearchParams({
        ...(query as Record<string, string>),
        ...Object.fromEntries(new URLSearchParams(sent)),
      });
      const full = {
        ...plain,
        path: `${path}?${all}`,
        ...(plain.body !== undefined && { body: { ...members, ...plain.body } }),
      };
      answers.push([operation.name, await statusOf(plain), await statusOf(full)]);
    }
    expect(answers.length).toBeGreaterThan(20);
    expect(answers).toEqual((answers as [string, number, number][]).map(([name, status]) => [name, status, status]));
    expect(answers.every((answer) => (answer as [string, number, number])[1] < 400)).toBe(true);
  });
  test('401 without a token', () => expectOfEach(401, () => ({ headers: { authorization: '' } })));
  test('403 for a request with a cookie from a page of another site', () =>
    expectOfEach(403, () => ({
      headers: { authorization: '', cookie: 'session=person_000000000', 'sec-fetch-site': 'cross-site' },
    })));
  test('400 for an unknown field', () =>
    expectOfEach(
      400,
      ({ path, body }) => (body === undefined ? { path: `${path}?x=1` } : { body: { ...body, x: 1 } }),
      takesJson,
    ));
  test('404 for an object that does not exist', () =>
    expectOfEach(
      404,
      ({ path, body }) =>
        body?.['secret'] !== undefined || body?.['token'] !== undefined
          ? { body: 'secret' in body ? { ...body, secret: 'unknown' } : { ...body, token: 'unknown' } }
          : /\/(?:key|acct|tok|person|req|batch|msgbatch|pay|dest|dlv|exp|agent|dgrp|view)_\w+|\/(?:house-behind|telemetry)\b/.test(
                path,
              )
            ? {
                path: path.replace(
                  /\/(?:key|acct|tok|person|req|batch|msgbatch|pay|dest|dlv|exp|agent|dgrp|view)_\w+|\/(?:house-behind|telemetry)\b/,
                  '/unknown',
                ),
              }
            : { path: `${path}?${namedBy(path)}` },
      // Without a mail server: see sign-ups.test.ts; by a member of the body: see provider-bills.test.ts; of a repeated creation: see saved-views.test.ts.
      (name) => !/\/(?:sign-ups|password-resets|provider-bill-sources|views)$/.test(name),
    ));
  test('413 for a body that is too large', () =>
    expectOfEach(413, ({ body }) => ({ body: { ...body, x: 'x'.repeat(bounds.adminBodyBytesMax) } }), takesJson));
  test('415 for a body that is not JSON', () =>
    expectOfEach(415, ({ headers }) => ({ headers: { ...headers, 'content-type': 'text/plain' } })));
  test('409 for a change of a revoked key, and for a reference used with another amount', async () => {
    const { ask } = world.installation;
    const key = world.objects.find(({ kind, isRevoked }) => kind === 'key' && isRevoked);
    const credits = `/api/v1/accounts/${world.accountIds.alpha}/credits`;
    const reference = { amount: '1.00', reference: 'reference-of-alpha' };
    expect((await ask('PATCH', `/api/v1/keys/${key?.id}`, {})).status).toBe(409);
    expect((await ask('POST', `/api/v1/keys/${key?.id}/rotate`)).status).toBe(409);
    expect((await ask('POST', credits, reference)).status).toBe(409);
    expect((await ask('POST', credits, { ...reference, amount: '7654.321' })).status).toBe(200);
    // More routes document 409, for limits on what an account may create: see tokens.test.ts and people.test.ts;
    // those of payments document it for an installation without a provider, and consent for a token.
    expect(tested.filter(({ statuses }) => statuses.includes(409))).toHaveLength(38);
    await restoreWorld(world);
  });
  test('422 for an idempotency key used with another request', async () => {
    const headers = { 'idempotency-key': 'once' };
    await world.installation.ask('POST', '/api/v1/accounts', { name: 'the-first' }, headers);
    const operator = { ...principalNamed(world, 'operator'), authorization: `Bearer ${TOKEN}` };
    for (const operation of tested.filter(({ statuses }) => statuses.includes(422))) {
      const cell = plainCell(world, operation, operator, ownObject(world, operation, operator));
      expect((await send(world.installation, { ...cell, headers })).status).toBe(422);
    }
    await restoreWorld(world);
  });
  test('429 after many wrong tokens, 500 for an internal failure, 503 when the store is unreachable, 529 when its queue is full', async () => {
    const { tokens, people, signUps } = world.installation.stores;
    const { findTokenBySecretHash } = tokens;
    const { findPersonByLinkHash, countInRole } = people;
    const { signIn } = world.installation;
    const { findMailedLink } = signUps;
    const { count } = signIn;
    const { publicReads } = world.installation;
    const read = publicReads.count;
    try {
      for (const [status, thrown] of [
        [429, new TurnpikeError('too_many_failures', 'Too many wrong tokens.')],
        [500, new Error('broken')],
        [503, new TurnpikeError('store_unavailable', 'The store is gone.')],
        [529, new TurnpikeError('overloaded', 'The queue is full.')],
      ] as const) {
        const fail = async () => {
          throw thrown;
        };
        tokens.findTokenBySecretHash = fail;
        Object.assign(people, { findPersonByLinkHash: fail, countInRole: fail });
        Object.assign(signUps, { findMailedLink: fail });
        Object.assign(signIn, { count: fail });
        publicReads.count = () => {
          throw thrown;
        };
        await expectOfEach(status, () => ({}));
      }
    } finally {
      Object.assign(tokens, { findTokenBySecretHash });
      Object.assign(people, { findPersonByLinkHash, countInRole });
      Object.assign(signUps, { findMailedLink });
      Object.assign(signIn, { count });
      publicReads.count = read;
    }
  });
});

/**
 * Every schema once, with its place and its references resolved: of components, parameters, headers and bodies, also
 * nested ones.
 */
function everySchema(): [string, Schema][] {
  const found = new Map<string, [string, Schema]>();
  const visit = (value: unknown, place: string): void => {
    if (typeof value !== 'object' || value === null) return;
    const schema = value as Schema;
    const written = JSON.stringify(schema);
    if (isSchema(schema) && !found.has(written)) found.set(written, [place, resolveSchema(document, schema)]);
    for (const [name, inner] of Object.entries(value)) if (name !== 'examples') visit(inner, `${place}/${name}`);
  };
  visit(document.paths, '');
  visit(document.components.schemas, 'components');
  return [...found.values()];
}

/** The members that have a default. */
function defaultsOf(schemas: unknown): Json {
  const entries = Object.entries((schemas ?? {}) as Record<string, Schema>);
  return Object.fromEntries(
    entries.flatMap(([name, schema]) => ('default' in schema ? [[name, schema['default']]] : [])),
  );
}

function isSchema(value: Schema): boolean {
  return typeof value['type'] === 'string' || Array.isArray(value['type']) || Array.isArray(value['allOf']);
}

function faultOf(schema: Schema): string | null {
  try {
    compile(schema);
    return null;
  } catch (fault) {
    return String(fault);
  }
}

/** The query of a list that names an object which does not exist. */
function namedBy(path: string): string {
  if (path.endsWith('/deliveries')) return 'destination=dest_000000000';
  return path.endsWith('/accounts') ? 'parent=acct_000000000' : 'account=acct_000000000';
}
