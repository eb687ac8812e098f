// Posts requests of Gemini's protocol to the whole service, and checks its errors from the outside. It has no tests of
// its own.

import { expect } from 'bun:test';
import type { Json, World } from '../post-messages/world.ts';

/** A small request; `members` replaces or adds fields. */
export function requestOf(members: Json = {}): Json {
  return {
    contents: [{ role: 'user', parts: [{ text: 'Good morning!' }] }],
    generationConfig: { maxOutputTokens: 64 },
    ...members,
  };
}

export interface Sending extends RequestInit {
  model?: string;
  stream?: boolean;
  /** Replaces the method's path. */
  path?: string;
}

export function postGemini(
  { url }: Pick<World, 'url'>,
  secret: string,
  members: Json = {},
  { model = 'plain', stream = false, path, ...more }: Sending = {},
): Promise<Response> {
  const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
  return fetch(`${url}${path ?? `/v1beta/models/${model}:${method}`}`, {
    method: 'POST',
    body: JSON.stringify(requestOf(members)),
    ...more,
    headers: {
      'content-type': 'application/json',
      'x-goog-api-key': secret,
      ...(more.headers as Record<string, string>),
    },
  });
}

/** The last request to the provider. */
export function sentOf({ upstream }: Pick<World, 'upstream'>): Json {
  return JSON.parse(upstream.requests.at(-1)?.body ?? '{}') as Json;
}

/** The JSON of each event of a stream; blank lines keep the connection alive. */
export function chunksOf(text: string): Json[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)) as Json);
}

export interface Candidate {
  content: { role: string; parts?: Json[] };
  finishReason?: string;
}

export function candidateOf(answer: Json): Candidate {
  return (answer['candidates'] as Candidate[])[0] as Candidate;
}

/** The text of all chunks, without thoughts. */
export function textOf(chunks: readonly Json[]): string {
  return chunks
    .flatMap((chunk) => ('candidates' in chunk ? (candidateOf(chunk).content.parts ?? []) : []))
    .map(({ text, thought }) => (thought === true ? '' : (text ?? '')))
    .join('');
}

/** Expects the one error in the format of these clients, and resolves to it. */
export async function expectGeminiError(response: Response, status: number, code: string): Promise<Json> {
  const body = (await response.json()) as { error: Json };
  const requestId = response.headers.get('request-id');
  expect(Object.keys(body)).toEqual(['error']);
  expect(Object.keys(body.error).sort()).toEqual(['code', 'details', 'message', 'status']);
  const details = body.error['details'] as Json[];
  expect({ status: response.status, code: body.error['code'] }).toEqual({ status, code: status });
  expect(details[0]).toEqual({
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: code.toUpperCase(),
    domain: 'turnpike',
    metadata: { code, type: expect.any(String), request_id: requestId },
  });
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(requestId).toMatch(/^req_\w+$/);
  expect(response.headers.get('access-control-allow-origin')).not.toBeNull();
  return body.error;
}
