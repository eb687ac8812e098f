// Scheduled prices: planned with their effect on the last week, in force at their time, canceled before it, and reported.

import { beforeEach, describe, expect, test } from 'bun:test';
import { DAY_MS } from '../../../src/base/clock.ts';
import { watchPrices } from '../../../src/server/watch-prices.ts';
import { setBounds } from '../../support/set-bounds.ts';
import {
  errorOf,
  type Installation,
  type Json,
  makeAccount,
  makeInstallation,
  makeKey,
  NOW_MS,
  useKey,
} from './installation.ts';

const PATH = '/api/v1/price-changes';
const FROM = new Date(NOW_MS + DAY_MS).toISOString();
const DEARER = { input: '2', output: '10' };
let installation: Installation;
beforeEach(async () => {
  installation = await makeInstallation();
});

const schedule = (members: Json = {}) =>
  installation.ask('POST', PATH, { model: 'sandbox-echo', from: FROM, price: DEARER, ...members });
const cancel = (from = FROM, model = 'sandbox-echo') => installation.ask('POST', `${PATH}/cancel`, { model, from });
async function modelNamed(name: string): Promise<Json> {
  const models = (await installation.ask('GET', '/api/v1/models')).body['data'] as Json[];
  return models.find((model) => model['name'] === name) as Json;
}
const eventTypes = async () =>
  ((await installation.ask('GET', '/api/v1/events')).body['data'] as Json[]).map(({ type, data }) => [type, data]);

describe('a scheduled price', () => {
  test('is in force from its time on, not before, and is listed until then', async () => {
    expect((await schedule()).status).toBe(200);
    expect(await modelNamed('sandbox-echo')).toMatchObject({ price: { input: '1' }, price_changes: [{ from: FROM }] });
    expect((await installation.ask('GET', PATH)).body).toMatchObject({
      data: [{ model: 'sandbox-echo', changes: [{ from: FROM, input: '2', output: '10' }] }],
    });
    installation.clock.advance(DAY_MS - 1);
    expect(await modelNamed('sandbox-echo')).toMatchObject({ price: { input: '1' } });
    installation.clock.advance(1);
    expect(await modelNamed('sandbox-echo')).toMatchObject({
      price: { input: '2' },
      price_from: FROM,
      price_changes: [],
    });
    expect((await installation.ask('GET', PATH)).body).toEqual({ data: [] });
    expect(errorOf((await cancel()).body).code).toBe('conflict'); // it is in force
  });

  test('is canceled before its time, and then never in force', async () => {
    await schedule();
    expect((await cancel()).body).toMatchObject({ model: 'sandbox-echo', from: FROM, price: { input: '2' } });
    installation.clock.advance(2 * DAY_MS);
    expect(await modelNamed('sandbox-echo')).toMatchObject({ price: { input: '1' }, price_from: null });
    expect((await cancel()).status).toBe(404);
    expect((await cancel(FROM, 'none')).status).toBe(404);
  });

  test('changes nothing with dry_run', async () => {
    const { body } = await schedule({ dry_run: true });
    expect(body).toMatchObject({ model: 'sandbox-echo', from: FROM, dry_run: true, leaves_price_list: false });
    expect((await modelNamed('sandbox-echo'))['price_changes']).toEqual([]);
    expect(await eventTypes()).toEqual([]);
  });

  test('keeps its place among other versions', async () => {
    const later = new Date(NOW_MS + 3 * DAY_MS).toISOString();
    await schedule({ from: later, price: { input: '3', output: '3' } });
    await schedule();
    expect((await modelNamed('sandbox-echo'))['price_changes']).toMatchObject([{ from: FROM }, { from: later }]);
    await cancel();
    expect((await modelNamed('sandbox-echo'))['price_changes']).toMatchObject([{ from: later, input: '3' }]);
  });

  test('states the price of a model that followed the price list', async () => {
    const providers = { vendor: { kind: 'anthropic', base_url: 'https://api.example.com' } };
    const models = { 'claude-haiku-4-5': { catalogue: true, routes: [{ provider: 'vendor' }] } };
    await installation.ask('POST', '/api/v1/apply', { document: { providers, models } });
    const { body } = await schedule({ model: 'claude-haiku-4-5' });
    expect(body).toMatchObject({ leaves_price_list: true });
    expect(await modelNamed('claude-haiku-4-5')).toMatchObject({
      price: { input: '1', output: '5' },
      price_source: null,
    });
  });

  test('is refused in the past, twice for a time, for an unknown model, and with an invalid price', async () => {
    await schedule();
    const refused = async (members: Json) => {
      const { status, body } = await schedule(members);
      return [status, errorOf(body).code];
    };
    expect(await refused({})).toEqual([409, 'conflict']);
    expect(await refused({ from: new Date(NOW_MS).toISOString() })).toEqual([400, 'invalid_request']);
    expect(await refused({ model: 'none', from: '2027-01-01' })).toEqual([400, 'invalid_request']);
    expect(await refused({ from: '2027-01-01', price: { input: '-1', output: '2' } })).toEqual([
      400,
      'invalid_request',
    ]);
    expect(await refused({ from: '2027-01-01', price: { input: '1' } })).toEqual([400, 'invalid_request']);
    expect((await modelNamed('sandbox-echo'))['price_changes']).toHaveLength(1);
  });

  test('is audited and reported, and so is its cancellation', async () => {
    await schedule();
    await cancel();
    const { body } = await installation.ask('GET', '/api/v1/audit');
    expect((body['data'] as Json[]).slice(0, 2)).toMatchObject([
      { action: 'model.update', object: 'model sandbox-echo', after: { price_changes: [] } },
      { action: 'model.update', object: 'model sandbox-echo', after: { price_changes: [{ from: FROM }] } },
    ]);
    const data = { model: 'sandbox-echo', from: FROM, actor: 'local' };
    expect(await eventTypes()).toEqual([
      ['price.canceled', data],
      ['price.scheduled', data],
    ]);
  });

  test('of an applied file is reported, too', async () => {
    const routes = [{ provider: 'sandbox' }];
    const model = { price: DEARER, price_changes: [{ from: FROM, ...DEARER }], routes };
    await installation.ask('POST', '/api/v1/apply', { document: { models: { filed: model } } });
    expect(await eventTypes()).toEqual([['price.scheduled', { model: 'filed', from: FROM, actor: 'local' }]]);
  });

  test('is planned by operators only, and listed to the installation', async () => {
    const { id: account } = await makeAccount(installation);
    for (const members of [{ role: 'viewer' }, { role: 'owner', account }, { role: 'member', account }]) {
      const { token } = (await installation.ask('POST', '/api/v1/tokens', members)).body;
      const headers = { authorization: `Bearer ${token}` };
      const body = { model: 'sandbox-echo', from: FROM, price: DEARER };
      expect((await installation.ask('POST', PATH, body, headers)).status).toBe(403);
      expect((await installation.ask('POST', `${PATH}/cancel`, body, headers)).status).toBe(403);
      expect((await installation.ask('GET', PATH, undefined, headers)).status).toBe(
        members.role === 'viewer' ? 200 : 403,
      );
    }
  });
});

