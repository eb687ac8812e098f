// Hidden things: asks every route, as each role of accounts and without a token, and searches the answers for the names of a
// provider, an upstream model, a group and a multiplier.

import { beforeAll, expect, test } from 'bun:test';
import { z } from '@hono/zod-openapi';
import { makeRoutes } from '../../../src/admin-api/answer-requests.ts';
import { hideableOf, hideables } from '../../../src/catalog/visibility.ts';
import { eventTypes } from '../../../src/events/events.ts';
import { type Json, useKey } from './installation.ts';
import { type Cell, describe, objectsOfEveryKind, ownObject, plainCell, send } from './matrix/cells.ts';
import { type Operation, readDocument, readOperations } from './matrix/operations.ts';
import { valuesOfQuery } from './matrix/query-values.ts';
import { takeSnapshot } from './matrix/tables.ts';
import { makeWorld, principalNamed, restoreWorld, type World } from './matrix/world.ts';

const names = ['canary-provider', 'canary-upstream', 'canary-group', '1.234567', 'canary.example'];
const everything = { hidden_from_accounts: [...hideables] };

let world: World;
let operations: Operation[];
beforeAll(async () => {
  world = await makeWorld();
  const { installation, accountIds } = world;
  const { ask, stores } = installation;
  operations = readOperations(await readDocument(installation));
  const route = { provider: 'canary-provider', model: 'canary-upstream', cost: { input: '1', output: '2' } };
  await ask('POST', '/api/v1/apply', {
    document: {
      providers: { 'canary-provider': { kind: 'anthropic', base_url: 'https://canary.example', api_key: 'sk-1' } },
      models: { 'alpha-canary': { price: { input: '3', output: '15' }, routes: [route] } },
      groups: { 'canary-group': { models: ['alpha-canary'], multiplier: '1.234567' } },
      plans: {
        'alpha-plan': {
          title: 'Alpha',
          price: '10',
          windows: { day: '1' },
          groups: ['canary-group'],
          is_offered: true,
        },
      },
    },
  });
  await ask('PATCH', `/api/v1/accounts/${accountIds.alpha}`, { groups: ['alpha-group', 'sandbox', 'canary-group'] });
  for (const maker of ['owner of alpha', 'member 1 of alpha']) {
    const authorization = String(principalNamed(world, maker).authorization);
    const key = { account: accountIds.alpha, name: `canary of ${maker}`, groups: ['canary-group'] };
    const { body } = await ask('POST', '/api/v1/keys', key, { authorization });
    world.objects.push({
      ...{ kind: 'key', name: `canary of ${maker}`, id: String(body['id']), account: 'alpha' },
      ...{ maker, label: null, isRevoked: false },
    });
    const [requestId = ''] = await useKey(installation, body, 1, {
      ...{
        group: 'canary-group',
        model: 'alpha-canary',
        provider: 'canary-provider',
        upstreamModel: 'canary-upstream',
      },
      rates: {
        tier: 'standard',
        multiplier: '1.234567',
        input: '3',
        output: '15',
        cache_read: '3',
        cache_write_5m: '3',
        cache_write_1h: '3',
      },
      cost: 3_748_146,
      error: {
        code: 'upstream_rejected',
        message: 'canary-provider: canary-upstream is unknown, see https://canary.example/docs',
      },
      attempts: [
        {
          provider: 'canary-provider',
          model: 'canary-upstream',
          result: 'rejected',
          status: 400,
          ms: 3,
          reason: 'canary-upstream',
        },
      ],
    });
    world.objects.unshift({
      ...{ kind: 'usage', name: `canary of ${maker}`, id: requestId, account: 'alpha' },
      ...{ maker, label: null, isRevoked: false },
    });
  }
  world.snapshot = takeSnapshot(stores.tables);
});

const peopleOfAccounts = ['owner of alpha', 'member 1 of alpha', 'owner of echo', 'nobody', 'a key of bravo'];

