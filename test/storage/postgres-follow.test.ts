// A node that follows the changes of others: a change that cannot be applied is counted and passed over, and keeps no other
// change from the node.

import { expect, test } from 'bun:test';
import { bounds } from '../../src/config/config.ts';
import { TurnpikeError } from '../../src/errors.ts';
import { type FollowParts, followChanges } from '../../src/server/follow-nodes.ts';
import { spreadCut } from '../../src/storage/account-writes.ts';
import { cannotStartPostgres } from '../support/start-postgres.ts';
import { openFeed } from './open-feed.ts';

const BROKEN = 8;

test.skipIf(cannotStartPostgres)('a change that cannot be applied is passed over after bounded attempts', async () => {
  await using opened = await openFeed();
  const { bench, feed, key } = opened;
  const failures: unknown[] = [];
  const cuts: number[] = [];
  let forgotten = 0;
  const last = Promise.withResolvers<void>();
  const given = Promise.withResolvers<void>();
  const parts: FollowParts = {
    feed,
    epoch: await feed.readEpoch(),
    forgetKey: () => {},
    forgetAccount: () => {},
    forgetPerson: () => {},
    forgetAll: () => void forgotten++,
    cutKey(id) {
      if (id === BROKEN) throw new TypeError('a fault of this program');
      cuts.push(id);
      if (id === key.id + 20) last.resolve();
    },
    readCatalog: async () => {},
    log: { writeEvent: () => {} },
    onFailure(failure) {
      failures.push(failure);
      if (failures.length === bounds.changeAppliesMax) given.resolve();
    },
  };
  await spreadCut(bench.stores.gate, BROKEN);
  await spreadCut(bench.stores.gate, key.id);
  const following = followChanges(parts);
  await given.promise;
  await spreadCut(bench.stores.gate, key.id + 20);
  await last.promise;
  await following.stop();
  expect(failures).toHaveLength(bounds.changeAppliesMax);
  expect(failures[0]).toBeInstanceOf(TypeError);
  expect(cuts.filter((id) => id === key.id)).toHaveLength(bounds.changeAppliesMax); // applied beside the broken one
  expect(forgotten).toBe(bounds.changeAppliesMax);
  expect(following.isHearing()).toBe(true);
});

test('a catalog that a busy database does not give is read again', async () => {
  const read = Promise.withResolvers<void>();
  let reads = 0;
  const unexpected: unknown[] = [];
  const parts: FollowParts = {
    feed: {
      readEpoch: async () => 1,
      readSince: async (epoch) => ({ epoch: 1, changes: epoch === 0 ? [{ kind: 'catalog' }] : [] }),
    },
    epoch: 0,
    forgetKey: () => {},
    forgetAccount: () => {},
    forgetPerson: () => {},
    forgetAll: () => {},
    cutKey: () => {},
    async readCatalog() {
      if (++reads < 3) throw new TurnpikeError('overloaded', 'Too many reads wait.');
      read.resolve();
    },
    log: { writeEvent: (...event) => void unexpected.push(event) },
    onFailure: (failure) => void unexpected.push(failure),
  };
  const following = followChanges(parts);
  await read.promise;
  await following.stop();
  expect(unexpected).toEqual([]);
});
