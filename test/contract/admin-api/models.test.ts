// Models as the admin API shows them: costs and margins of their routes, and differences from the price list.

import { beforeEach, describe, expect, test } from 'bun:test';
import { errorOf, type Installation, type Json, makeAccount, makeInstallation } from './installation.ts';

const providers = { vendor: { kind: 'anthropic', base_url: 'https://api.example.com' } };
const rates = { input: '3', output: '15', cache_read: '0.3', cache_write_5m: '3.75', cache_write_1h: '6' };
const listed = { ...rates, web_search_per_thousand: '10' };

let installation: Installation;
beforeEach(async () => {
  installation = await makeInstallation();
});
const apply = (models: Json) => installation.ask('POST', '/api/v1/apply', { document: { providers, models } });
const differences = async () => (await installation.ask('GET', '/api/v1/models/differences')).body;
async function modelNamed(name: string): Promise<Json> {
  const models = (await installation.ask('GET', '/api/v1/models')).body['data'] as Json[];
  return models.find((model) => model['name'] === name) as Json;
}

describe('a route', () => {
  test('has an exact margin, which may be negative, and none if the cost is unknown', async () => {
    const route = (cost?: object) => ({ provider: 'vendor', model: 'm', ...(cost && { cost }) });
    const costs = [{ input: '2.999999999999', output: '10' }, { input: '3.5', output: '15' }, undefined];
    await apply({ sold: { price: listed, routes: costs.map(route) } });
    const { routes } = await modelNamed('sold');
    expect((routes as Json[]).map(({ margin }) => margin)).toEqual([
      { input: '0.000000000001', output: '5', group: 'default' },
      { input: '-0.5', output: '0', group: 'default' },
      null,
    ]);
    expect((routes as Json[])[2]?.['cost']).toBeNull();
  });

  test('has the margin of the group with the lowest multiplier that sells the model', async () => {
    const routes = [{ provider: 'vendor', cost: { input: '2.5', output: '10' } }];
    const groups = {
      cheap: { models: ['sold'], multiplier: '0.8' },
      cheaper: { models: ['other'], multiplier: '0.1' },
    };
    const document = { providers, models: { sold: { price: listed, routes } }, groups };
    await installation.ask('POST', '/api/v1/apply', { document });
    expect(await modelNamed('sold')).toMatchObject({
      routes: [{ margin: { input: '-0.1', output: '2', group: 'cheap' } }],
    });
  });

  test('at list price and list cost has a margin of zero', async () => {
    await apply({ 'claude-sonnet-4-6': { catalogue: true, routes: [{ provider: 'vendor', cost: 'catalogue' }] } });
    expect(await modelNamed('claude-sonnet-4-6')).toMatchObject({
      price: listed,
      price_source: { catalogue: '2026-11-20' },
      display_name: 'Claude Sonnet 4.6',
      max_output_tokens: 128_000,
      routes: [{ cost: listed, margin: { input: '0', output: '0', group: 'default' } }],
    });
    expect((await modelNamed('sandbox-echo'))['price_source']).toBeNull();
  });
});

describe('the differences from the price list', () => {
  test('are empty in a new installation, and the response has the date and source of the list', async () => {
    const body = await differences();
    expect(body).toMatchObject({ differences: [], unknown: [], retiring: [] });
    expect(body['price_lists']).toContainEqual({
      family: 'anthropic',
      as_of: '2026-11-20',
      source: expect.stringContaining('list prices in USD'),
    });
  });

  test('name the part, the configured value and the listed value, for prices and for costs', async () => {
    const routes = [{ provider: 'vendor', model: 'claude-haiku-4-5', cost: { ...listed, input: '1' } }];
    await apply({ 'claude-sonnet-4-6': { price: { ...listed, output: '20' }, routes } });
    const rows = (await differences())['differences'] as Json[];
    expect(rows[0]).toEqual({
      model: 'claude-sonnet-4-6',
      route: null,
      part: 'output',
      configured: '20',
      listed: '15',
      from: null,
      as_of: '2026-11-20',
      price_source: null,
    });
    expect(rows[1]).toMatchObject({
      route: 'vendor/claude-haiku-4-5',
      part: 'output',
      configured: '15',
      listed: '5',
    });
  });

  test('do not include models unknown to the price list, which are named separately', async () => {
    await apply({ llama: { price: listed, routes: [{ provider: 'vendor' }] } });
    expect(await differences()).toMatchObject({ differences: [], unknown: ['llama'] });
  });

  test('include routes with models that will be discontinued, with the date', async () => {
    await apply({ sold: { price: listed, routes: [{ provider: 'vendor', model: 'claude-sonnet-4-5' }] } });
    expect((await differences())['retiring']).toEqual([
      { model: 'sold', route: 'vendor/claude-sonnet-4-5', retires_on: '2026-11-30' },
    ]);
  });
});

test('a model that is not in the price list is refused with its place in the document', async () => {
  const { status, body } = await apply({ llama: { catalogue: true, routes: [{ provider: 'vendor' }] } });
  expect([status, errorOf(body).code]).toEqual([400, 'invalid_request']);
  expect(errorOf(body).faults?.map(({ path }) => path)).toEqual([['models', 'llama', 'catalogue']]);
});

test('owners see prices, but no routes, costs or price differences', async () => {
  await apply({ 'claude-sonnet-4-6': { catalogue: true, routes: [{ provider: 'vendor', cost: 'catalogue' }] } });
  const { id: account } = await makeAccount(installation);
  const { body } = await installation.ask('POST', '/api/v1/tokens', { role: 'owner', account });
  const ask = (path: string) => installation.ask('GET', path, undefined, { authorization: `Bearer ${body['token']}` });
  const models = (await ask('/api/v1/models')).body['data'] as Json[];
  expect(models.map(({ name, routes }) => [name, routes])).toEqual([
    ['claude-sonnet-4-6', []],
    ['sandbox-echo', []],
  ]);
  expect(models[0]).toMatchObject({ price: listed });
  const refused = await ask('/api/v1/models/differences');
  expect([refused.status, errorOf(refused.body).code]).toEqual([403, 'role_not_allowed']);
});