/** Every route with every object, and with every value of every query parameter. */
function cellsOf(name: string): Cell[] {
  const principal = principalNamed(world, name);
  return operations.flatMap((operation) => {
    const plain = objectsOfEveryKind(world, operation, principal).map((object) =>
      plainCell(world, operation, principal, object),
    );
    const own = plainCell(world, operation, principal, ownObject(world, operation, principal));
    const asked = operation.queryParameters.flatMap((query) =>
      (valuesOfQuery(world, operation.name, query) ?? []).map(({ value }) => ({
        ...own,
        path: `${own.path}?${query}=${encodeURIComponent(value)}`,
      })),
    );
    return [...plain, ...asked];
  });
}

/** The names that the answers to this principal have, each with the requests. */
async function found(name: string): Promise<Map<string, string[]>> {
  const shown = new Map<string, string[]>();
  for (const cell of cellsOf(name)) {
    const { text } = await send(world.installation, cell);
    for (const one of names)
      if (text.includes(one)) shown.set(one, [...(shown.get(one) ?? []), `${describe(cell)}: ${text.slice(0, 200)}`]);
    if (cell.operation.method !== 'GET') await restoreWorld(world);
  }
  return shown;
}

async function hide(settings: Json): Promise<void> {
  const document = { settings: { sign_up: 'on', ...settings } };
  const { status, body } = await world.installation.ask('POST', '/api/v1/apply', { document });
  if (status !== 200) throw new Error(JSON.stringify(body));
  world.snapshot = takeSnapshot(world.installation.stores.tables);
}

test('account holders see providers, groups and multipliers as long as the operator hides nothing', async () => {
  const shown = await found('owner of alpha');
  expect([...shown.keys()].sort()).toEqual([...names].sort());
  const places = [
    '/exports/file?kind=records',
    '/exports/file?kind=focus',
    '/usage/totals?group_by=provider',
    '/audit',
    '/me',
  ];
  for (const place of places)
    expect([place, [...shown.values()].flat().some((cell) => cell.includes(`/api/v1${place}`))]).toEqual([place, true]);
});

test('no answer of any route names what is hidden from accounts', async () => {
  await hide(everything);
  for (const name of peopleOfAccounts) expect([name, [...(await found(name)).values()].flat()]).toEqual([name, []]);
});

test('operators and viewers see everything that is hidden from accounts', async () => {
  await hide(everything);
  for (const name of ['operator', 'viewer']) expect([...(await found(name)).keys()].sort()).toEqual([...names].sort());
});

test('what would tell whether a hidden name is right is refused for account holders, and for operators it is not', async () => {
  await hide(everything);
  const { ask } = world.installation;
  const owner = { authorization: String(principalNamed(world, 'owner of alpha').authorization) };
  const reads = [
    '/usage?provider=sandbox',
    '/usage/totals?group_by=provider',
    '/usage/totals?then_by=provider',
    '/exports/file?by=day,provider',
    '/accounts?group=sandbox',
  ];
  for (const path of reads) {
    expect([path, (await ask('GET', `/api/v1${path}`, undefined, owner)).status]).toEqual([path, 400]);
    expect([path, (await ask('GET', `/api/v1${path}`)).status]).toEqual([path, 200]);
  }
  const key = await ask('POST', '/api/v1/keys', { groups: ['sandbox'] }, owner);
  expect(JSON.stringify(key.body)).toContain('groups: is not available: the operator hides it from accounts');
});

