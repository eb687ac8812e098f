// The words of the OpenAPI document that routes repeat: JSON in, JSON out, a page, links from what was
// made to what can be done with it, and what ids, amounts and times look like in answers.

import { z } from '@hono/zod-openapi';
import type { IdKind } from '../base/ids.ts';

/** A body of JSON. It may be left out where an empty object will do. */
export function jsonBody<S extends z.ZodType>(schema: S) {
  const required = !schema.safeParse({}).success;
  return { required, content: { 'application/json': { schema } } } as const;
}

export function jsonAnswer<S extends z.ZodType>(schema: S, description: string) {
  return { description, content: { 'application/json': { schema } } } as const;
}

export function pageAnswer<S extends z.ZodType>(schema: S, description: string) {
  return jsonAnswer(z.object({ data: z.array(schema), next_cursor: z.string().nullable() }), description);
}

/** Links from an answer to operations whose path takes its `id`. */
export function linksById(...operationIds: string[]) {
  const link = (operationId: string) => ({ operationId, parameters: { id: '$response.body#/id' } });
  return Object.fromEntries(operationIds.map((operationId) => [operationId, link(operationId)]));
}

export function idField(kind: IdKind) {
  return z.string().openapi({ pattern: `^${kind}_[0-9A-Za-z]{9}$` });
}

export const requestIdField = z.string().openapi({ pattern: '^req_[0-9A-Za-z]{25}$' });
export const amountShown = z
  .string()
  .openapi({ pattern: '^-?(0|[1-9]\\d*)(\\.\\d{2,9})?$', description: 'USD, a decimal.', examples: ['9.99'] });
/** Of a price or a cost. */
export const rateShown = z.string().openapi({ pattern: '^-?(0|[1-9]\\d*)(\\.\\d{1,12})?$', examples: ['3.75'] });
export const countShown = z.int().min(0);
export const timeShown = z.string().openapi({ format: 'date-time', description: 'UTC.' });
export const dayShown = z.string().openapi({ format: 'date', examples: ['2026-07-24'] });
/** Who did something. */
export const actorShown = z.string().openapi({
  description: '"tok_…"; "person_…"; "local", the operator of the machine itself; "start", the service.',
  examples: ['local'],
});
