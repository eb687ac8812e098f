// A client that reads its stream slowly: the delay is not attributed to its provider, and does not affect other
// clients.

import { afterAll, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, eventsOf, expectMoney, type Json, startWorld } from '../post-messages/world.ts';
import { blockedFor, patient, readSlowly } from './slow-client.ts';

const STREAM_SECONDS = 6; // the client pauses longer than this, so the pause is recognizable in the total time
const RICH = '100000.00'; // enough for streams that fill every buffer on their way
const world = await startWorld({
  settings: { upstream_stream_seconds: STREAM_SECONDS, circuit_failures: 1 },
});
afterAll(() => world.stop());

/** The health of the only route of every model. */
async function routeState(): Promise<unknown> {
  const { data } = (await world.admin('GET', '/providers')) as { data: Json[] };
  const first = data.find(({ name }) => name === 'first') as { routes: Json[] };
  return first.routes.map(({ state, failures_in_a_row }) => ({ state, failures_in_a_row }));
}

const HEALTHY = [{ state: 'ready', failures_in_a_row: 0 }];

test('backpressure from a client does not count against the provider’s time limit', async () => {
  const caller = await world.makeKey({ credit: RICH });
  const waiting = patient(1_500);
  world.upstream.play(waiting.script);
  const paused = waiting.isWaiting.then(() => Bun.sleep(STREAM_SECONDS * 1_000 + 1_000));
  const text = await readSlowly(world.url, caller.secret, { stream: true }, {}, paused);
  expect(eventsOf(text).at(-1)?.name).toBe('message_stop');
  await expectMoney(world, caller, [{ outcome: 'completed' }], RICH);
  expect(await routeState()).toEqual(HEALTHY);
});

test('a provider that gives up a stream during backpressure has not failed', async () => {
  const caller = await world.makeKey({ credit: RICH });
  for (let stream = 0; stream < 2; stream++) {
    const blocked = blockedFor(1_500);
    world.upstream.play(blocked.script);
    const text = await readSlowly(world.url, caller.secret, { stream: true }, {}, blocked.gaveUp);
    expect(eventsOf(text).at(-1)).toMatchObject({ name: 'error', json: { error: { code: 'client_too_slow' } } });
  }
  expect(await routeState()).toEqual(HEALTHY);
  world.upstream.play(scripts.good());
  const other = await world.makeKey();
  expect((await world.post(other.secret, bodyOf())).status).toBe(200);
});

test('a provider that breaks off a stream whose client reads has failed', async () => {
  const caller = await world.makeKey();
  world.upstream.play(scripts.dropMidStream({ text: 'x'.repeat(400), pieces: 10 }));
  const cut = await world.post(caller.secret, bodyOf({ stream: true }));
  expect(eventsOf(await cut.text()).at(-1)).toMatchObject({ json: { error: { code: 'upstream_failed' } } });
  await expectMoney(world, caller, [{ outcome: 'upstream_cut' }]);
  expect(await routeState()).toMatchObject([{ failures_in_a_row: 1 }]);
});
