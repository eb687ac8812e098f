// An unknown model and a model out of scope get the same error, with status 400.

import { afterAll, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, expectError, expectMoney, expectNoTrace, GOOD, type Json, startWorld } from './world.ts';

const price = { input: '3', output: '15' };
const routes = [{ provider: 'first', model: 'upstream-model' }];
const world = await startWorld({
  models: { 'claude-a': { price, routes, aliases: ['best'] }, 'claude-b': { price, routes }, other: { price, routes } },
  groups: {
    cheap: { models: ['claude-*'], multiplier: '0.5' },
    full: { models: ['*'], multiplier: '2' },
  },
});
afterAll(() => world.stop());

/** Requests a model with a key of these limits; resolves to the status, and checks the charge. */
async function ask(model: string, key: Json, account: Json = {}, expected: Json = {}): Promise<number> {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey(account, key);
  const response = await world.post(caller.secret, bodyOf({ model }));
  if (response.status === 200) await expectMoney(world, caller, [{ input_tokens: 25, ...expected }]);
  else {
    const message = await expectError(response, 400, 'not_found_error', 'model_not_found');
    expect(message).toBe(`model: ${model}: the model does not exist, or this key does not have access to it`);
    await expectNoTrace(world, caller);
  }
  return response.status;
}

test('an unknown model is 400 model_not_found', async () => {
  for (const model of ['claude-z', 'PLAIN', 'plain ', '*', '__proto__', 'upstream-model']) {
    expect(await ask(model, {})).toBe(400);
  }
});

test('a model outside the key’s patterns gets the same error', async () => {
  expect(await ask('plain', { models: ['claude-*'] })).toBe(400);
  expect(await ask('claude-a', { models: ['claude-*'] })).toBe(200);
  expect(await ask('claude-a', { models: ['plain', 'claude-b'] })).toBe(400);
  expect(await ask('claude-b', { models: ['plain', 'claude-b'] })).toBe(200);
});

test('an alias stands for its model: scopes and records use the model’s own name', async () => {
  expect(await ask('best', { models: ['claude-*'] }, {}, { model: 'claude-a' })).toBe(200);
  expect(await ask('best', { models: ['best'] })).toBe(400);
  expect(await ask('plain-latest', {}, {}, { ...GOOD, model: 'plain' })).toBe(200);
});

test('a model outside the groups is out of scope', async () => {
  expect(await ask('plain', {}, { groups: ['cheap'] })).toBe(400);
  expect(await ask('plain', {}, { groups: ['sandbox'] })).toBe(400);
  expect(await ask('plain', { groups: ['cheap'] }, { groups: ['cheap', 'full'] })).toBe(400);
});

test('the first group that offers the model sells it', async () => {
  const both = { groups: ['cheap', 'full'] };
  const turned = { groups: ['full', 'cheap'] };
  // 255 millionths, halved or doubled.
  expect(await ask('claude-a', {}, both, { group: 'cheap', cost: '0.0001275' })).toBe(200);
  expect(await ask('plain', {}, both, { group: 'full', cost: '0.00051' })).toBe(200);
  expect(await ask('claude-a', turned, both, { group: 'full', cost: '0.00051' })).toBe(200);
  expect(await ask('claude-a', {}, turned, { group: 'full', cost: '0.00051' })).toBe(200);
});

test('a group removed from an account is immediately unavailable to its keys', async () => {
  const caller = await world.makeKey({ groups: ['cheap', 'full'] }, { groups: ['full'] });
  expect((await world.post(caller.secret, bodyOf())).status).toBe(200);
  await world.admin('PATCH', `/accounts/${caller.account}`, { groups: ['cheap'] });
  await expectError(await world.post(caller.secret, bodyOf()), 400, 'not_found_error', 'model_not_found');
  await expectMoney(world, caller, [{ cost: '0.00051' }]);
});

test('models and prices are those of the file that was applied last', async () => {
  const caller = await world.makeKey();
  const apply = (document: object, prune = false) => world.admin('POST', '/apply', { document, prune });
  await apply({ models: { fleeting: { price, routes } } });
  world.upstream.play(scripts.good());
  expect((await world.post(caller.secret, bodyOf({ model: 'fleeting' }))).status).toBe(200);
  await apply({ models: { fleeting: { price: { input: '6', output: '30' }, routes } } });
  expect((await world.post(caller.secret, bodyOf({ model: 'fleeting' }))).status).toBe(200);
  await expectMoney(world, caller, [{ cost: '0.00051' }, { cost: '0.000255' }]);
});
