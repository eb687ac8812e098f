// Bounds of accounts count for the whole company: accounts below do not multiply them.

import { beforeEach, expect, test } from 'bun:test';
import { setBounds } from '../../support/set-bounds.ts';
import { ADDRESS, errorOf, type Installation, type Json, makeAccount, makeInstallation } from './installation.ts';

type Headers = Record<string, string>;

let installation: Installation;
let ask: Installation['ask'];
/** A company, its department, the department's team, and another company. */
let [company, department, team, other]: Json[] = [];
beforeEach(async () => {
  installation = await makeInstallation();
  ask = installation.ask;
  const below = (parent: Json | undefined, name: string) =>
    makeAccount(installation, { parent: parent?.['id'], pays_from: 'parent', credit: undefined, name });
  company = await makeAccount(installation, { name: 'company' });
  department = await below(company, 'department');
  team = await below(department, 'team');
  other = await makeAccount(installation, { name: 'other' });
});

async function ownerOf(account: Json | undefined): Promise<Headers> {
  const { body } = await ask('POST', '/api/v1/tokens', { role: 'owner', account: account?.['id'] });
  return { authorization: `Bearer ${body['token']}` };
}

const EXPORT = {
  ...{ kind: 'costs', every: 'month', target: 's3', s3_endpoint: 'https://s3.example.com', s3_bucket: 'finance' },
  ...{ s3_access_key_id: 'AKID', s3_secret_access_key: 'never-shown' },
};
const DESTINATION = { kind: 'webhook', address: 'https://example.com/hook', types: ['*'] };

test.each([
  ['exports', { exportsPerAccountMax: 2 }, EXPORT],
  ['destinations', { destinationsPerAccountMax: 2 }, DESTINATION],
] as const)(
  'the number of %s is that of a company, also over tokens of its accounts',
  async (name, changes, members) => {
    using _few = setBounds(changes);
    const create = async (account: Json | undefined, as: Headers) =>
      (await ask('POST', `/api/v1/${name}`, { ...members, account: account?.['id'] }, as)).status;
    const [ofCompany, ofTeam] = [await ownerOf(company), await ownerOf(team)];
    expect([await create(company, ofCompany), await create(department, ofCompany)]).toEqual([201, 201]);
    expect([await create(team, ofCompany), await create(team, ofTeam)]).toEqual([409, 409]);
    expect([await create(other, await ownerOf(other)), await create(team, {})]).toEqual([201, 201]);
  },
);

test('a company sends so much by hand in an hour, whichever of its accounts does', async () => {
  using _few = setBounds({ sentByHandPerHourMax: 2 });
  const made = await ask('POST', '/api/v1/exports', { ...EXPORT, account: team?.['id'] });
  const run = async (account: Json | undefined) =>
    (await ask('POST', `/api/v1/exports/${made.body['id']}/run`, {}, await ownerOf(account))).status;
  const hook = await ask('POST', '/api/v1/destinations', { ...DESTINATION, account: team?.['id'] });
  const tried = async (account: Json | undefined) =>
    (await ask('POST', `/api/v1/destinations/${hook.body['id']}/test`, {}, await ownerOf(account))).status;
  expect([await run(team), await tried(department), await tried(company)]).toEqual([200, 200, 429]);
});

test('one file at a time is made for a company, whichever token asks for it', async () => {
  const file = async (as: Headers) =>
    installation.api.fetch(new Request('http://127.0.0.1/api/v1/exports/file', { headers: as }), ADDRESS);
  const first = await file(await ownerOf(company));
  expect(first.status).toBe(200);
  for (const account of [company, department, team]) expect((await file(await ownerOf(account))).status).toBe(529);
  const second = await file(await ownerOf(other));
  expect(second.status).toBe(200);
  await Promise.all([first.text(), second.text()]);
  const next = await file(await ownerOf(team));
  expect(next.status).toBe(200);
  await next.body?.cancel();
});

test.each(['x', 'https://', 'ftp://s3.example.com', 'https://s3.example.com/path'])(
  'an export is not changed to an endpoint that is no address: %s',
  async (s3_endpoint) => {
    const { body: made } = await ask('POST', '/api/v1/exports', EXPORT);
    const { status, body } = await ask('PATCH', `/api/v1/exports/${made['id']}`, { s3_endpoint });
    expect([status, errorOf(body).faults?.[0]?.['path']]).toEqual([400, ['s3_endpoint']]);
  },
);
