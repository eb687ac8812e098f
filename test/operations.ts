// Writes src/commands/operations.json: the operations of the OpenAPI document with the flags that fill their fields, from
// which commands are made. It is checked in, so that a command loads neither the admin API nor its schemas.

import { join } from 'node:path';
import type { FieldFlag, FieldReader } from '../src/commands/flags.ts';
import { rootDirectory } from './check.ts';
import { type Document, type DocumentOperation, resolveSchema, type Schema } from './contract/admin-api/documented.ts';
import { makeInstallation } from './contract/admin-api/installation.ts';

export const operationsPath = 'src/commands/operations.json';

/** Fields that have no flag: commands read page after page themselves, and the console asks for the objects that it shows. */
const WITHOUT_FLAG = ['limit', 'cursor', 'ids'];
/** Longer lists of choices are checked by the service, and left out of the help. */
const CHOICES_MAX = 12;
/** So many are shown in place of a value: "asc|desc". */
const CHOICES_IN_PLACEHOLDER = 3;
/** Forms of texts that commands check, by the example in the schema. */
const FORMS: Readonly<Record<string, FieldReader['kind']>> = {
  '24h': 'duration',
  '203.0.113.0/24': 'address-range',
  'https://app.example.com': 'origin',
};
const AMOUNT_EXAMPLE = '10.00';
const FLAG_NAMES: Readonly<Record<string, string>> = { groups: 'group', expires_at: 'expires', ends_at: 'ends' };

interface KnownSchema {
  pattern?: string;
  enum?: string[];
  items?: Schema;
  examples?: string[];
  maximum?: number;
}

interface Field {
  name: string;
  schema: Schema;
  isRequired: boolean;
}

/** The text of the file for the document of an installation in memory. */
export async function describeOperations(): Promise<string> {
  const { api } = await makeInstallation();
  const answer = await api.fetch(new Request('http://127.0.0.1/api/v1/openapi.json'), '127.0.0.1');
  const document = (await answer.json()) as Document;
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      operationText(document, method.toUpperCase(), path.replace('/api/v1', ''), operation),
    ),
  );
  return `{\n${operations.sort().join(',\n')}\n}\n`;
}

/** A line for the operation, and one for each flag. */
function operationText(document: Document, method: string, path: string, operation: DocumentOperation): string {
  const { operationId, summary, parameters = [], requestBody, responses } = operation;
  const body = resolveSchema(document, requestBody?.content['application/json']?.schema ?? {});
  const required = (body['required'] ?? []) as string[];
  const query = parameters.filter((parameter) => parameter.in === 'query');
  const fields = [
    ...query.map(({ name, schema }) => ({ name, schema: resolveSchema(document, schema), isRequired: false })),
    ...Object.entries((body['properties'] ?? {}) as Record<string, Schema>).map(([name, schema]) => ({
      name,
      schema,
      isRequired: required.includes(name),
    })),
  ];
  const names = new Set(fields.map(({ name }) => name));
  const flags = fields
    .filter(({ name, schema }) => !WITHOUT_FLAG.includes(name) && !isObject(schema))
    .map((field) => `    ${JSON.stringify(flagName(field.name))}: ${JSON.stringify(flagOf(field, method, names))}`);
  const isList = fields.some(({ name }) => name === 'cursor');
  const result = asPart((responses['201'] ?? responses['200'])?.description ?? '');
  const head = JSON.stringify({ method, path, summary, result, isList }).slice(0, -1);
  return `  ${JSON.stringify(operationId)}: ${head},"flags":{${flags.length === 0 ? '' : `\n${flags.join(',\n')}\n  `}}}`;
}

/** Also one that may be null. */
function isObject({ type, anyOf = [] }: Schema): boolean {
  const types = [type, ...(anyOf as Schema[]).map((one) => one['type'])].flat();
  return types.includes('object');
}

function flagName(field: string): string {
  return FLAG_NAMES[field] ?? field.replaceAll('_', '-');
}

