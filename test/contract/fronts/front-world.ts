// Sends requests of any front to the whole service, and checks its answers and errors from the outside. It has no tests of its
// own.

import { afterAll, expect } from 'bun:test';
import { type ErrorCode, errorTable } from '../../../src/errors.ts';
import { parseExactly } from '../../../src/wire/wire.ts';
import type { Turnpike } from '../../support/start-turnpike.ts';
import { EVENTS, startControlled, streamOf } from '../post-messages/controlled-service.ts';
import { expectHeadersOfAll, sharedWorld, type World } from '../post-messages/world.ts';
import type { Answer, FrontDriver, Json, Prompt, Streamed } from './front-driver.ts';

/** The shared service, for a test file. */
export async function sharedFronts(): Promise<World> {
  const world = await sharedWorld();
  afterAll(() => world.stop());
  return world;
}

/** Posts a prompt; `more` replaces the body, or adds headers. */
export function post(
  front: FrontDriver,
  { url }: Pick<Turnpike, 'url'>,
  secret: string,
  prompt: Prompt = {},
  { headers, ...more }: RequestInit = {},
): Promise<Response> {
  return fetch(url + front.path(prompt), {
    method: 'POST',
    body: JSON.stringify(front.body(prompt)),
    ...more,
    headers: {
      'content-type': 'application/json',
      ...front.keyHeaders(secret)[0],
      ...(headers as Record<string, string>),
    },
  });
}

/** The last request to the provider. */
export function sentOf({ upstream }: Pick<World, 'upstream'>): Json {
  return JSON.parse(upstream.requests.at(-1)?.body ?? '{}') as Json;
}

/** The answer as a client reads it, streamed or whole. */
export async function answerOf(front: FrontDriver, response: Response, stream: boolean): Promise<Answer> {
  const text = await response.text();
  expect({ status: response.status, text }).toMatchObject({ status: 200 });
  if (!stream) return front.read(parseExactly(text) as Json);
  const { answer } = front.readStream(text);
  if (answer === null) throw new Error(`the stream has no end: ${text.slice(-500)}`);
  return answer;
}

/** The text without the times in it, by which equal answers differ. */
export function withoutTimes(text: string): string {
  return text.replaceAll(/"(?:created|created_at|completed_at)":\d+/g, '');
}

function expectErrorBody(
  front: FrontDriver,
  { headers }: Response,
  { body, code, param, retryAfter }: { body: Json; code: string; param: string | null; retryAfter: string | null },
): void {
  const { status, type } = errorTable[code as ErrorCode];
  const { message } = body['error'] as { message: string };
  expect(message).toBeString();
  const told = { code, status, type, message, param, retryAfter, requestId: headers.get('request-id') };
  expect(body).toEqual(front.errorBody(told));
}

/** Expects exactly this error in every place where a client of the front looks, and resolves to its message. */
export async function expectError(
  front: FrontDriver,
  response: Response,
  code: ErrorCode,
  param: string | null = null,
): Promise<string> {
  const body = (await response.json()) as Json;
  const { status, retry } = errorTable[code];
  const { headers } = response;
  expect({ status: response.status, body }).toMatchObject({ status, body: { error: {} } });
  expect(headers.get('content-type')).toBe('application/json');
  expectHeaders(front, response);
  const retryAfter = headers.get('retry-after');
  if (status === 429) expect(retryAfter).toMatch(/^[1-9]\d*$/);
  expect(headers.get('x-should-retry')).toBe(retry ? null : 'false');
  expectErrorBody(front, response, { body, code, param, retryAfter: retry ? retryAfter : null });
  return (body['error'] as { message: string }).message;
}

/** Every answer has the headers that its clients read, also in a browser. */
export function expectHeaders(front: FrontDriver, response: Response): void {
  expectHeadersOfAll(response);
  const { headers } = response;
  if (!front.hasOpenAiHeaders) return;
  expect(headers.get('x-request-id')).toBe(headers.get('request-id'));
  const exposed = headers.get('access-control-expose-headers');
  for (const name of ['x-request-id', 'x-ratelimit-remaining-tokens']) expect(exposed).toContain(name);
}

/** Expects the stream to end with this error, without a normal end. */
export async function expectLastError(front: FrontDriver, response: Response, code: ErrorCode): Promise<Streamed> {
  expect(response.status).toBe(200);
  const streamed = front.readStream(await response.text());
  expect(streamed).toMatchObject({ answer: null, error: {} });
  expectErrorBody(front, response, { body: streamed.error ?? {}, code, param: null, retryAfter: null });
  return streamed;
}

/** A service whose settlements wait for `settle`. */
export function startSettling(settle: () => Promise<void>, settings: Json = {}) {
  return startControlled({
    answer: async () => streamOf(EVENTS),
    gateOver: (gate) => ({
      batches: () => gate.batches(),
      submit: async (bundle) => {
        if (bundle.operations[0]?.kind === 'settle') await settle();
        return gate.submit(bundle);
      },
    }),
    settings,
  });
}