test('without the multiplier, accounts see rates after it, and their receipts add up', async () => {
  await hide({ hidden_from_accounts: ['multiplier'] });
  const { ask } = world.installation;
  const owner = { authorization: String(principalNamed(world, 'owner of alpha').authorization) };
  const usage = world.objects.find(({ kind, name }) => kind === 'usage' && name.startsWith('canary'));
  const { body } = await ask('GET', `/api/v1/usage/${usage?.id}`, undefined, owner);
  const price = body['price'] as Json & { parts: Json[] };
  expect(body).toMatchObject({ group: 'canary-group', provider: 'canary-provider', rates: { input: '3.703701' } });
  expect(price).toMatchObject({ multiplier: null, after_rounding: '0.003748146', before_rounding: '0.003748145412' });
  expect(price.parts[0]).toMatchObject({ part: 'input', rate: '3.703701', amount: '0.0018518505' });
  const { body: models } = await ask('GET', '/api/v1/models', undefined, owner);
  const sold = (models['data'] as Json[]).find(({ name }) => name === 'alpha-canary');
  expect(sold).toMatchObject({ price: { input: '3.703701', output: '18.518505' } });
  const { body: seen } = await ask('GET', `/api/v1/usage/${usage?.id}`);
  expect(seen).toMatchObject({ rates: { input: '3', multiplier: '1.234567' }, price: { multiplier: '1.234567' } });
});

/** Members whose names could be those of something hidden, and are not. */
const HARMLESS = [
  /\.tags\./, // names of tags
  /\.unit(?:s|_costs)\./, // names of units and of their rates
  /\.claimed_groups$/, // of the directory
  /\.provider_cost$/, // null for accounts
  /\.rates\./, // without the multiplier if it is hidden
  /^event-type-list/, // the schemas of events
  /^search-show\.(?:groups|providers)\./, // groups of the catalog that the account sees, and providers for nobody of an account
];

test('every text of an answer to accounts that is named like something hidden is hidden', () => {
  const nothing = { people: {}, mailer: null, catalog: {} } as unknown as Parameters<typeof makeRoutes>[0];
  const hidden = { things: new Set(hideables), redact: () => '' };
  const left = makeRoutes(nothing).flatMap(({ config, strip }) => {
    const roles = (config as { 'x-roles'?: string[] })['x-roles'] ?? ['owner'];
    if (!roles.includes('owner') && !roles.includes('member')) return [];
    const { content = {} } = (config.responses[200] ?? config.responses[201]) as {
      content?: Record<string, { schema: unknown }>;
    };
    const sample = sampleOf(content['application/json']?.schema as z.ZodType | undefined);
    return membersOf(strip === null ? sample : strip(sample, hidden), String(config.operationId));
  });
  expect(left.filter((path) => !HARMLESS.some((one) => one.test(path)))).toEqual([]);
});

test('no event of accounts has a member that is named like something hidden', () => {
  const ofAccounts = Object.entries(eventTypes).filter(([, { audience }]) => audience === 'account');
  const named = ofAccounts.flatMap(([type, { data }]) =>
    Object.keys(data.shape)
      .filter((name) => hideableOf(name) !== null)
      .map((name) => `${type}.${name}`),
  );
  // Incidents of accounts have no provider: test/contract/admin-api/incidents.test.ts.
  expect(named).toEqual(['incident.opened.provider', 'incident.ended.provider']);
});

const WORD = 'canary';

/** A value of the schema with a word in every text. */
function sampleOf(schema: z.ZodType | undefined): unknown {
  if (schema instanceof z.ZodObject)
    return Object.fromEntries(
      Object.entries(schema.shape).map(([name, member]) => [name, sampleOf(member as z.ZodType)]),
    );
  if (schema instanceof z.ZodArray) return [sampleOf(schema.element as z.ZodType)];
  if (schema instanceof z.ZodRecord) return Object.fromEntries(NAMES.map((name) => [name, WORD]));
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) return sampleOf(schema.unwrap() as z.ZodType);
  return schema instanceof z.ZodString ? WORD : 0;
}

const NAMES = ['provider', 'group', 'upstream_model', 'multiplier'];
const SUSPICIOUS = /provider|upstream|group|multiplier|vendor|route/;

/** The paths of members that have the word and a suspicious name. */
function membersOf(value: unknown, path: string): string[] {
  if (Array.isArray(value)) return value.flatMap((member) => membersOf(member, path));
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([name, member]) => membersOf(member, `${path}.${name}`));
  return value === WORD && SUSPICIOUS.test(path.slice(path.indexOf('.'))) ? [path] : [];
}
