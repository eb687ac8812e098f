// Commands match the OpenAPI document: the fields that they send, and the members of the responses that they print.
// Their flags are made from it, which test/operations.test.ts checks.

import { beforeAll, expect, test } from 'bun:test';
import { type ApiCommand, flagsOf } from '../../../src/commands/api-command.ts';
import { catalogTable } from '../../../src/commands/catalog.ts';
import type { FieldFlag } from '../../../src/commands/flags.ts';
import { billTable } from '../../../src/commands/provider-bills.ts';
import { resourceCommands } from '../../../src/commands/resources.ts';
import { compile, type Document, type DocumentOperation, resolveSchema, type Schema } from '../admin-api/documented.ts';
import { makeInstallation } from '../admin-api/installation.ts';
import { makeCommandWorld } from './command-world.ts';

const apiCommands = [...resourceCommands, ...catalogTable, ...billTable];
let document: Document;
beforeAll(async () => {
  const { ask } = await makeInstallation();
  document = (await ask('GET', '/api/v1/openapi.json')).body as unknown as Document;
});

interface Operation extends DocumentOperation {
  path: string;
}

function operationOf({ operation }: ApiCommand): Operation {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.values(methods).map((one) => ({ ...one, path })),
  );
  const found = operations.find(({ operationId }) => operationId === operation);
  if (found === undefined) throw new Error(`${operation} is not in the OpenAPI document`);
  return found;
}

/** The fields of an object schema, including its parts and its alternatives. */
function membersOf(schema: Schema): Record<string, Schema> {
  const parts = ['allOf', 'anyOf', 'oneOf'].flatMap((name) => (schema[name] as Schema[] | undefined) ?? []);
  return Object.assign({}, schema['properties'], ...parts.map(membersOf));
}

/** The fields of a request: query parameters and members of the body. */
function requestFields({ parameters = [], requestBody }: Operation): {
  known: Record<string, Schema>;
  required: string[];
} {
  const query = parameters.filter((parameter) => parameter.in === 'query');
  const body = resolveSchema(document, requestBody?.content['application/json']?.schema ?? {});
  return {
    known: { ...Object.fromEntries(query.map(({ name, schema }) => [name, schema])), ...membersOf(body) },
    required: [
      ...query.filter((parameter) => parameter.required).map(({ name }) => name),
      ...((body['required'] ?? []) as string[]),
    ],
  };
}

/** The flags of a command that fill fields. */
function fieldFlags({ flags }: ApiCommand): [string, FieldFlag][] {
  return Object.entries(flags).filter((entry): entry is [string, FieldFlag] => 'field' in entry[1]);
}

/** The fields that a command can send, with whether it always does. */
function sentFields(command: ApiCommand): [field: string, isAlways: boolean][] {
  const { fields, positionals = [], details } = command;
  const required = positionals.filter((positional) => !positional.startsWith('['));
  const inPath = positionals.length - fields.length;
  return [
    ...fields.map((field, at): [string, boolean] => [field, inPath + at < required.length]),
    ...Object.keys(details.body ?? {}).map((field): [string, boolean] => [field, true]),
    ...fieldFlags(command).map(([, flag]): [string, boolean] => [flag.field, flag.isRequired === true]),
  ];
}

test('every command belongs to a topic, under which it is called', async () => {
  using world = await makeCommandWorld();
  const topics = [...(await world.run('--help')).out.matchAll(/^ {2}([a-z-]+) {2,}/gm)].map(([, name]) => name);
  expect(new Set(apiCommands.map(({ name }) => name.split(' ')[0])).difference(new Set(topics))).toEqual(new Set());
});

test('every field that a command sends belongs to its operation, and no required one is missing', () => {
  const faults = apiCommands.flatMap((command) => {
    const { known, required } = requestFields(operationOf(command));
    const sent = sentFields(command);
    const always = sent.filter(([, isAlways]) => isAlways).map(([field]) => field);
    return [
      ...sent.filter(([field]) => known[field] === undefined).map(([field]) => `${command.name}: sends ${field}`),
      ...required.filter((field) => !always.includes(field)).map((field) => `${command.name}: may not send ${field}`),
    ];
  });
  expect(faults).toEqual([]);
  expect(apiCommands.length).toBeGreaterThan(50);
});

test('the positionals of a command fill each part of its path', () => {
  const faults = apiCommands.filter((command) => {
    const required = (command.positionals ?? []).filter((positional) => !positional.startsWith('['));
    const inPath = (command.positionals ?? []).length - command.fields.length;
    return operationOf(command).path.split('{').length - 1 !== inPath || required.length < inPath;
  });
  expect(faults.map(({ name }) => name)).toEqual([]);
});

test('a member of a body that is always the same is a value of its field', () => {
  const faults = apiCommands.flatMap((command) => {
    const { known } = requestFields(operationOf(command));
    return Object.entries(command.details.body ?? {})
      .filter(([field, value]) => !compile(resolveSchema(document, known[field] ?? {}))(value))
      .map(([field]) => `${command.name}: ${field}`);
  });
  expect(faults).toEqual([]);
});

test('a changed flag is a flag of its command, and so is the one that it needs', () => {
  const faults = apiCommands.flatMap((command) => {
    const known = Object.fromEntries(fieldFlags(command));
    const changed = Object.entries(command.details.flags ?? {});
    const named = changed.flatMap(([name, { needs = name }]) => [name, needs]);
    return named.filter((name) => known[name] === undefined).map((name) => `${command.name}: --${name}`);
  });
  expect(faults).toEqual([]);
});

test('every member that a command prints belongs to its response', () => {
  const faults = apiCommands.flatMap((command) => {
    const { name, output, details } = command;
    const { responses } = operationOf(command);
    const content = (responses['201'] ?? responses['200'])?.content['application/json']?.schema ?? {};
    const answer = membersOf(resolveSchema(document, content));
    const row = answer['data']?.['items'] === undefined ? answer : membersOf(answer['data']['items'] as Schema);
    const known = details.send === undefined ? row : { link: {}, ...row };
    const columns = typeof output === 'function' ? [] : output;
    const printed = columns.map(([, cell]) => cell).filter((cell) => typeof cell === 'string');
    return printed.filter((path) => !hasMember(known, path)).map((path) => `${name}: ${path}`);
  });
  expect(faults).toEqual([]);
});

test('no help names an operation, which users of commands cannot call', () => {
  const ids = Object.values(document.paths).flatMap((methods) => Object.values(methods).map((one) => one.operationId));
  const faults = apiCommands.flatMap(({ name, summary, result = '', flags }) => {
    const help = [summary, result, ...Object.values(flags).map((flag) => flag.help)].join('\n');
    return ids.filter((id) => help.includes(id)).map((id) => `${name}: ${id}`);
  });
  expect(faults).toEqual([]);
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
