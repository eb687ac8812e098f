// A company has the share of one account in what messages in progress may take: accounts below it make no more.

import { afterAll, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, expectError, type Json, sharedWorld } from './world.ts';

const SLOTS = 8;
const world = await sharedWorld({ settings: { shed_open_messages: SLOTS, finish_without_caller_seconds: 1 } });
afterAll(() => world.stop());

async function keyOf(members: Json): Promise<{ account: unknown; secret: string }> {
  const { id: account } = await world.admin('POST', '/accounts', { name: 'one', ...members });
  const { key } = await world.admin('POST', '/keys', { account });
  return { account, secret: String(key) };
}

test('a flood of a company over its accounts is shed at the share of one', async () => {
  const company = await keyOf({ credit: '5' });
  const below = { parent: company.account, pays_from: 'parent' };
  const keys = [company, await keyOf(below), await keyOf(below), await keyOf(below)];
  const other = await world.makeKey();
  world.upstream.play(scripts.hangBeforeHead());
  const leaving = new AbortController();
  const { signal } = leaving;
  const shed = Promise.withResolvers<void>();
  let refusals = 0;
  const flood = keys.flatMap(({ secret }) =>
    Array.from({ length: SLOTS / 2 }, async () => {
      const response = await world.post(secret, bodyOf({}), { signal }).catch(() => null);
      if (response === null) return;
      await expectError(response, 529, 'overloaded_error', 'overloaded', /full share/);
      if (++refusals === (keys.length - 1) * (SLOTS / 2)) shed.resolve();
    }),
  );
  await shed.promise; // half of the slots are the company's, and the others are free
  while (world.upstream.requests.length < SLOTS / 2) await Bun.sleep(1); // they hang
  world.upstream.play(scripts.good());
  expect((await world.post(other.secret, bodyOf({}))).status).toBe(200);
  leaving.abort();
  await Promise.all(flood);
});