describe('the effect of a scheduled price', () => {
  const effectOf = async (members: Json = {}) => (await schedule({ dry_run: true, ...members })).body['effect'] as Json;

  test('is what each message of the last seven days would have cost, by group', async () => {
    const key = await makeKey(installation, (await makeAccount(installation))['id']);
    const rates = { tier: 'standard', multiplier: '1', input: '1', output: '5' };
    await useKey(installation, key, 5, { rates }); // eight days before
    installation.clock.advance(8 * DAY_MS);
    await useKey(installation, key, 3, { rates });
    await useKey(installation, key, 1, { rates, model: 'another' });
    await useKey(installation, key, 1, { rates: { ...rates, multiplier: '0.5' } });
    // Each message has a prompt of 512 tokens at 2, and 100 tokens of output at 10, in USD per million.
    expect(await effectOf({ from: new Date(NOW_MS + 9 * DAY_MS).toISOString() })).toMatchObject({
      messages: 4,
      billed: '0.004',
      billed_then: '0.007084',
      provider_cost: '0.0004',
      counted_since: null,
      not_sold: 0,
      groups: [
        { group: 'default', multiplier: '1', messages: 3, billed: '0.003', billed_then: '0.006072' },
        { group: 'default', multiplier: '0.5', messages: 1, billed: '0.001', billed_then: '0.001012' },
      ],
    });
  });

  test('is that of all messages on several pages, or of the newest as a sample of all', async () => {
    const key = await makeKey(installation, (await makeAccount(installation))['id']);
    await useKey(installation, key, 5, { rates: { tier: 'standard', multiplier: '1', input: '1', output: '5' } });
    using _page = setBounds({ pageItemsMax: 2 });
    const all = { all_messages: 5, all_billed: '0.005' };
    expect(await effectOf()).toMatchObject({ ...all, messages: 5, billed: '0.005', counted_since: null });
    using _most = setBounds({ priceEffectRecordsMax: 3 });
    expect(await effectOf()).toMatchObject({ ...all, messages: 4, billed: '0.004', counted_since: expect.any(String) });
  });

  test('counts messages in a tier that it does not have as not sold', async () => {
    const key = await makeKey(installation, (await makeAccount(installation))['id']);
    await useKey(installation, key, 2, { rates: { tier: 'fast', multiplier: '1', input: '1', output: '5' } });
    expect(await effectOf()).toMatchObject({ messages: 2, not_sold: 2, billed_then: '0' });
    const fast = { ...DEARER, fast: { input: '4', output: '20' } };
    expect(await effectOf({ price: fast })).toMatchObject({ not_sold: 0 });
  });

  test('of answers that were not billed is nothing', async () => {
    const key = await makeKey(installation, (await makeAccount(installation))['id']);
    await useKey(installation, key, 1, { cost: 0, rates: { tier: 'unbilled', multiplier: '1' } });
    expect(await effectOf()).toMatchObject({ messages: 1, billed: '0', billed_then: '0', not_sold: 0 });
  });
});

test('a price that has taken effect is reported once, for a day', async () => {
  await schedule();
  const catalog = () => installation.catalog.current;
  const { clock, stores } = installation;
  const inForce = async () => (await eventTypes()).filter(([type]) => type === 'price.changed');
  await watchPrices({ stores, catalog, clock });
  expect(await inForce()).toEqual([]);
  clock.advance(DAY_MS);
  await watchPrices({ stores, catalog, clock });
  await watchPrices({ stores, catalog, clock });
  expect(await inForce()).toEqual([['price.changed', { model: 'sandbox-echo', from: FROM }]]);
});
