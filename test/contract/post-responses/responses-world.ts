// Posts Responses requests to the whole service, and reads its errors and events. It has no tests of its own.

import { expect } from 'bun:test';
import { eventsOf } from '../../unit/fronts/responses/read-response.ts';
import type { Json, World } from '../post-messages/world.ts';

/** A small request; `members` replaces or adds fields. */
export function responseOf(members: Json = {}): Json {
  return { model: 'plain', max_output_tokens: 64, input: 'Good morning!', ...members };
}

export function postResponse(
  { url }: Pick<World, 'url'>,
  secret: string,
  members: Json = {},
  more: RequestInit = {},
): Promise<Response> {
  return fetch(`${url}/v1/responses`, {
    method: 'POST',
    body: JSON.stringify(responseOf(members)),
    ...more,
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${secret}`,
      ...(more.headers as Record<string, string>),
    },
  });
}

/** Expects the one error in the format of these clients, and resolves to it. */
export async function expectError(response: Response, status: number, code: string, own = code): Promise<Json> {
  const body = (await response.json()) as { error: Json };
  expect({ status: response.status, body }).toMatchObject({
    status,
    body: { error: { code, details: { error_code: own } } },
  });
  expect(Object.keys(body)).toEqual(['error']);
  expect(Object.keys(body.error).sort()).toEqual(['code', 'details', 'message', 'param', 'type']);
  expect(response.headers.get('x-request-id')).toBe(response.headers.get('request-id'));
  return body.error;
}

/** Expects the stream to end with this error, told in both forms, and without a complete response. */
export async function expectLastError(response: Response, code: string, failed: string): Promise<string> {
  const text = await response.text();
  const events = eventsOf(text);
  expect(events.at(-2)).toMatchObject({ type: 'error', error: { details: { error_code: code } } });
  expect(events.at(-1)).toMatchObject({
    type: 'response.failed',
    response: { status: 'failed', error: { code: failed } },
  });
  expect(text).not.toMatch(/response\.(?:completed|incomplete)/);
  return text;
}
