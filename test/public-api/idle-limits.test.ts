// The socket's idle limit follows what the gateway expects, and never outlives its request.

import { expect, test } from 'bun:test';
import { manualClock } from '../../src/base/clock.ts';
import { DEFAULT_SETTINGS } from '../../src/catalog/build-catalogue.ts';
import { bounds } from '../../src/config.ts';
import type { Reply, Submission } from '../../src/gateway/submission.ts';
import { BodiesInFlight } from '../../src/http/http.ts';
import { handlePublic } from '../../src/public-api/public-api.ts';
import { OK } from './front.ts';

/** Sends one message over a connection that only notes its limits. */
async function limitsDuring(
  answer: (submission: Submission) => Promise<Reply>,
): Promise<{ limits: number[]; status: number }> {
  const limits: number[] = [];
  const connection = {
    address: '127.0.0.1',
    isTls: false,
    setIdleSeconds: (seconds: number) => limits.push(seconds),
  };
  const unused = async () => OK;
  const response = await handlePublic(
    new Request('http://a/v1/messages', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    }),
    connection,
    {
      messages: {
        submitMessage: answer,
        countTokens: unused,
        listModels: unused,
        getModel: unused,
        getKey: unused,
        getUsage: unused,
      },
      bodies: new BodiesInFlight(() => 1_000_000),
      load: { loopDelayMs: () => 0, openMessages: () => 0 },
      clock: manualClock(0),
      settings: () => DEFAULT_SETTINGS,
      trustedProxies: [],
      isLeaving: () => false,
      isDraining: () => false,
      isStoreAvailable: () => true,
      report: () => {},
    },
  );
  return { limits, status: response.status };
}

async function* nothing() {}

test('a quick answer leaves the socket alone', async () => {
  expect((await limitsDuring(async () => OK)).limits).toEqual([]);
});

test('a slow JSON answer has no limit while it is awaited, and the socket has its own again after it', async () => {
  const { limits } = await limitsDuring(async (submission) => {
    submission.expect('slow-json');
    return OK;
  });
  expect(limits).toEqual([0, bounds.keepAliveIdleSecondsMax]);
});

test('a slow JSON answer that fails gives the socket its limit back too', async () => {
  const { limits, status } = await limitsDuring(async (submission) => {
    submission.expect('slow-json');
    throw new Error('bug');
  });
  expect(limits).toEqual([0, bounds.keepAliveIdleSecondsMax]);
  expect(status).toBe(500);
});

test('a stream keeps its limit when its reply has begun, until the gateway says it ended', async () => {
  let submission: Submission | null = null;
  const { limits } = await limitsDuring(async (given) => {
    submission = given;
    given.expect('stream');
    return { status: 200, headers: {}, body: nothing() };
  });
  expect(limits).toEqual([bounds.streamIdleSecondsMax]);
  (submission as Submission | null)?.expect('end');
  expect(limits).toEqual([bounds.streamIdleSecondsMax, bounds.keepAliveIdleSecondsMax]);
});
