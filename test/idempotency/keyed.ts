// Messages with an idempotency key, and an upstream that goes on when a test says so. No tests of its own.

import { expect } from 'bun:test';
import { bodyOf, type Json, type World } from '../post-messages/world.ts';
import type { Script } from '../support/scripted-upstream.ts';
import type { Turnpike } from '../support/start-turnpike.ts';

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

/** A script that waits for `goOn` before it plays, and says when it was asked to. */
export function held(script: Script): { script: Script; asked: Promise<void>; goOn: () => void } {
  const goingOn = Promise.withResolvers<void>();
  const asking = Promise.withResolvers<void>();
  return {
    script: async (answer, request) => {
      asking.resolve();
      await goingOn.promise;
      await script(answer, request);
    },
    asked: asking.promise,
    goOn: goingOn.resolve,
  };
}

/** Sends it again, with pauses, as long as it is in progress. */
export async function postUntilAnswered(post: () => Promise<Response>): Promise<Response> {
  for (let tries = 0; tries < 500; tries++) {
    const response = await post();
    if (response.status !== 409) return response;
    expect(((await response.json()) as { error: Json }).error['code']).toBe('idempotency_in_progress');
    await Bun.sleep(20);
  }
  throw new Error('it stayed in progress');
}

/** That the answer is the one to an earlier message, and says so. */
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

/** How many requests the first provider had since `before`. */
export function callsSince(world: World, before: number): number {
  return world.upstream.requests.length - before;
}
