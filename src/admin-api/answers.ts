// The words of the OpenAPI document that every route repeats: JSON in, JSON out, a page.

import { z } from '@hono/zod-openapi';

/** A body of JSON that must be there. */
export function jsonBody<S extends z.ZodType>(schema: S) {
  return { required: true, content: { 'application/json': { schema } } } as const;
}

export function jsonAnswer<S extends z.ZodType>(schema: S, description: string) {
  return { description, content: { 'application/json': { schema } } } as const;
}

export function pageAnswer<S extends z.ZodType>(schema: S, description: string) {
  return jsonAnswer(z.object({ data: z.array(schema), next_cursor: z.string().nullable() }), description);
}
