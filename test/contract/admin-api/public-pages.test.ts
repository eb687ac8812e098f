// Public pages: what everyone can read once the operator allows it, what nobody can learn there, and what reading costs.

import { beforeEach, describe, expect, test } from 'bun:test';
import { DAY_MS } from '../../../src/base/clock.ts';
import { bounds } from '../../../src/config/config.ts';
import { facts, type NewIncident } from '../../../src/incidents/incidents.ts';
import { errorOf, type Installation, type Json, makeInstallation, NOW_MS } from './installation.ts';

const PAGES = ['landing', 'models', 'status', 'terms'];
const ON = {
  landing_title: 'Acme AI',
  landing_text: 'All **models**.',
  landing_links: ['Documentation: https://example.com/docs'],
  public_models: 'on',
  public_status: 'on',
  terms_of_service: 'Be kind.',
};

let installation: Installation;
beforeEach(async () => {
  installation = await makeInstallation();
  const hidden = { kind: 'anthropic', base_url: 'https://secret-vendor.example.com', api_key: 'sk-of-the-vendor' };
  const route = { provider: 'secret-vendor', model: 'upstream-name', cost: { input: '1', output: '2' } };
  const price = { input: '3', output: '15', cache_read: '0.3' };
  const model = { price, routes: [route] };
  const document = {
    providers: { 'secret-vendor': hidden },
    models: {
      'fable-2': model,
      'fable-1': { ...model, display_name: 'Fable 1', max_output_tokens: 64000 },
      inner: model,
    },
    groups: {
      default: { models: ['fable-*'], multiplier: '1.5' },
      inner: { models: ['inner'], multiplier: '0.5' },
    },
    settings: ON,
  };
  expect((await installation.ask('POST', '/api/v1/apply', { document })).status).toBe(200);
});

async function set(settings: Json): Promise<void> {
  expect((await installation.ask('POST', '/api/v1/apply', { document: { settings } })).status).toBe(200);
}

const read = (page: string, address?: string, headers: Record<string, string> = { authorization: '' }) =>
  installation.ask('GET', `/api/v1/public/${page}`, undefined, headers, address);

const incident = (model: string, beganAtMs: number, kind: 'model_failing' | 'provider_failing' = 'model_failing') => ({
  begin: {
    name: `${kind} ${model}`,
    account: null,
    beganAtMs,
    seenAtMs: beganAtMs,
    facts: facts(kind, 'critical', {
      model,
      models: [model],
      provider: 'secret-vendor',
      said: 'upstream-name is overloaded',
      requests: 7,
      mostAffected: [{ account: 7, requests: 7 }],
    }),
  } satisfies NewIncident,
});

async function end(model: string, endedAtMs: number): Promise<void> {
  const open = (await installation.stores.incidents.listOpenIncidents()).find(({ facts: of }) => of.model === model);
  if (open === undefined) throw new Error('there is no such incident');
  await installation.stores.incidents.changeIncidents([{ update: { ...open, endedAtMs } }]);
}

test('each page is missing until the operator allows it, and may be kept by caches then', async () => {
  for (const page of PAGES) {
    const { status, headers } = await read(page);
    expect([page, status, headers.get('cache-control')]).toEqual([page, 200, 'public, max-age=60']);
    expect([page, headers.get('set-cookie')]).toEqual([page, null]);
  }
  const { body } = await installation.ask('GET', '/api/v1/sign-in', undefined, { authorization: '' });
  expect(body['pages']).toEqual({ landing: true, models: true, status: true });
  await set({});
  for (const page of PAGES) {
    const { status, body, headers } = await read(page);
    expect([page, status, errorOf(body).code]).toEqual([page, 404, 'object_not_found']);
    expect([page, headers.get('cache-control')]).toEqual([page, 'no-store']);
  }
});

test('a page is the same for everyone, whatever token or session is sent', async () => {
  for (const page of PAGES) {
    const { body } = await read(page);
    for (const headers of [{}, { authorization: 'Bearer wrong' }, { authorization: '', cookie: 'session=person_x' }])
      expect([page, (await read(page, undefined, headers as Record<string, string>)).body]).toEqual([page, body]);
  }
});

