// The API reference: what it makes of the service's own description, and that its list of errors is the service's.

import { afterAll, beforeAll, expect, test } from 'bun:test';
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
} from '../../console/api-document.ts';
import { publicErrors } from '../../console/public-errors.ts';
import { words } from '../../console/words.ts';
import { errorTable } from '../../src/errors.ts';
import { startTurnpike, type Turnpike } from '../support/start-turnpike.ts';

/** Errors of the admin API and the sign-in alone: a key meets none of them. */
const NOT_PUBLIC = ['token_', 'sign_in_', 'second_factor_', 'cross_site_', 'role_not_allowed', 'conflict'];

let turnpike: Turnpike;
let document: ApiDocument;
let operations: Operation[];
beforeAll(async () => {
  turnpike = await startTurnpike();
  document = (await (await fetch(`${turnpike.url}/api/v1/openapi.json`)).json()) as ApiDocument;
  operations = operationsOf(document);
});
afterAll(() => turnpike.stop());

function operation(id: string): Operation {
  const found = operations.find((one) => one.id === id);
  if (found === undefined) throw new Error(`there is no ${id}`);
  return found;
}

test('every operation of the document is in the reference once, under its resource', () => {
  const count = Object.values(document.paths).flatMap((methods) => Object.keys(methods)).length;
  expect(operations).toHaveLength(count);
  expect(byTag(operations).flatMap(([, of]) => of)).toHaveLength(count);
  expect(new Set(operations.map(({ id }) => id)).size).toBe(count);
});

test('an operation tells its roles, what it takes and how it answers', () => {
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

test('members that stand in several parts or behind references are shown together', () => {
  const created = operation('key-create').answers[0]?.schema as Schema;
  const members = Object.keys(innerOf(created, document)?.properties ?? {});
  expect(members).toContain('key');
  expect(members).toContain('quota_used');
  const page = operation('key-list').answers[0]?.schema as Schema;
  expect(typeOf(innerOf(page, document)?.properties?.['data'] as Schema, document)).toBe('list of Key');
});

test('what is looked for is found by every word, in names, paths and roles', () => {
  expect(findOperations(operations, 'key create').map(({ id }) => id)).toContain('key-create');
  expect(findOperations(operations, 'POST refunds').map(({ id }) => id)).toEqual(['refund-create']);
  expect(findOperations(operations, 'no such thing')).toEqual([]);
});

test('the request of a creation is one that the service understands', async () => {
  const credit = exampleOf(operation('credit-create').body as Schema, document) as Record<string, unknown>;
  const { account } = await turnpike.makeKey();
  expect(await turnpike.admin('POST', `/accounts/${account}/credits`, credit)).toMatchObject({ account });
});

test('what a request of the reference says is quoted for a shell, and places in paths are variables', () => {
  const curl = curlOfOperation(operation('key-change'), "http://it's.example", document);
  expect(curl).toStartWith(`curl -X PATCH 'http://it'\\''s.example'"/api/v1/keys/$ID" \\\n`);
  expect(curl).toContain('"authorization: Bearer $TOKEN"');
  expect(curlOfOperation(operation('signin-show'), 'http://x', document)).toBe("curl 'http://x/api/v1/sign-in'");
});

test('a description that leads to itself ends', () => {
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

test('the errors of the reference are those of the service, each with what to do', () => {
  const wanted = Object.entries(errorTable)
    .filter(([code]) => !NOT_PUBLIC.some((start) => code.startsWith(start)))
    .map(([code, { status, retry }]) => [code, status, retry]);
  expect(publicErrors.map((row) => [...row])).toEqual(wanted);
  expect(Object.keys(words.reference.errorActions)).toEqual(wanted.map(([code]) => String(code)));
});
