// Reads the OpenAPI document of the admin API: operations by resource, fields, and example requests. Pure.

import { shellQuoted } from '../../snippets.ts';

export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: boolean | Schema;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  examples?: unknown[];
  default?: unknown;
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
}

interface ParameterShape {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: Schema;
}

interface Content {
  content?: Record<string, { schema?: Schema }>;
  description?: string;
}

interface OperationShape {
  operationId: string;
  summary?: string;
  tags?: string[];
  'x-roles'?: string[];
  parameters?: ParameterShape[];
  requestBody?: Content & { required?: boolean };
  responses: Record<string, Content>;
}

export interface ApiDocument {
  paths: Record<string, Record<string, OperationShape>>;
  components?: { schemas?: Record<string, Schema> };
}

export interface Operation {
  id: string;
  method: string;
  path: string;
  summary: string;
  tag: string;
  /** Null: no authentication required. */
  roles: string[] | null;
  parameters: ParameterShape[];
  body: Schema | null;
  isBodyRequired: boolean;
  answers: { status: string; description: string; schema: Schema | null }[];
  errors: { status: string; description: string }[];
}

/** Deeper than all schemas of the service; ends recursive schemas. */
const DEPTH_MAX = 6;

/** The operations in the order of the document. */
export function operationsOf(document: ApiDocument): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, shape]) => toOperation(path, method, shape)),
  );
}

function toOperation(path: string, method: string, shape: OperationShape): Operation {
  const all = Object.entries(shape.responses).map(([status, { description = '', ...answer }]) => ({
    status,
    description,
    schema: schemaOf(answer),
  }));
  return {
    id: shape.operationId,
    method: method.toUpperCase(),
    path,
    summary: shape.summary ?? '',
    tag: shape.tags?.[0] ?? '',
    roles: shape['x-roles'] ?? null,
    parameters: shape.parameters ?? [],
    body: schemaOf(shape.requestBody ?? {}),
    isBodyRequired: shape.requestBody?.required === true,
    answers: all.filter(({ status }) => status.startsWith('2')),
    errors: all
      .filter(({ status }) => !status.startsWith('2'))
      .map(({ status, description }) => ({ status, description })),
  };
}

function schemaOf({ content }: Content): Schema | null {
  return content?.['application/json']?.schema ?? null;
}

/** The operations whose id, method, path, summary or roles contain all words of the search. */
export function findOperations(operations: readonly Operation[], search: string): Operation[] {
  const wanted = search.toLowerCase().split(/\s+/).filter(Boolean);
  return operations.filter(({ id, method, path, summary, roles }) => {
    const said = `${id} ${method} ${path} ${summary} ${roles?.join(' ') ?? ''}`.toLowerCase();
    return wanted.every((word) => said.includes(word));
  });
}

export function byTag(operations: readonly Operation[]): [string, Operation[]][] {
  const groups = new Map<string, Operation[]>();
  for (const operation of operations) groups.set(operation.tag, [...(groups.get(operation.tag) ?? []), operation]);
  return [...groups];
}

/** Follows references and merges `allOf`. */
export function resolve(schema: Schema, document: ApiDocument, depth = 0): Schema {
  if (depth > DEPTH_MAX) return {};
  if (schema.$ref !== undefined) {
    const found = document.components?.schemas?.[nameOfReference(schema.$ref)];
    return found === undefined ? {} : resolve(found, document, depth + 1);
  }
  if (schema.allOf === undefined) return schema;
  const parts = schema.allOf.map((part) => resolve(part, document, depth + 1));
  return {
    ...schema,
    type: 'object',
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)),
    required: parts.flatMap(({ required }) => required ?? []),
  };
}

/** A short type description: "string or null", "list of Key". */
export function typeOf(schema: Schema, document: ApiDocument, depth = 0): string {
  if (depth > DEPTH_MAX) return '…';
  if (schema.$ref !== undefined) return nameOfReference(schema.$ref);
  const resolved = resolve(schema, document);
  const choices = resolved.type === undefined ? (resolved.anyOf ?? resolved.oneOf) : undefined;
  if (choices !== undefined)
    return [...new Set(choices.map((choice) => typeOf(choice, document, depth + 1)))].join(' or ');
  const types = [resolved.type ?? 'any'].flat();
  return types
    .map((type) =>
      type === 'array' && resolved.items ? `list of ${typeOf(resolved.items, document, depth + 1)}` : type,
    )
    .join(' or ');
}