describe('models and prices', () => {
  test('are those of the public group, by name, at the prices that its accounts pay', async () => {
    const rates = { input: '4.5', output: '22.5', cache_read: '0.45', cache_write_5m: '4.5', cache_write_1h: '4.5' };
    const unknown = { max_input_tokens: null, max_output_tokens: null };
    expect((await read('models')).body).toEqual({
      data: [
        {
          name: 'fable-1',
          display_name: 'Fable 1',
          serves: 'messages',
          price: rates,
          ...unknown,
          max_output_tokens: 64000,
        },
        { name: 'fable-2', display_name: 'fable-2', serves: 'messages', price: rates, ...unknown },
      ],
    });
    await set({ ...ON, public_group: 'inner' });
    expect((await read('models')).body).toMatchObject({ data: [{ name: 'inner', price: { input: '1.5' } }] });
    await set({ ...ON, public_group: 'none' });
    expect((await read('models')).body).toEqual({ data: [] });
  });

  test('leave out models over credentials of an account or another group', async () => {
    const { body } = await installation.ask('POST', '/api/v1/accounts', { name: 'acme' });
    const credentials = { own: { api_key: 'sk-of-acme', account: body['id'] } };
    const own = { kind: 'anthropic', base_url: 'https://own.example.com', credentials };
    const document = {
      providers: { own },
      models: { 'fable-own': { price: { input: '1', output: '1' }, routes: [{ provider: 'own' }] } },
    };
    expect((await installation.ask('POST', '/api/v1/apply', { document })).status).toBe(200);
    expect(JSON.stringify((await read('models')).body)).not.toContain('fable-own');
  });
});

describe('the status', () => {
  test('has open and recent incidents of models of the public group, and nothing else', async () => {
    const { incidents } = installation.stores;
    await incidents.changeIncidents([
      incident('fable-2', NOW_MS - 100 * DAY_MS),
      incident('fable-1', NOW_MS - 50 * DAY_MS),
      incident('inner', NOW_MS - 1_000),
      incident('fable-1', NOW_MS - 2_000, 'provider_failing'),
    ]);
    await end('fable-2', NOW_MS - 91 * DAY_MS);
    await end('fable-1', NOW_MS - 49 * DAY_MS);
    await incidents.changeIncidents([incident('fable-2', NOW_MS - 3_000)]);
    expect((await read('status')).body).toEqual({
      data: [
        { model: 'fable-2', display_name: 'fable-2', began_at: isoBefore(3_000), ended_at: null },
        {
          model: 'fable-1',
          display_name: 'Fable 1',
          began_at: isoBefore(50 * DAY_MS),
          ended_at: isoBefore(49 * DAY_MS),
        },
      ],
    });
  });

  test('is read from the store once in a while, however many ask, also while the store fails', async () => {
    const { incidents } = installation.stores;
    const { listOpenIncidents } = incidents;
    let reads = 0;
    incidents.listOpenIncidents = async () => {
      reads++;
      if (reads === 2) throw new Error('the store is broken');
      return listOpenIncidents();
    };
    const statuses = async () =>
      (await Promise.all(Array.from({ length: 20 }, () => read('status')))).map(({ status }) => status);
    expect(new Set(await statuses())).toEqual(new Set([200]));
    expect(reads).toBe(1);
    installation.clock.advance(bounds.publicStatusKeptMs);
    expect(new Set(await statuses())).toEqual(new Set([500]));
    expect(reads).toBe(2);
    installation.clock.advance(bounds.publicStatusKeptMs);
    expect(new Set(await statuses())).toEqual(new Set([200]));
    expect(reads).toBe(3);
  });
});

test('no page names a provider, an upstream model, a cost, a multiplier, an account or another group', async () => {
  await installation.ask('POST', '/api/v1/accounts', { name: 'private-account' });
  await installation.stores.incidents.changeIncidents([incident('fable-1', NOW_MS)]);
  for (const page of PAGES) {
    const text = JSON.stringify((await read(page)).body);
    for (const secret of ['secret-vendor', 'upstream-name', 'acct_', 'private-account', 'inner', 'multiplier', 'cost'])
      expect([page, text.includes(secret)]).toEqual([page, false]);
    expect([page, /"(?:group|provider|routes|requests|cause|message|id)"/.exec(text)]).toEqual([page, null]);
  }
});

test('a network that reads too often waits, others do not', async () => {
  const { publicReadsPerMinuteMax } = bounds;
  for (let count = 0; count < publicReadsPerMinuteMax; count++)
    expect((await read('terms', '192.0.2.1')).status).toBe(200);
  const refused = await read('models', '192.0.2.1'); // all pages together
  expect([refused.status, errorOf(refused.body).code]).toEqual([429, 'requests_rate_exceeded']);
  expect(refused.headers.get('retry-after')).toBe('60');
  expect((await read('terms', '198.51.100.1')).status).toBe(200);
  installation.clock.advance(60_000);
  expect((await read('models', '192.0.2.1')).status).toBe(200);
});

test('the landing page has the words of the operator', async () => {
  expect((await read('landing')).body).toEqual({
    title: 'Acme AI',
    text: 'All **models**.',
    links: [{ label: 'Documentation', url: 'https://example.com/docs' }],
  });
});

function isoBefore(ms: number): string {
  return new Date(NOW_MS - ms).toISOString();
}
