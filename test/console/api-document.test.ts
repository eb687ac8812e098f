// The API reference reads the service's OpenAPI document, and its list of errors equals the service's.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import {
  type ApiDocument,
  byTag,
  curlOfOperation,
  exampleOf,
  findOperations,
  innerOf,
  type Operation,
  operationsOf,
  type Schema,
  typeOf,
} from '../../console/features/reference/api-document.ts';
import { publicErrors } from '../../console/features/reference/public-errors.ts';
import { publicRoutes } from '../../console/features/reference/public-routes.ts';
import { errorTable } from '../../src/errors.ts';
import { findFront, fronts } from '../../src/fronts/fronts.ts';
import { findRoute, handlerOf } from '../../src/public-api/routes.ts';
import { sharedTurnpike } from '../support/shared-turnpike.ts';
import type { Turnpike } from '../support/start-turnpike.ts';

/** Errors of the admin API and the sign-in only. */
const NOT_PUBLIC = [
  'payment',
  'bill_',
  'code_',
  'token_',
  'sign_in_',
  'second_factor_',
  'consent_required',
  'cross_site_',
  'role_not_allowed',
  'conflict',
];

let turnpike: Turnpike;
let document: ApiDocument;
let operations: Operation[];
beforeAll(async () => {
  turnpike = await sharedTurnpike();
  document = (await (await fetch(`${turnpike.url}/api/v1/openapi.json`)).json()) as ApiDocument;
  operations = operationsOf(document);
});
afterAll(() => turnpike.stop());

function operation(id: string): Operation {
  const found = operations.find((one) => one.id === id);
  if (found === undefined) throw new Error(`there is no ${id}`);
  return found;
}

test('the reference lists every operation once, under its resource', () => {
  const count = Object.values(document.paths).flatMap((methods) => Object.keys(methods)).length;
  expect(operations).toHaveLength(count);
  expect(byTag(operations).flatMap(([, of]) => of)).toHaveLength(count);
  expect(new Set(operations.map(({ id }) => id)).size).toBe(count);
});

test('an operation has its roles, parameters, body and responses', () => {
  const { method, path, roles, body, answers, errors, parameters } = operation('key-create');
  expect({ method, path, roles }).toEqual({
    method: 'POST',
    path: '/api/v1/keys',
    roles: ['operator', 'owner', 'member'],
  });
  expect(Object.keys(innerOf(body as Schema, document)?.properties ?? {})).toContain('quota');
  expect(answers.map(({ status }) => status)).toEqual(['201']);
  expect(errors.map(({ status }) => status)).toContain('409');
  expect(parameters.map(({ name }) => name)).toContain('idempotency-key');
  expect(operation('signin-show').roles).toBeNull();
});

test('fields from references and combined schemas are merged', () => {
  const created = operation('key-create').answers[0]?.schema as Schema;
  const members = Object.keys(innerOf(created, document)?.properties ?? {});
  expect(members).toContain('key');
  expect(members).toContain('quota_used');
  const page = operation('key-list').answers[0]?.schema as Schema;
  expect(typeOf(innerOf(page, document)?.properties?.['data'] as Schema, document)).toBe('list of Key');
});

test('a search matches all words in names, paths and roles', () => {
  expect(findOperations(operations, 'key create').map(({ id }) => id)).toContain('key-create');
  expect(findOperations(operations, 'POST refunds').map(({ id }) => id)).toEqual(['refund-create']);
  expect(findOperations(operations, 'no such thing')).toEqual([]);
});

test('the service accepts the example request of a creation', async () => {
  const credit = exampleOf(operation('credit-create').body as Schema, document) as Record<string, unknown>;
  const { account } = await turnpike.makeKey();
  expect(await turnpike.admin('POST', `/accounts/${account}/credits`, credit)).toMatchObject({ account });
});

test('example requests are quoted for a shell, with variables for path parameters', () => {
  const curl = curlOfOperation(operation('key-change'), "http://it's.example", document);
  expect(curl).toStartWith(`curl -X PATCH 'http://it'\\''s.example'"/api/v1/keys/$ID" \\\n`);
  expect(curl).toContain('"authorization: Bearer $TOKEN"');
  expect(curlOfOperation(operation('signin-show'), 'http://x', document)).toBe("curl 'http://x/api/v1/sign-in'");
});

test('a recursive schema terminates', () => {
  const looped: ApiDocument = { paths: {}, components: { schemas: {} } };
  const node: Schema = {
    type: 'object',
    properties: { next: { $ref: '#/components/schemas/Node' } },
    required: ['next'],
  };
  looped.components = { schemas: { Node: node, Itself: { $ref: '#/components/schemas/Itself' } } };
  expect(JSON.stringify(exampleOf(node, looped)).length).toBeLessThan(1000);
  expect(exampleOf({ $ref: '#/components/schemas/Itself' }, looped)).toBeDefined();
});

test('the reference lists the errors of the service, each with a remedy', () => {
  const wanted = Object.entries(errorTable)
    .filter(([code]) => !NOT_PUBLIC.some((start) => code.startsWith(start)))
    .map(([code, { status, retry }]) => [code, status, retry]);
  expect(publicErrors.map(([code, status, mayRetry]) => [code, status, mayRetry])).toEqual(wanted);
  for (const [, , , advice] of publicErrors) expect(advice).toMatch(/^[A-Z].+\.$/);
});

test('every endpoint that the console calls is an operation of the admin API', async () => {
  const source = await Bun.file(join(import.meta.dir, '../../console/endpoints.ts')).text();
  const [admin = ''] = source.split('export interface SignInEndpoints');
  const called = [...admin.matchAll(/^ {2}'([A-Z]+ [^']+)':/gm)].map((match) => match[1]);
  const offered = operations.map(({ method, path }) => `${method} ${path.replace('/api/v1', '')}`);
  expect(called.length).toBeGreaterThan(30);
  expect(called.filter((name) => name !== 'GET /openapi.json' && !offered.includes(String(name)))).toEqual([]);
});

test('the reference lists operations of every protocol, all of which exist', () => {
  const head = { headers: new Headers(), query: '' };
  const listed = publicRoutes.flatMap(([, routes]) => routes);
  for (const { method, path } of listed) {
    const route = findRoute(path.replace('{model}', 'm').replace(/\{\w+\}/, 'x'), head);
    expect([path, route === null ? null : handlerOf(route, method)]).not.toContain(null);
  }
  const found = new Set(listed.map(({ path }) => findFront(path.replace('{model}', 'm'), head)));
  expect(fronts.filter((front) => !found.has(front)).map(({ protocol }) => protocol)).toEqual([]);
  for (const { text } of listed) expect(text).toMatch(/^[A-Z].+\.$/);
});
