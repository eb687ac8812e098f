// Messages with an idempotency key, and an upstream that the test controls. It has no tests of its own.

import { expect } from 'bun:test';
import type { Script } from '../../support/scripted-upstream.ts';
import type { Turnpike } from '../../support/start-turnpike.ts';
import { bodyOf, type Json, type World } from '../post-messages/world.ts';

/** Posts a small message under an idempotency key. */
export function postKeyed(
  turnpike: Turnpike,
  secret: string,
  name: string,
  members: Json = {},
  more: RequestInit = {},
): Promise<Response> {
  return turnpike.post(secret, bodyOf(members), { ...more, headers: { 'idempotency-key': name } });
}

/** A script that waits until `goOn` is called; `asked` resolves at its first request. */
export function paused(script: Script): { script: Script; asked: Promise<void>; goOn: () => void } {
  const goingOn = Promise.withResolvers<void>();
  const pending = Promise.withResolvers<void>();
  return {
    script: async (answer, request) => {
      pending.resolve();
      await goingOn.promise;
      await script(answer, request);
    },
    asked: pending.promise,
    goOn: goingOn.resolve,
  };
}

/** Repeats the request, with pauses, while the message is in progress. */
export async function postUntilAnswered(post: () => Promise<Response>): Promise<Response> {
  for (let tries = 0; tries < 500; tries++) {
    const response = await post();
    if (response.status !== 409) return response;
    expect(((await response.json()) as { error: Json }).error['code']).toBe('idempotency_in_progress');
    await Bun.sleep(20);
  }
  throw new Error('the message stayed in progress');
}

/** Expects the response to an earlier message, marked as a replay. */
export function expectReplay(response: Response, requestId: string): void {
  expect(response.status).toBe(200);
  expect(response.headers.get('idempotency-replayed')).toBe('true');
  expect(response.headers.get('idempotency-original-request-id')).toBe(requestId);
  expect(response.headers.get('request-id')).not.toBe(requestId);
}

export function requestIdOf(response: Response): string {
  expect(response.headers.get('idempotency-replayed')).toBeNull();
  return response.headers.get('request-id') as string;
}

/** The number of requests to the first provider since `before`. */
export function callsSince(world: World, before: number): number {
  return world.upstream.requests.length - before;
}
