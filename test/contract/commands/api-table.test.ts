// The members that commands print are those of the responses. Everything else that a command knows of its operation is
// made from the OpenAPI document.

import { expect, test } from 'bun:test';
import { flagsOf } from '../../../src/commands/api-command.ts';
import { catalogTable } from '../../../src/commands/catalog.ts';
import { resourceCommands } from '../../../src/commands/resources.ts';
import { type Document, resolveSchema, type Schema } from '../admin-api/documented.ts';
import { makeInstallation } from '../admin-api/installation.ts';

const apiCommands = [...resourceCommands, ...catalogTable];

/** The fields of an object schema, including its parts and its alternatives. */
function membersOf(schema: Schema): Record<string, Schema> {
  const parts = ['allOf', 'anyOf', 'oneOf'].flatMap((name) => (schema[name] as Schema[] | undefined) ?? []);
  return Object.assign({}, schema['properties'], ...parts.map(membersOf));
}

test('every member that a command prints belongs to its response', async () => {
  const { ask } = await makeInstallation();
  const document = (await ask('GET', '/api/v1/openapi.json')).body as unknown as Document;
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const faults = apiCommands.flatMap(({ name, operation, output }) => {
    const responses = operations.find(({ operationId }) => operationId === operation)?.responses;
    const content = (responses?.['201'] ?? responses?.['200'])?.content['application/json']?.schema ?? {};
    const answer = membersOf(resolveSchema(document, content));
    const row = answer['data']?.['items'] === undefined ? answer : membersOf(answer['data']['items'] as Schema);
    const columns = typeof output === 'function' ? [] : output;
    const printed = columns.map(([, cell]) => cell).filter((cell) => typeof cell === 'string');
    return printed.filter((path) => !hasMember({ link: {}, ...row }, path)).map((path) => `${name}: ${path}`);
  });
  expect(faults).toEqual([]);
  expect(apiCommands.length).toBeGreaterThan(50);
});

test('no field has a flag with the name of one that every command has', () => {
  const common = ['url', 'token', 'data', 'json', 'help', 'limit'];
  const flags = apiCommands.flatMap(({ operation }) => Object.keys(flagsOf(operation)));
  expect(flags.filter((flag) => common.includes(flag))).toEqual([]);
});

/** Whether the members have one at a path such as "health.up". */
function hasMember(members: Record<string, Schema>, path: string): boolean {
  const [first = '', ...rest] = path.split('.');
  const member = members[first];
  return member !== undefined && (rest.length === 0 || hasMember(membersOf(member), rest.join('.')));
}
