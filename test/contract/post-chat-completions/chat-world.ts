// Posts Chat Completions requests to the whole service, and checks its errors from the outside. It has no tests of
// its own.

import { expect } from 'bun:test';
import type { Json, World } from '../post-messages/world.ts';

/** A small request; `members` replaces or adds fields. */
export function chatOf(members: Json = {}): Json {
  return { model: 'plain', max_tokens: 64, messages: [{ role: 'user', content: 'Good morning!' }], ...members };
}

export function postChat(
  { url }: Pick<World, 'url'>,
  secret: string,
  members: Json = {},
  more: RequestInit = {},
): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify(chatOf(members)),
    ...more,
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${secret}`,
      ...(more.headers as Record<string, string>),
    },
  });
}

/** The last request to the provider. */
export function sentOf({ upstream }: Pick<World, 'upstream'>): Json {
  return JSON.parse(upstream.requests.at(-1)?.body ?? '{}') as Json;
}

/** Expects the one error in the format of these clients, and resolves to it. */
export async function expectChatError(response: Response, status: number, code: string): Promise<Json> {
  const body = (await response.json()) as { error: Json };
  expect({ status: response.status, body }).toMatchObject({ status, body: { error: { code } } });
  expect(Object.keys(body)).toEqual(['error']);
  expect(Object.keys(body.error).sort()).toEqual(['code', 'message', 'param', 'type']);
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(response.headers.get('x-request-id')).toMatch(/^req_\w+$/);
  expect(response.headers.get('x-request-id')).toBe(response.headers.get('request-id'));
  expect(response.headers.get('access-control-allow-origin')).not.toBeNull();
  expect(response.headers.get('access-control-expose-headers')).toContain('x-request-id');
  return body.error;
}
