// Reads all routes with their parameters and body fields from the OpenAPI document of the running application. The
// matrix combines them with the policy.

import type { Installation, Json } from '../installation.ts';

export interface Operation {
  /** Method and path: "GET /api/v1/keys/{id}". */
  name: string;
  method: string;
  path: string;
  pathParameters: string[];
  queryParameters: string[];
  /** The fields of the body, nested ones as "a.b"; null if it has no body. */
  members: string[] | null;
  /** Whether a request can carry the header `idempotency-key`. */
  isCreation: boolean;
  /** The documented statuses. */
  statuses: number[];
}

interface Parameter {
  name: string;
  in: string;
}
interface Schema {
  properties?: Record<string, Schema>;
  items?: Schema;
}
interface DocumentOperation {
  parameters?: Parameter[];
  requestBody?: { content: { 'application/json'?: { schema: Schema } } };
  responses: Record<string, unknown>;
}

export interface OpenapiDocument {
  paths: Record<string, Record<string, DocumentOperation>>;
}

export async function readDocument(installation: Installation): Promise<OpenapiDocument> {
  return (await installation.ask('GET', '/api/v1/openapi.json')).body as unknown as OpenapiDocument;
}

export function readOperations(document: OpenapiDocument): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => readOperation(path, method.toUpperCase(), operation)),
  );
}

function readOperation(path: string, method: string, operation: DocumentOperation): Operation {
  const namesIn = (place: string) =>
    (operation.parameters ?? []).filter((parameter) => parameter.in === place).map(({ name }) => name);
  const schema = operation.requestBody?.content['application/json']?.schema; // a body of CSV has no fields
  return {
    name: `${method} ${path}`,
    method,
    path,
    pathParameters: namesIn('path'),
    queryParameters: namesIn('query'),
    members: schema === undefined ? null : membersOf(schema),
    isCreation: namesIn('header').includes('idempotency-key'),
    statuses: Object.keys(operation.responses).map(Number),
  };
}

function membersOf(schema: Schema): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => [
    name,
    ...[...membersOf(member), ...membersOf(member.items ?? {})].map((inner) => `${name}.${inner}`),
  ]);
}

/** Every field name that appears in a request or a response of the document. */
export function everyMemberName(document: OpenapiDocument): string[] {
  const names = new Set<string>();
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const name of Object.keys((value as Schema).properties ?? {})) names.add(name);
    for (const inner of Object.values(value)) visit(inner);
  };
  visit(document as unknown as Json);
  return [...names];
}
