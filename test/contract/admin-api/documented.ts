// Checks every response of the admin API against its own OpenAPI document: each response that a test receives must
// match the schema of its route and status. Fields missing from the schema are faults, too.

import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

export interface Document {
  openapi: string;
  paths: Record<string, Record<string, DocumentOperation>>;
  components: { schemas: Record<string, Schema> };
}
export interface DocumentOperation {
  operationId: string;
  summary: string;
  tags: string[];
  security: object[];
  parameters?: { name: string; in: string; required: boolean; schema: Schema }[];
  requestBody?: { required: boolean; content: Record<string, { schema: Schema }> };
  responses: Record<string, DocumentResponse>;
}
export interface DocumentResponse {
  description: string;
  content: Record<string, { schema: Schema }>;
  headers?: Record<string, { required: boolean; schema: Schema }>;
  links?: Record<string, { operationId: string; parameters: Record<string, string> }>;
}
export type Schema = { [keyword: string]: unknown };

/** Statuses of requests that match no route. The document does not list them. */
const OF_NO_ROUTE = [401, 403, 404, 405, 413, 415, 400];
const ajv = addFormats(new Ajv2020({ strict: true, strictTypes: false, allErrors: true }));
const validators = new Map<Schema, ValidateFunction>();
/** By written schema: most routes have the same errors, each in an object of its own. */
const compiled = new Map<string, ValidateFunction>();
const patternsOf = new Map<Document, [RegExp, string][]>();
let known: { text: string; document: Document } | null = null;

/** Parses the document. Cached by text, because it is the same for every installation. */
export function readDocumentText(text: string): Document {
  if (known?.text !== text) known = { text, document: JSON.parse(text) as Document };
  return known.document;
}

/** The faults of a response according to the document, as texts; empty if it conforms. */
export function faultsOfAnswer(
  document: Document,
  method: string,
  url: string,
  answer: { status: number; headers: Headers; body: unknown },
): string[] {
  const operation = operationAt(document, method, new URL(url, 'http://localhost').pathname);
  if (operation === null) {
    const isRight = OF_NO_ROUTE.includes(answer.status);
    return isRight ? schemaFaults(document, document.components.schemas['Error'], answer.body) : ['is of no route'];
  }
  const response = operation.responses[answer.status];
  if (response === undefined) return [`the status ${answer.status} is not documented`];
  const type = answer.headers.get('content-type') ?? '';
  const content = response.content[type];
  if (content === undefined) return [`the content type ${type} is not documented`];
  const headers = Object.entries(response.headers ?? {}).filter(
    ([name, { required }]) => required && !answer.headers.has(name),
  );
  return [
    ...headers.map(([name]) => `there is no header ${name}`),
    ...schemaFaults(document, content.schema, answer.body),
  ];
}

/** Compiles a schema for the formats and keywords of such documents. Throws the faults of the schema. */
export function compile(schema: Schema): ValidateFunction {
  return ajv.compile(schema);
}

/** The schema with every reference resolved. */
export function resolveSchema(document: Document, schema: Schema): Schema {
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit);
    if (typeof value !== 'object' || value === null) return value;
    const reference = (value as Schema)['$ref'];
    if (typeof reference === 'string')
      return visit(document.components.schemas[reference.replace('#/components/schemas/', '')]);
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, visit(inner)]));
  };
  return visit(schema) as Schema;
}

function schemaFaults(document: Document, schema: Schema | undefined, body: unknown): string[] {
  if (schema === undefined) return ['there is no schema'];
  let validate = validators.get(schema);
  if (validate === undefined) {
    validate = compileOnce(closed(resolveSchema(document, schema)) as Schema);
    validators.set(schema, validate);
  }
  if (validate(body)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

function compileOnce(schema: Schema): ValidateFunction {
  const written = JSON.stringify(schema);
  let validate = compiled.get(written);
  if (validate === undefined) {
    validate = compile(schema);
    compiled.set(written, validate);
  }
  return validate;
}

/** Objects with named fields accept no others. Parts of `allOf` are closed together. */
function closed(value: unknown, isPart = false): unknown {
  if (Array.isArray(value)) return value.map((inner) => closed(inner));
  if (typeof value !== 'object' || value === null) return value;
  const schema = value as Schema;
  const inner = Object.fromEntries(
    Object.entries(schema).map(([name, part]) => [
      name,
      name === 'allOf' ? (part as unknown[]).map((one) => closed(one, true)) : closed(part),
    ]),
  );
  const isNamed = schema['properties'] !== undefined || schema['allOf'] !== undefined;
  return isNamed && !isPart && schema['additionalProperties'] === undefined
    ? { ...inner, unevaluatedProperties: false }
    : inner;
}

function operationAt(document: Document, method: string, path: string): DocumentOperation | null {
  let patterns = patternsOf.get(document);
  if (patterns === undefined) {
    // Paths with fewer parameters match first: /usage/totals before /usage/{request_id}.
    const paths = Object.keys(document.paths).sort((one, other) => parametersIn(one) - parametersIn(other));
    patterns = paths.map((template) => [patternOf(template), template]);
    patternsOf.set(document, patterns);
  }
  const found = patterns.find(([pattern]) => pattern.test(path));
  return (found && document.paths[found[1]]?.[method.toLowerCase()]) ?? null;
}

function parametersIn(path: string): number {
  return path.split('{').length;
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}
