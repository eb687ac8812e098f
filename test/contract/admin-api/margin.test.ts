// The margin of a period and of the one before: its groups, why it changed, and who sees it.

import { beforeAll, expect, test } from 'bun:test';
import { DAY_MS } from '../../../src/base/clock.ts';
import {
  errorOf,
  type Installation,
  type Json,
  makeAccount,
  makeInstallation,
  makeKey,
  useKey,
} from './installation.ts';

let installation: Installation;
let key: Json;
let startMs: number;
let changedMs: number;
const model = 'sandbox-echo';

/** 20 days: in the second half the same traffic is cheaper for the group vip, and half of the rest takes a dearer route. */
beforeAll(async () => {
  installation = await makeInstallation();
  const { clock } = installation;
  startMs = clock.nowMs();
  await setMultiplier('1');
  key = await makeKey(installation, (await makeAccount(installation))['id']);
  const vip = { model, group: 'vip', cost: 1_000_000, providerCost: 400_000, provider: 'first' };
  const usual = { ...vip, group: 'default' };
  clock.advance(DAY_MS);
  await useKey(installation, key, 4, vip);
  await useKey(installation, key, 4, usual);
  clock.advance(9 * DAY_MS);
  changedMs = clock.nowMs();
  await setMultiplier('0.8');
  await useKey(installation, key, 4, { ...vip, cost: 800_000 });
  await useKey(installation, key, 2, usual);
  await useKey(installation, key, 2, { ...usual, provider: 'second', providerCost: 1_100_000 });
  await useKey(installation, key, 1, { ...usual, providerCost: null });
  clock.advance(DAY_MS);
});

const setMultiplier = (multiplier: string) =>
  installation.ask('POST', '/api/v1/apply', { document: { groups: { vip: { models: ['*'], multiplier } } } });

async function margin(query = ''): Promise<Json> {
  const [since, previous] = [changedMs, startMs].map((ms) => new Date(ms).toISOString());
  const { status, body } = await installation.ask(
    'GET',
    `/api/v1/usage/margin?since=${since}&previous_since=${previous}${query}`,
  );
  expect(status).toBe(200);
  return body;
}

test('the effects of a multiplier and of a fallback route add up to the change', async () => {
  const { total, previous, changes, is_previous_complete } = await margin();
  expect(previous).toMatchObject({
    messages: 8,
    revenue: '0.008',
    provider_cost: '0.0032',
    margin: '0.0048',
    margin_percent: 60,
  });
  expect(total).toMatchObject({
    messages: 8,
    revenue: '0.0072',
    provider_cost: '0.0046',
    margin: '0.0026',
    margin_percent: 36.11,
    revenue_without_margin: '0.001',
  });
  expect(is_previous_complete).toBe(true);
  expect(changes).toMatchObject([
    {
      effect: 'routes',
      amount: '-0.0014',
      parts: [
        { model, provider: 'first' },
        { model, provider: 'second' },
      ],
    },
    { effect: 'multiplier', amount: '-0.0008', parts: [{ group: 'vip', amount: '-0.0008' }] },
  ]);
});

test('groups are those of both periods, with both margins', async () => {
  const rows = async (groupBy: string, query = '') => {
    const data = (await margin(`&group_by=${groupBy}${query}`))['data'] as Json[];
    return data.map((row) => [row[groupBy], row['margin'], (row['previous'] as Json)['margin']]);
  };
  expect(await rows('group')).toEqual([
    ['default', '0.001', '0.0024'],
    ['vip', '0.0016', '0.0024'],
  ]);
  expect(await rows('provider')).toEqual([
    ['first', '0.0028', '0.0048'],
    ['second', '-0.0002', '0'],
  ]);
  expect(await rows('account')).toEqual([[key['account'], '0.0026', '0.0048']]);
  expect(await rows('key')).toEqual([[key['id'], '0.0026', '0.0048']]);
  expect(await rows('group', '&group=vip')).toEqual([['vip', '0.0016', '0.0024']]);
  expect((await margin('&group_by=tag&tag_name=team&limit=1'))['groups']).toBe(1);
});

test('a period before the first account is not complete', async () => {
  const since = new Date(startMs + 9 * DAY_MS).toISOString();
  const { body } = await installation.ask('GET', `/api/v1/usage/margin?since=${since}&previous_since=2026-01-01`);
  expect(body['is_previous_complete']).toBe(false);
});

test('wrong periods are refused, and accounts see no margin', async () => {
  const asked = async (query: string) =>
    errorOf((await installation.ask('GET', `/api/v1/usage/margin${query}`)).body).message;
  expect(await asked('?since=2030-01-01')).toBe('since: must be before until, and not in the future');
  expect(await asked('?since=2026-11-22&previous_until=2026-11-22')).toBe('previous_until: must be before since');
  expect(await asked('?since=2026-11-22&previous_since=2026-11-23')).toBe(
    'previous_since: must be before previous_until',
  );
  expect(await asked('?group_by=tag')).toBe('tag_name: is required to group by tag');
  const { body } = await installation.ask('POST', '/api/v1/tokens', {
    name: 'o',
    role: 'owner',
    account: key['account'],
  });
  const headers = { authorization: `Bearer ${body['token']}` };
  expect((await installation.ask('GET', '/api/v1/usage/margin', undefined, headers)).status).toBe(403);
});
