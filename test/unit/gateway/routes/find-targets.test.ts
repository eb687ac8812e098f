// The targets for each caller, also while the catalog changes.

import { expect, test } from 'bun:test';
import { resolveModel, withOwnCredentials } from '../../../../src/catalog/catalog.ts';
import { Conversations } from '../../../../src/gateway/conversations.ts';
import { RouteHealth, type Target } from '../../../../src/gateway/route-health.ts';
import { findTargets } from '../../../../src/gateway/targets.ts';
import { parseMessageRequest } from '../../../../src/wire/wire.ts';
import { catalogOf } from '../../catalog/support.ts';

const OWNER = 1;
const SHARED = { both: { api_key: 'sk-both' } };
const OWN = { own: { api_key: 'sk-own', account: 'acct_000000001' } };
const request = parseMessageRequest(
  new TextEncoder().encode(JSON.stringify({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] })),
);

function catalogWith(credentials: object, models = ['one']) {
  return catalogOf({
    providers: { p: { kind: 'anthropic', base_url: 'https://p.example', credentials } },
    models: { m: { price: { input: '1', output: '2' }, routes: models.map((model) => ({ provider: 'p', model })) } },
    groups: { default: { models: ['*'] } },
  });
}

function offerOf(catalog: ReturnType<typeof catalogWith>, account: number) {
  return resolveModel(catalog, { account, groups: ['default'], keyModels: null }, 'm');
}

function begin() {
  return { health: new RouteHealth(() => 5), conversations: new Conversations(() => 0) };
}

function credentialsOf(
  catalog: ReturnType<typeof catalogWith>,
  offer: ReturnType<typeof offerOf>,
  account: number,
): unknown[] {
  const { targets } = findTargets(begin(), catalog, { account, key: 1, offer, request });
  return targets.map(({ credential }) => credential?.name);
}

test('with a single target no conversation is looked up', () => {
  const catalog = catalogWith(SHARED);
  const admissionRequest = { account: OWNER, key: 1, offer: offerOf(catalog, OWNER), request };
  expect(findTargets(begin(), catalog, admissionRequest)).toMatchObject({ targets: [{}], conversation: null });
  const two = catalogWith(SHARED, ['one', 'two']);
  const ways = findTargets(begin(), two, { ...admissionRequest, offer: offerOf(two, OWNER) });
  expect([ways.targets.length, ways.conversation === null]).toEqual([2, false]);
});

test('each caller gets its own targets, in whatever order they are requested', () => {
  const catalog = catalogWith({ ...SHARED, ...OWN });
  for (const account of [OWNER, 2, OWNER, 2])
    expect(credentialsOf(catalog, offerOf(catalog, account), account)).toEqual(account === OWNER ? ['own'] : ['both']);
});

test('a replaced credential is no longer used', () => {
  const before = catalogWith(SHARED);
  const offer = offerOf(before, OWNER);
  expect(credentialsOf(before, offer, OWNER)).toEqual(['both']);
  expect(credentialsOf(catalogWith({ fresh: { api_key: 'sk-fresh' } }), offer, OWNER)).toEqual(['fresh']);
  expect(credentialsOf(before, offer, OWNER)).toEqual(['both']);
});

test('an object stored at a provider is never requested with another credential, even if the account’s own credential was removed', () => {
  const before = catalogWith({ ...SHARED, ...OWN });
  const offer = withOwnCredentials(before, offerOf(before, OWNER), OWNER);
  if (offer === null) throw new Error('the account has its own credential');
  expect(credentialsOf(before, offer, OWNER)).toEqual(['own']);
  expect(credentialsOf(catalogWith(SHARED), offer, OWNER)).toEqual([]);
});

test('a refusal in one service tier closes no route of another', () => {
  const catalog = catalogWith(SHARED);
  const parts = begin();
  const targetIn = (tier?: 'flex') => {
    const offer = { ...offerOf(catalog, OWNER), ...(tier !== undefined && { tier }) };
    return findTargets(parts, catalog, { account: OWNER, key: 1, offer, request }).targets[0] as Target;
  };
  const flex = targetIn('flex');
  parts.health.enter(flex)?.failed('rate_limited', 60_000);
  expect(parts.health.breakerState(targetIn('flex'))).toBe('resting');
  expect(parts.health.breakerState(targetIn())).toBe('ready');
  expect(parts.health.list()).toEqual([]); // one line for a model and credential: that of the standard tier
});
