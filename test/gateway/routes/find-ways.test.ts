// Which ways there are for whom, also when what is sold changes before they are asked for.

import { expect, test } from 'bun:test';
import { resolveModel, withOwnCredentials } from '../../../src/catalog/catalog.ts';
import { Conversations, findWays, RouteHealth } from '../../../src/gateway/routes/routes.ts';
import { parseMessageRequest } from '../../../src/wire/wire.ts';
import { catalogueOf } from '../../catalog/support.ts';

const OWNER = 1;
const SHARED = { both: { api_key: 'sk-both' } };
const OWN = { own: { api_key: 'sk-own', account: 'acct_000000001' } };
const request = parseMessageRequest(
  new TextEncoder().encode(JSON.stringify({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] })),
);

function catalogueWith(credentials: object, models = ['one']) {
  return catalogueOf({
    providers: { p: { kind: 'anthropic', base_url: 'https://p.example', credentials } },
    models: { m: { price: { input: '1', output: '2' }, routes: models.map((model) => ({ provider: 'p', model })) } },
    groups: { default: { models: ['*'] } },
  });
}

function offerOf(catalogue: ReturnType<typeof catalogueWith>, account: number) {
  return resolveModel(catalogue, { account, groups: ['default'], keyModels: null }, 'm');
}

function begin() {
  return { health: new RouteHealth(() => 5), conversations: new Conversations(() => 0) };
}

function credentialsOf(
  catalogue: ReturnType<typeof catalogueWith>,
  offer: ReturnType<typeof offerOf>,
  account: number,
): unknown[] {
  const { candidates } = findWays(begin(), catalogue, { account, key: 1, offer, request });
  return candidates.map(({ credential }) => credential?.name);
}

test('where there is one way alone, no conversation is looked for', () => {
  const catalogue = catalogueWith(SHARED);
  const asked = { account: OWNER, key: 1, offer: offerOf(catalogue, OWNER), request };
  expect(findWays(begin(), catalogue, asked)).toMatchObject({ candidates: [{}], conversation: null });
  const two = catalogueWith(SHARED, ['one', 'two']);
  const ways = findWays(begin(), two, { ...asked, offer: offerOf(two, OWNER) });
  expect([ways.candidates.length, ways.conversation === null]).toEqual([2, false]);
});

test('each caller has the ways of its own, in whatever order they ask', () => {
  const catalogue = catalogueWith({ ...SHARED, ...OWN });
  for (const account of [OWNER, 2, OWNER, 2])
    expect(credentialsOf(catalogue, offerOf(catalogue, account), account)).toEqual(
      account === OWNER ? ['own'] : ['both'],
    );
});

test('a credential that was replaced since the offer was made is shown no more', () => {
  const before = catalogueWith(SHARED);
  const offer = offerOf(before, OWNER);
  expect(credentialsOf(before, offer, OWNER)).toEqual(['both']);
  expect(credentialsOf(catalogueWith({ fresh: { api_key: 'sk-fresh' } }), offer, OWNER)).toEqual(['fresh']);
  expect(credentialsOf(before, offer, OWNER)).toEqual(['both']);
});

test('what is stored at a provider is never asked for with another’s credential, also when one’s own was taken away', () => {
  const before = catalogueWith({ ...SHARED, ...OWN });
  const offer = withOwnCredentials(before, offerOf(before, OWNER), OWNER);
  if (offer === null) throw new Error('it has one of its own');
  expect(credentialsOf(before, offer, OWNER)).toEqual(['own']);
  expect(credentialsOf(catalogueWith(SHARED), offer, OWNER)).toEqual([]);
});