/** The schema with fields: the schema itself, or the element of a list or map. Null if there is none. */
export function innerOf(schema: Schema, document: ApiDocument, depth = 0): Schema | null {
  if (depth > DEPTH_MAX) return null;
  const resolved = resolve(schema, document);
  if (Object.keys(resolved.properties ?? {}).length > 0) return resolved;
  if (resolved.items !== undefined) return innerOf(resolved.items, document, depth + 1);
  if (typeof resolved.additionalProperties === 'object')
    return innerOf(resolved.additionalProperties, document, depth + 1);
  for (const choice of resolved.anyOf ?? resolved.oneOf ?? []) {
    const inner = innerOf(choice, document, depth + 1);
    if (inner !== null) return inner;
  }
  return null;
}

/** The constraints of a value: "one of total, day", "1 to 200 characters". */
export function boundsOf(schema: Schema): string[] {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems } = schema;
  return [
    ...(schema.enum === undefined ? [] : [`one of ${schema.enum.map(String).join(', ')}`]),
    ...(schema.format === undefined ? [] : [schema.format]),
    ...rangeOf(minimum, maximum, ''),
    ...rangeOf(minLength, maxLength, ' characters'),
    ...rangeOf(minItems, maxItems, ' members'),
    ...(schema.default === undefined ? [] : [`${JSON.stringify(schema.default)} if left out`]),
    ...(schema.examples?.[0] === undefined ? [] : [`such as ${JSON.stringify(schema.examples[0])}`]),
  ];
}

function rangeOf(least: number | undefined, most: number | undefined, unit: string): string[] {
  if (least !== undefined && most !== undefined)
    return [`${least.toLocaleString('en-US')} to ${most.toLocaleString('en-US')}${unit}`];
  if (most !== undefined) return [`at most ${most.toLocaleString('en-US')}${unit}`];
  return least !== undefined && least > 0 ? [`at least ${least}${unit}`] : [];
}

/** An example value with the required fields, or with the first field if none is required. */
export function exampleOf(schema: Schema, document: ApiDocument, depth = 0): unknown {
  if (depth > DEPTH_MAX) return null;
  const resolved = resolve(schema, document);
  if (resolved.examples?.[0] !== undefined) return resolved.examples[0];
  if (resolved.enum?.[0] !== undefined) return resolved.enum[0];
  const choice = resolved.anyOf?.[0] ?? resolved.oneOf?.[0];
  const [type] = [resolved.type ?? (choice === undefined ? 'string' : [])].flat();
  if (type === undefined && choice !== undefined) return exampleOf(choice, document, depth + 1);
  if (type === 'array') return resolved.items === undefined ? [] : [exampleOf(resolved.items, document, depth + 1)];
  if (type === 'object') return exampleMembers(resolved, document, depth);
  if (type === 'integer' || type === 'number') return resolved.minimum ?? 1;
  return type === 'boolean' ? true : textExample(resolved.pattern);
}

function exampleMembers(schema: Schema, document: ApiDocument, depth: number): Record<string, unknown> {
  const names = Object.keys(schema.properties ?? {});
  const needed = schema.required?.length ? schema.required : depth === 0 ? names.slice(0, 1) : [];
  return Object.fromEntries(
    needed.map((name) => [name, exampleOf(schema.properties?.[name] ?? {}, document, depth + 1)]),
  );
}

/** "acct_…" if the pattern requires that prefix. */
function textExample(pattern: string | undefined): string {
  const [, start] = /^\^([a-z]+_)/.exec(pattern ?? '') ?? [];
  return start === undefined ? '…' : `${start}…`;
}

/** Path parameters become shell variables: "/keys/$ID". */
export function curlOfOperation(
  { method, path, roles, body }: Operation,
  baseUrl: string,
  document: ApiDocument,
): string {
  const json = body === null || method === 'GET' ? null : JSON.stringify(exampleOf(body, document));
  const isPlain = method === 'GET' || (method === 'POST' && json !== null);
  return [
    `curl ${isPlain ? '' : `-X ${method} `}${urlOf(baseUrl, path)}`,
    ...(roles === null ? [] : ['  -H "authorization: Bearer $TOKEN"']),
    ...(json === null ? [] : ["  -H 'content-type: application/json'", `  -d ${shellQuoted(json)}`]),
  ].join(' \\\n');
}

function urlOf(baseUrl: string, path: string): string {
  const place = /\{([^}]+)\}/g;
  if (!place.test(path)) return shellQuoted(`${baseUrl}${path}`);
  const named = path.replaceAll(place, (_, name: string) => `$${name.toUpperCase()}`);
  return `${shellQuoted(baseUrl)}"${named}"`;
}

function nameOfReference(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}
