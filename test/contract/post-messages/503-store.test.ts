// The store is unavailable. A key is never reported as invalid because of that; an end that cannot be billed waits,
// and a sent response is billed once, later.

import { expect, test } from 'bun:test';
import { TurnpikeError } from '../../../src/errors.ts';
import type { LedgerGate } from '../../../src/ledger/ledger.ts';
import { EVENTS, messageReply, startControlled, streamOf } from './controlled-service.ts';
import { allEventsOf, expectError, expectErrorEvent } from './world.ts';

const unavailable = () => new TurnpikeError('store_unavailable', 'The ledger cannot be written.');
const BILLED = { outcome: 'completed', inputTokens: 25, outputTokens: 12, cost: 255_000 };

/** A gate that is closed while `isClosed` returns true. */
function closableGate(isClosed: (kind: string | undefined) => boolean) {
  return (gate: LedgerGate): LedgerGate => ({
    batches: () => gate.batches(),
    submit: (bundle) => (isClosed(bundle.operations[0]?.kind) ? Promise.reject(unavailable()) : gate.submit(bundle)),
  });
}

test('a key that cannot be looked up is 503, never 401', async () => {
  let isUnavailable = false;
  await using service = await startControlled({
    beforeLookup: () => {
      if (isUnavailable) throw new Error('disk I/O error');
    },
  });
  const secret = await service.makeKey();
  isUnavailable = true;
  await expectError(await service.post(secret), 503, 'api_error', 'store_unavailable');
  isUnavailable = false;
  expect((await service.post(secret, { stream: true })).status).toBe(200);
});

test('a message that cannot be admitted is 503, and leaves nothing behind', async () => {
  let isUnavailable = false;
  await using service = await startControlled({ gateOver: closableGate(() => isUnavailable) });
  const secret = await service.makeKey();
  isUnavailable = true;
  for (const stream of [false, true])
    await expectError(await service.post(secret, { stream }), 503, 'api_error', 'store_unavailable');
  isUnavailable = false;
  expect(await service.records()).toEqual([]);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test('an end that cannot be billed waits with pings, and is sent once it is billed', async () => {
  let failures = 3; // retried after 50, 100 and 200 ms
  await using service = await startControlled({
    gateOver: closableGate((kind) => kind === 'settle' && failures-- > 0),
  });
  const response = await service.post(await service.makeKey(), { stream: true });
  const names = allEventsOf(await response.text()).map(({ name }) => name);
  expect(names.filter((name) => name !== 'ping')).toEqual(EVENTS.map(({ name }) => name));
  expect(names.slice(0, -1)).toContain('ping');
  expect(await service.records()).toMatchObject([BILLED]);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test('the error of a broken stream also waits with pings until the output is billed', async () => {
  let failures = 2;
  await using service = await startControlled({
    answer: async () => streamOf(EVENTS.slice(0, 3)),
    gateOver: closableGate((kind) => kind === 'settle' && failures-- > 0),
  });
  const response = await service.post(await service.makeKey(), { stream: true });
  const copy = response.clone();
  await expectErrorEvent(response, 'api_error', 'upstream_failed');
  const events = allEventsOf(await copy.text());
  expect(events.slice(3, -1).map(({ name }) => name)).toContain('ping');
  expect(await service.records()).toMatchObject([
    { outcome: 'upstream_cut', inputTokens: 25, usageSource: 'estimated' },
  ]);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test('a message without streaming waits, too', async () => {
  let failures = 2;
  await using service = await startControlled({
    answer: async () => messageReply(),
    gateOver: closableGate((kind) => kind === 'settle' && failures-- > 0),
  });
  const response = await service.post(await service.makeKey());
  expect(response.status).toBe(200);
  expect(await service.records()).toMatchObject([BILLED]);
});

test('after the time limit the stream has all of its text and ends with an error, and it is billed once, later', async () => {
  let isUnavailable = true;
  await using service = await startControlled({
    settings: { settle_wait_seconds: 1 },
    answer: async () => ({
      form: 'stream',
      upstreamRequestId: null,
      // All events arrive at once: the content before the end must not be lost.
      events: { next: async () => [...EVENTS] },
    }),
    gateOver: closableGate((kind) => kind === 'settle' && isUnavailable),
  });
  const secret = await service.makeKey();
  const response = await service.post(secret, { stream: true });
  const events = await expectErrorEvent(response, 'api_error', 'store_unavailable');
  const names = events.map(({ name }) => name).filter((name) => name !== 'ping');
  expect(names).toEqual([...EVENTS.slice(0, -1).map(({ name }) => name), 'error']);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 1 });
  expect(service.reports).toMatchObject([{ code: 'store_unavailable', record: { outcome: 'completed' } }]);
  isUnavailable = false;
  for (let tries = 0; tries < 60 && (await service.check()).open_holds > 0; tries++) await Bun.sleep(50);
  expect(await service.records()).toMatchObject([BILLED]);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test('a message that another node ended gets an error, never a success', async () => {
  const endedElsewhere = (gate: LedgerGate): LedgerGate => ({
    batches: () => gate.batches(),
    submit: (bundle) =>
      bundle.operations[0]?.kind === 'settle' ? Promise.resolve([{ ok: false, reason: 'ended' }]) : gate.submit(bundle),
  });
  await using streaming = await startControlled({ gateOver: endedElsewhere });
  const response = await streaming.post(await streaming.makeKey(), { stream: true });
  await expectErrorEvent(response, 'api_error', 'internal');
  await using whole = await startControlled({ gateOver: endedElsewhere, answer: async () => messageReply() });
  await expectError(await whole.post(await whole.makeKey()), 500, 'api_error', 'internal');
});
