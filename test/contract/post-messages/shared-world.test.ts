// The shared service: a test that takes it notices none of the tests before.

import { expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { startedServices } from '../../support/start-turnpike.ts';
import { bodyOf, expectMoney, GOOD, type Json, sharedWorld, type World } from './world.ts';

/** Changes settings, catalog and circuits, and leaves without waiting for the messages. */
async function disturb(): Promise<World> {
  await using world = await sharedWorld({
    settings: { circuit_failures: 1 },
    groups: { default: { models: ['extra'], rpm: 1 } },
    models: { extra: { price: { input: '1', output: '1' }, routes: [{ provider: 'first' }] } },
  });
  const caller = await world.makeKey();
  world.upstream.play(scripts.overloaded());
  expect((await world.post(caller.secret, bodyOf({ model: 'extra' }))).status).toBe(529);
  expect(await routesOf(world)).toContainEqual(expect.objectContaining({ model: 'extra', state: 'open' }));
  return world;
}

async function routesOf({ admin }: World): Promise<Json[]> {
  return (await admin('GET', '/providers/first'))['routes'] as Json[];
}

test('the service that a test takes has the usual settings and catalog, and providers without failures or requests', async () => {
  const before = await disturb();
  const startedCount = startedServices.inProcess;
  await using world = await sharedWorld();
  expect([world.url, startedServices.inProcess]).toEqual([before.url, startedCount]);
  expect([world.upstream.requests, world.second.requests]).toEqual([[], []]);
  expect((await routesOf(world)).filter(({ state }) => state !== 'ready')).toEqual([]);
  const { data: models } = (await world.admin('GET', '/models')) as { data: Json[] };
  const names = models.map(({ name }) => String(name));
  expect(names.filter((name) => !name.startsWith('sandbox-'))).toEqual(['paired', 'plain']);
  const { data: settings } = (await world.admin('GET', '/settings')) as { data: Json[] };
  expect(settings.filter(({ value, default: usual }) => !Bun.deepEquals(value, usual))).toEqual([]);
  const caller = await world.makeKey();
  for (let turn = 0; turn < 2; turn++) expect((await world.post(caller.secret, bodyOf())).status).toBe(200);
  await expectMoney(world, caller, [GOOD, GOOD]);
});

test('what a test scripts is reset for the next one', async () => {
  await using world = await sharedWorld();
  const caller = await world.makeKey();
  const statusOf = async () => (await world.post(caller.secret, bodyOf())).status;
  world.upstream.play(scripts.good(), scripts.overloaded());
  expect([await statusOf(), await statusOf()]).toEqual([200, 529]);
  world.reset();
  expect(world.upstream.requests).toEqual([]);
  expect(await statusOf()).toBe(200);
});