/** `names`: of all fields of the operation. */
function flagOf({ name, schema, isRequired }: Field, method: string, names: ReadonlySet<string>): FieldFlag {
  const reader = readerOf(schema, method);
  const words = wordsOf(schema, reader, method);
  return {
    ...(reader.kind !== 'switch' && { value: placeholderOf(name, schema, reader) }),
    help: helpOf(name, withFlags(schema, names), method, [
      ...(isRequired ? ['required'] : []),
      ...(isLong(reader.choices ?? []) ? [enumerate(reader.choices ?? [])] : []),
      ...exampleOf(schema).map((example) => `such as ${example}`),
      ...(schema['default'] === undefined || reader.kind === 'switch' ? [] : [`default: ${schema['default']}`]),
      ...Object.entries(words).map(([word, value]) => `${word} ${value === null ? 'removes it' : 'clears the list'}`),
    ]),
    field: name,
    ...reader,
    ...(Object.keys(words).length > 0 && { words }),
    ...(isRequired && { isRequired }),
  };
}

function readerOf(schema: Schema, method: string): FieldReader {
  const types = [schema['type']].flat();
  const { pattern, enum: choices, items, examples: [example] = [], maximum } = schema as KnownSchema;
  if (types.includes('array')) return { kind: 'list', member: readerOf(items ?? {}, method) };
  if (types.includes('integer')) {
    const isLimit = types.includes('null');
    return { kind: 'count', ...(maximum !== undefined && { maximum }), ...(isLimit && { isLimit }) };
  }
  // Without its flag, a change leaves a member as it is, and everything else takes false.
  if (types.includes('boolean')) return { kind: method === 'PATCH' ? 'yes-or-no' : 'switch' };
  if (choices !== undefined && choices.length <= CHOICES_MAX) return { kind: 'choice', choices };
  if (schema['anyOf'] !== undefined) return { kind: 'time' };
  if (example === AMOUNT_EXAMPLE) return { kind: 'amount', ...(pattern?.startsWith('^-') && { maySubtract: true }) };
  return { kind: FORMS[example ?? ''] ?? 'text' };
}

/** Words in place of a value: null removes a limit. */
function wordsOf(schema: Schema, { kind }: FieldReader, method: string): Record<string, null | []> {
  if (kind === 'list' && schema['minItems'] === undefined) return { none: [] };
  if (method !== 'PATCH' || ![schema['type']].flat().includes('null')) return {};
  return { [kind === 'list' ? 'any' : 'none']: null };
}

function isLong(choices: readonly string[]): boolean {
  return choices.length > CHOICES_IN_PLACEHOLDER;
}

function placeholderOf(name: string, schema: Schema, { kind, choices }: FieldReader): string {
  if (choices !== undefined && !isLong(choices)) return choices.join('|');
  if (kind === 'choice') return name.split('_').at(-1)?.toUpperCase() ?? '';
  if (kind === 'text' && /^\^\w+_\[/.test(String(schema['pattern']))) return 'ID';
  const placeholders: Record<string, string> = { count: 'N', list: 'A,B', 'yes-or-no': 'yes|no', duration: 'TIME' };
  return placeholders[kind] ?? kind.toUpperCase();
}

/** The schema with a description that names flags in place of fields. */
function withFlags(schema: Schema, names: ReadonlySet<string>): Schema {
  const { description } = schema;
  if (typeof description !== 'string') return schema;
  const named = (quoted: string, name: string) => (names.has(name) ? `--${flagName(name)}` : quoted);
  return { ...schema, description: description.replace(/`(\w+)`/g, named) };
}

/** The description, and facts in parentheses. */
function helpOf(name: string, { description }: Schema, method: string, facts: string[]): string {
  const usual = `${method === 'GET' ? 'only of this' : 'its'} ${name.replaceAll('_', ' ')}`;
  return `${asPart(String(description ?? usual))}${facts.length === 0 ? '' : ` (${facts.join('; ')})`}`;
}

/** A sentence as a part of another one: without a capital, a period and backticks. */
function asPart(sentence: string): string {
  const text = sentence.replace(/\.$/, '').replaceAll('`', '');
  return /^[A-Z][a-z ]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}

/** The first example of a value, or of a member of a list, unless the help has one; none of an amount. */
function exampleOf({ examples, items, default: usual, description }: Schema): string[] {
  const all = (examples ?? (items as Schema | undefined)?.['examples'] ?? []) as string[];
  const isKnown = (example: string) => [AMOUNT_EXAMPLE, usual].includes(example) || /such as/.test(String(description));
  return all.slice(0, 1).filter((example) => !isKnown(example));
}

/** "total, day or week". */
function enumerate(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}

if (import.meta.main) {
  await Bun.write(join(rootDirectory, operationsPath), await describeOperations());
  process.exit(0); // the installation may have open timers
}
