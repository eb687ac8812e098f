// Searches of lists: the pickers of the console find the last of many objects by a part of its name.

import { beforeEach, expect, test } from 'bun:test';
import { type Installation, type Json, makeAccount, makeInstallation } from './installation.ts';

let installation: Installation;
beforeEach(async () => {
  installation = await makeInstallation();
});

async function namesAt(path: string, headers: Record<string, string> = {}): Promise<unknown[]> {
  const { body } = await installation.ask('GET', `/api/v1${path}`, undefined, headers);
  return (body['data'] as Json[]).map(({ name }) => name).sort();
}

async function fill(): Promise<Json> {
  const [one, other] = ['First-Vendor', 'last-vendor'];
  const price = { input: '1', output: '5' };
  const routes = [{ provider: one, model: 'sandbox-echo' }];
  await installation.ask('POST', '/api/v1/apply', {
    document: {
      providers: { [one]: { kind: 'sandbox' }, [other]: { kind: 'sandbox' } },
      models: {
        'fable-1': { display_name: 'Fable One', aliases: ['story'], price, routes },
        'saga-1': { display_name: 'Saga', price, routes },
      },
      groups: { fables: { models: ['fable-*'] }, sagas: { models: ['saga-*'] } },
      plans: {
        pro: { title: 'Professional', windows: { day: '1.00' } },
        lite: { title: 'Lite', windows: { day: '1.00' } },
      },
    },
  });
  return await makeAccount(installation, { groups: ['fables'] });
}

test('the catalog is searched by names, display names, aliases and titles, in upper or lower case', async () => {
  await fill();
  expect(await namesAt('/models?search=FABLE')).toEqual(['fable-1']);
  expect(await namesAt('/models?search=one')).toEqual(['fable-1']);
  expect(await namesAt('/models?search=stor')).toEqual(['fable-1']);
  expect(await namesAt('/models?groups=sagas')).toEqual(['saga-1']);
  expect(await namesAt('/models?groups=sagas,fables&search=-1')).toEqual(['fable-1', 'saga-1']);
  expect(await namesAt('/models?patterns=saga-*,fable-1')).toEqual(['fable-1', 'saga-1']);
  expect(await namesAt('/models?patterns=fable')).toEqual([]);
  expect(await namesAt('/models?groups=sagas,fables&serves=images')).toEqual([]);
  expect(await namesAt('/models?groups=sagas&serves=messages')).toEqual(['saga-1']);
  const { body } = await installation.ask('GET', '/api/v1/groups?search=SAGA');
  expect(body['data']).toEqual([expect.objectContaining({ name: 'sagas', model_count: 1 })]);
  expect(await namesAt('/groups?search=SAGA')).toEqual(['sagas']);
  expect(await namesAt('/providers?search=vendor')).toEqual(['First-Vendor', 'last-vendor']);
  expect(await namesAt('/providers?search=first')).toEqual(['First-Vendor']);
  expect(await namesAt('/plans?search=PROF')).toEqual(['pro']);
});

test('people and destinations are searched in their account only', async () => {
  const { id } = await fill();
  const other = await makeAccount(installation);
  const person = (account: unknown, email: string, name: string) =>
    installation.ask('POST', '/api/v1/people', { role: 'member', account, email, name });
  await person(id, 'ada@example.com', 'Ada');
  await person(id, 'grace@example.com', 'Grace');
  await person(other['id'], 'ada@example.org', 'Ada of others');
  expect(await namesAt('/people?search=ADA')).toEqual(['Ada', 'Ada of others']);
  expect(await namesAt(`/people?search=ada&account=${id}`)).toEqual(['Ada']);
  expect(await namesAt(`/people?search=grace@&account=${id}`)).toEqual(['Grace']);
  const destination = (account: unknown, name: string) =>
    installation.ask('POST', '/api/v1/destinations', {
      ...{ kind: 'webhook', account, name, types: ['*'] },
      address: `https://${name}.example.com/hook`,
    });
  await destination(id, 'alerts');
  await destination(other['id'], 'alerts-of-others');
  expect(await namesAt('/destinations?search=ALERTS')).toEqual(['alerts', 'alerts-of-others']);
  expect(await namesAt('/destinations?search=https%3A%2F%2Falerts.')).toEqual(['alerts']);
  const { body } = await installation.ask('POST', '/api/v1/tokens', { role: 'owner', account: id });
  const asOwner = { authorization: `Bearer ${body['token']}` };
  expect(await namesAt('/destinations?search=alerts', asOwner)).toEqual(['alerts']);
  expect(await namesAt('/people?search=ada', asOwner)).toEqual(['Ada']);
  expect(await namesAt('/models?search=1', asOwner)).toEqual(['fable-1']);
  expect(await namesAt('/groups?search=s', asOwner)).toEqual(['fables']);
});

test('the command palette finds models, groups and providers, as far as the principal sees them', async () => {
  const { id } = await fill();
  const found = async (text: string, headers = {}) => {
    const { body } = await installation.ask('GET', `/api/v1/search?text=${text}`, undefined, headers);
    return [body['models'], body['groups'], body['providers']];
  };
  expect(await found('saga')).toEqual([[{ name: 'saga-1', display_name: 'Saga' }], [{ name: 'sagas' }], []]);
  expect(await found('vendor')).toEqual([[], [], [{ name: 'First-Vendor' }, { name: 'last-vendor' }]]);
  const { body } = await installation.ask('POST', '/api/v1/tokens', { role: 'member', account: id });
  const asMember = { authorization: `Bearer ${body['token']}` };
  expect(await found('saga', asMember)).toEqual([[], [], []]);
  expect(await found('vendor', asMember)).toEqual([[], [], []]);
  expect(await found('fable', asMember)).toEqual([
    [{ name: 'fable-1', display_name: 'Fable One' }],
    [{ name: 'fables' }],
    [],
  ]);
});
