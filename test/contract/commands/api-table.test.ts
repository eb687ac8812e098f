// Commands match the OpenAPI document: operations, fields, choices and printed columns.

import { beforeAll, expect, test } from 'bun:test';
import type { ApiCommand } from '../../../src/commands/api-command.ts';
import { eventTable } from '../../../src/commands/events.ts';
import { listingTable } from '../../../src/commands/listings.ts';
import { paymentKinds, paymentStatuses } from '../../../src/commands/payments.ts';
import { codeKinds, creditKinds, periods, resourceTable, roles } from '../../../src/commands/resources.ts';
import { outcomes, usageFlags } from '../../../src/commands/usage.ts';
import { type Document, type DocumentOperation, resolveSchema, type Schema } from '../admin-api/documented.ts';
import { makeCommandWorld } from './command-world.ts';

const table = [...resourceTable, ...listingTable, ...eventTable];
let document: Document;
beforeAll(async () => {
  using world = await makeCommandWorld();
  document = await (await fetch(`${world.url}/api/v1/openapi.json`)).json();
});

function operationOf(operation: string): DocumentOperation {
  const [method = '', path = ''] = operation.split(' ');
  const template = Object.keys(document.paths).find(
    (known) => known.replaceAll(/\{\w+\}/g, '{}') === `/api/v1${path}`.replaceAll(/\{\w+\}/g, '{}'),
  );
  const found = document.paths[template ?? '']?.[method.toLowerCase()];
  if (found === undefined) throw new Error(`${operation} is not in the OpenAPI document`);
  return found;
}

/** The fields of an object schema, including its parts and its alternatives. */
function membersOf(schema: Schema): Record<string, Schema> {
  const parts = ['allOf', 'anyOf', 'oneOf'].flatMap((name) => (schema[name] as Schema[] | undefined) ?? []);
  return Object.assign({}, schema['properties'], ...parts.map(membersOf));
}

function inputOf({ operation }: ApiCommand): { members: Record<string, Schema>; required: readonly string[] } {
  const { parameters = [], requestBody } = operationOf(operation);
  if (operation.startsWith('GET'))
    return { members: Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])), required: [] };
  const schema = resolveSchema(document, requestBody?.content['application/json']?.schema ?? {});
  return { members: membersOf(schema), required: (schema['required'] as string[] | undefined) ?? [] };
}

function sentFields({ flags = {}, switches = {}, fields = [], body = {} }: ApiCommand): string[] {
  const named = [...Object.values(flags), ...fields].map(({ field }) => field);
  const switched = Object.entries(switches).map(([name, { field = name }]) => field);
  return [...named, ...switched, ...Object.keys(body)];
}

test('every field that a command sends belongs to its operation, and no required one is missing', () => {
  const faults = table.flatMap((command) => {
    const { members, required } = inputOf(command);
    const sent = sentFields(command);
    return [
      ...sent.filter((field) => members[field] === undefined).map((field) => `${command.name}: sends ${field}`),
      ...required.filter((field) => !sent.includes(field)).map((field) => `${command.name}: never sends ${field}`),
    ];
  });
  expect(faults).toEqual([]);
  expect(table.length).toBeGreaterThan(30);
});

test('every field that a command prints belongs to its response', () => {
  const faults = table.flatMap(({ name, operation, columns = [], whenEmpty, send }) => {
    const { responses } = operationOf(operation);
    const content = (responses['200'] ?? responses['201'])?.content['application/json']?.schema ?? {};
    const answer = membersOf(resolveSchema(document, content));
    const members = whenEmpty === undefined ? answer : membersOf(answer['data']?.['items'] as Schema);
    const known = [...Object.keys(members), ...(send === undefined ? [] : ['link'])];
    const printed = columns.map(([, cell]) => cell).filter((cell) => typeof cell === 'string');
    return printed.filter((member) => !known.includes(member)).map((member) => `${name}: ${member}`);
  });
  expect(faults).toEqual([]);
});

test('the choices of a flag are those of its field', () => {
  const choicesOf = (command: string, field: string): unknown[] => {
    const found = table.find(({ name }) => name === command) as ApiCommand;
    const schema = resolveSchema(document, inputOf(found).members[field] ?? {});
    const [first = {}] = (schema['anyOf'] as Schema[] | undefined) ?? [schema];
    return (first['enum'] as unknown[]).toSorted();
  };
  expect(choicesOf('key create', 'quota_period')).toEqual(periods.toSorted());
  expect(choicesOf('account create', 'allowance_period')).toEqual(periods.toSorted());
  expect(choicesOf('token create', 'role')).toEqual(roles.toSorted());
  expect(choicesOf('person invite', 'role')).toEqual(roles.toSorted());
  expect(choicesOf('credit', 'kind')).toEqual(creditKinds.toSorted());
  expect(choicesOf('code-batch create', 'kind')).toEqual(codeKinds.toSorted());
  expect(choicesOf('payments list', 'kind')).toEqual(paymentKinds.toSorted());
  expect(choicesOf('payments list', 'status')).toEqual(paymentStatuses.toSorted());
});

test('the filters of usage are parameters of its operation', () => {
  const parameters = operationOf('GET /usage').parameters ?? [];
  for (const { field } of Object.values(usageFlags)) expect(parameters.map(({ name }) => name)).toContain(field);
  const outcome = resolveSchema(document, parameters.find(({ name }) => name === 'outcome')?.schema ?? {});
  expect(outcome['enum']).toEqual([...outcomes]);
});
