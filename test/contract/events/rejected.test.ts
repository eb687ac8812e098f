// The event about many rejected requests: its recipients, and its bounds during a flood of refusals.

import { beforeEach, expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { RefusalWatch } from '../../../src/server/watch-refusals.ts';
import type { RefusalCount } from '../../../src/traffic/traffic.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { memoryStores } from '../../support/memory-store/memory-store.ts';

const NOW_MS = Date.UTC(2026, 10, 20, 10, 5);
const HOUR_MS = 3_600_000;

let clock: ReturnType<typeof manualClock>;
let stores: ReturnType<typeof memoryStores>;
let watch: RefusalWatch;
beforeEach(() => {
  clock = manualClock(NOW_MS);
  stores = memoryStores(clock);
  watch = new RefusalWatch({ stores, clock });
});

async function refuse(members: Partial<RefusalCount>): Promise<void> {
  const atMs = clock.nowMs();
  const count = bounds.rejectedNoticeLeast;
  const known = { atMs, account: 7, key: 70, code: 'model_not_found', status: 400, lastAtMs: atMs, message: '' };
  await stores.traffic.addRefusals([{ ...known, count, ...members }]);
}

async function events() {
  const found = await stores.events.listEvents({
    account: null,
    types: null,
    sinceMs: null,
    untilMs: null,
    before: null,
    limit: 1_000,
  });
  return found.map(({ account, data }) => `${account} ${data['code']} ${data['count']}`).toReversed();
}

test('a key with a hundred refusals of one code in five minutes is reported to its account, once an hour', async () => {
  await refuse({ count: bounds.rejectedNoticeLeast - 1 });
  await watch.round();
  expect(await events()).toEqual([]);
  clock.advance(4 * 60_000);
  await refuse({ count: 1 });
  await refuse({ code: 'invalid_json' });
  await watch.round();
  expect(await events()).toHaveLength(1);
  await watch.round();
  await new RefusalWatch({ stores, clock }).round(); // another node leads: the other code is new to it
  expect((await events()).length).toBeLessThanOrEqual(2);
});

test('refusals that are spread over more than five minutes are not reported', async () => {
  for (let minutes = 0; minutes < 5; minutes++) {
    await refuse({ count: bounds.rejectedNoticeLeast / 2 });
    await watch.round();
    clock.advance(6 * 60_000);
  }
  expect(await events()).toEqual([]);
});

test('one account is reported at most once a day for each code, and requests without a known key to operators only', async () => {
  for (let hour = 0; hour < 13; hour++) {
    await refuse({});
    await refuse({ account: null, key: null, code: 'key_invalid' });
    await watch.round();
    await watch.round();
    clock.advance(HOUR_MS);
  }
  expect((await events()).toSorted()).toEqual(['7 model_not_found 100', 'null key_invalid 100']);
});

test('a thousand accounts cause a bounded number of events in an hour, and those without a key are reported all the same', async () => {
  for (let at = 1; at <= 1_000; at++) await refuse({ account: at, key: at });
  await refuse({ account: null, key: null, code: 'key_invalid' });
  for (let round = 0; round < 10; round++) await watch.round();
  const found = await events();
  expect(found.length).toBeLessThanOrEqual(bounds.rejectedNoticesPerHourMax + 1);
  expect(found).toContain('null key_invalid 100');
});
