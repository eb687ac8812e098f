// The store is gone. Nobody is told that a key is wrong because of it; an end that cannot be billed waits,
// and what was answered is billed once, later.

import { expect, test } from 'bun:test';
import { TurnpikeError } from '../../src/errors.ts';
import type { LedgerGate } from '../../src/ledger/ledger.ts';
import { EVENTS, messageReply, startHandMade, streamOf } from './hand-made-service.ts';
import { eventsOf, expectError, expectErrorEvent } from './world.ts';

const gone = () => new TurnpikeError('store_unavailable', 'The ledger cannot be written at the moment.');
const BILLED = { outcome: 'completed', inputTokens: 25, outputTokens: 12, cost: 255_000 };

/** A gate that is shut while `isShut` says so. */
function shuttable(isShut: (kind: string | undefined) => boolean) {
  return (gate: LedgerGate): LedgerGate => ({
    batches: () => gate.batches(),
    submit: (bundle) => (isShut(bundle.operations[0]?.kind) ? Promise.reject(gone()) : gate.submit(bundle)),
  });
}

test('a key that cannot be looked up is 503, never 401', async () => {
  let isGone = false;
  await using service = await startHandMade({
    beforeLookup: () => {
      if (isGone) throw new Error('disk I/O error');
    },
  });
  const secret = await service.makeKey();
  isGone = true;
  await expectError(await service.post(secret), 503, 'api_error', 'store_unavailable');
  isGone = false;
  expect((await service.post(secret, { stream: true })).status).toBe(200);
});

test('a message that cannot be admitted is 503, and leaves nothing', async () => {
  let isGone = false;
  await using service = await startHandMade({ gateOver: shuttable(() => isGone) });
  const secret = await service.makeKey();
  isGone = true;
  for (const stream of [false, true])
    await expectError(await service.post(secret, { stream }), 503, 'api_error', 'store_unavailable');
  isGone = false;
  expect(await service.records()).toEqual([]);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test('an end that cannot be billed waits with pings, and comes when it is billed', async () => {
  let failures = 3; // tried again after 50, 100 and 200 ms
  await using service = await startHandMade({ gateOver: shuttable((kind) => kind === 'settle' && failures-- > 0) });
  const response = await service.post(await service.makeKey(), { stream: true });
  const names = eventsOf(await response.text()).map(({ name }) => name);
  expect(names.filter((name) => name !== 'ping')).toEqual(EVENTS.map(({ name }) => name));
  expect(names.slice(0, -1)).toContain('ping');
  expect(await service.records()).toMatchObject([BILLED]);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test('the error of a stream that broke waits with pings as well until what came is billed', async () => {
  let failures = 2;
  await using service = await startHandMade({
    answer: async () => streamOf(EVENTS.slice(0, 3)),
    gateOver: shuttable((kind) => kind === 'settle' && failures-- > 0),
  });
  const response = await service.post(await service.makeKey(), { stream: true });
  const events = await expectErrorEvent(response, 'api_error', 'upstream_failed');
  expect(events.slice(3, -1).map(({ name }) => name)).toContain('ping');
  expect(await service.records()).toMatchObject([
    { outcome: 'upstream_cut', inputTokens: 25, usageSource: 'estimated' },
  ]);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test('a message that is not streamed waits for it, too', async () => {
  let failures = 2;
  await using service = await startHandMade({
    answer: async () => messageReply(),
    gateOver: shuttable((kind) => kind === 'settle' && failures-- > 0),
  });
  const response = await service.post(await service.makeKey());
  expect(response.status).toBe(200);
  expect(await service.records()).toMatchObject([BILLED]);
});

test('past the wait the text is complete, the end is an error, and the bill is written once, behind it', async () => {
  let isGone = true;
  await using service = await startHandMade({
    settings: { settle_wait_seconds: 1 },
    answer: async () => ({
      form: 'stream',
      upstreamRequestId: null,
      // All at once: what came with the end is not lost with it.
      events: { next: async () => [...EVENTS] },
    }),
    gateOver: shuttable((kind) => kind === 'settle' && isGone),
  });
  const secret = await service.makeKey();
  const response = await service.post(secret, { stream: true });
  const events = await expectErrorEvent(response, 'api_error', 'store_unavailable');
  const names = events.map(({ name }) => name).filter((name) => name !== 'ping');
  expect(names).toEqual([...EVENTS.slice(0, -1).map(({ name }) => name), 'error']);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 1 });
  expect(service.reports).toMatchObject([{ code: 'store_unavailable', record: { outcome: 'completed' } }]);
  isGone = false;
  for (let tries = 0; tries < 60 && (await service.check()).open_holds > 0; tries++) await Bun.sleep(50);
  expect(await service.records()).toMatchObject([BILLED]);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test('an end that someone else has ended is an error, never a success', async () => {
  const endedElsewhere = (gate: LedgerGate): LedgerGate => ({
    batches: () => gate.batches(),
    submit: (bundle) =>
      bundle.operations[0]?.kind === 'settle' ? Promise.resolve([{ ok: false, reason: 'ended' }]) : gate.submit(bundle),
  });
  await using streaming = await startHandMade({ gateOver: endedElsewhere });
  const response = await streaming.post(await streaming.makeKey(), { stream: true });
  await expectErrorEvent(response, 'api_error', 'internal');
  await using whole = await startHandMade({ gateOver: endedElsewhere, answer: async () => messageReply() });
  await expectError(await whole.post(await whole.makeKey()), 500, 'api_error', 'internal');
});
