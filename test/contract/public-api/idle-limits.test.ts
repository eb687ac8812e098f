// The socket's idle limit is the one that the gateway sets for a request, and is restored after it.

import { expect, test } from 'bun:test';
import { DEFAULT_SETTINGS } from '../../../src/catalog/settings.ts';
import { bounds } from '../../../src/config/config.ts';
import type { ClientRequest, Reply } from '../../../src/gateway/client-request.ts';
import { BodiesInFlight } from '../../../src/http/http.ts';
import { handlePublic } from '../../../src/public-api/public-api.ts';
import { Spool } from '../../../src/spool/spool.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { OK } from './front.ts';

/** Sends one message over a connection that only records its idle limits. */
async function limitsDuring(
  answer: (clientRequest: ClientRequest) => Promise<Reply>,
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
      spool: new Spool('none'), // no request has files
      load: { loopDelayMs: () => 0, openMessages: () => 0 },
      clock: manualClock(0),
      settings: () => DEFAULT_SETTINGS,
      trustedProxies: [],
      reportsAddress: true,
      isLeaving: () => false,
      isDraining: () => false,
      isStoreAvailable: () => true,
      report: () => {},
    },
  );
  return { limits, status: response.status };
}

async function* nothing() {}

test('a fast response does not change the idle limit', async () => {
  expect((await limitsDuring(async () => OK)).limits).toEqual([]);
});

test('a slow JSON response removes the limit while it is awaited, and restores it afterwards', async () => {
  const { limits } = await limitsDuring(async (clientRequest) => {
    clientRequest.expect('slow-json');
    return OK;
  });
  expect(limits).toEqual([0, bounds.keepAliveIdleSecondsMax]);
});

test('a slow JSON response that fails restores the limit, too', async () => {
  const { limits, status } = await limitsDuring(async (clientRequest) => {
    clientRequest.expect('slow-json');
    throw new Error('bug');
  });
  expect(limits).toEqual([0, bounds.keepAliveIdleSecondsMax]);
  expect(status).toBe(500);
});

test('a stream keeps its own limit from the beginning of its reply until the gateway reports its end', async () => {
  let clientRequest: ClientRequest | null = null;
  const { limits } = await limitsDuring(async (given) => {
    clientRequest = given;
    given.expect('stream');
    return { status: 200, headers: {}, body: nothing() };
  });
  expect(limits).toEqual([bounds.streamIdleSecondsMax]);
  (clientRequest as ClientRequest | null)?.expect('end');
  expect(limits).toEqual([bounds.streamIdleSecondsMax, bounds.keepAliveIdleSecondsMax]);
});
