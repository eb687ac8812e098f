// Credentials of providers by reference and identities in the console: the fields of each type, and creating and editing
// them in a real browser against a real service.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { linesOfChange } from '../../console/features/catalog/changes.ts';
import { batchMembers, batchValues } from '../../console/features/providers/batch-fields.tsx';
import {
  authName,
  credentialMembers,
  credentialValues,
  isCredentialField,
  wordsOfMember,
} from '../../console/features/providers/credential-fields.tsx';
import { furtherField, furtherMembers, furtherValues } from '../../console/features/providers/further-credentials.tsx';
import { startTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { chromium } from '../verify/clients/open-browser.ts';
import { findFaultsOfLooks } from './find-faults.ts';
import { visit } from './open-console.ts';
import { walkerFor } from './walk-pages.ts';

interface Written {
  auth?: { type: string };
  batches?: boolean;
  batch_cost?: string;
  fetch_urls?: string;
}
interface Catalogue {
  document: { providers: Record<string, Written> };
  provider_kinds: Parameters<typeof kindsByName>[0];
}
type AuthTypes = Parameters<typeof credentialMembers>[1];

const directory = realpathSync(mkdtempSync(join(tmpdir(), 'turnpike-console-credential-')));
const path = join(directory, 'vendor');
let turnpike: Turnpike;
let upstream: Bun.Server<undefined>;
beforeAll(async () => {
  writeFileSync(path, 'sk-in-the-file\n');
  turnpike = await startTurnpike(undefined, { TURNPIKE_CREDENTIAL_DIRECTORIES: directory });
  if (chromium === null) return;
  upstream = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request) =>
      ['sk-in-the-file', 'sk-typed'].includes(request.headers.get('x-api-key') ?? '')
        ? Response.json({ data: [{ id: 'claude-haiku-4-5' }], has_more: false })
        : Response.json({ type: 'error', error: { type: 'authentication_error', message: 'no' } }, { status: 401 }),
  });
});
afterAll(async () => {
  await upstream?.stop(true);
  await turnpike.stop();
  rmSync(directory, { recursive: true });
});

const kindsByName = (kinds: readonly { kind: string; auth_types: AuthTypes }[]) =>
  new Map(kinds.map(({ kind, auth_types }) => [kind, auth_types]));
const catalogue = async () => (await turnpike.admin('GET', '/catalogue')) as unknown as Catalogue;
const typesOf = async (kind: string) => kindsByName((await catalogue()).provider_kinds).get(kind) ?? [];
const provider = async (name: string) => await turnpike.admin('GET', `/providers/${name}`);

describe('the fields of a credential', () => {
  test('have a name, and each member a label and a hint, for every type that the service accepts', async () => {
    for (const { auth_types } of (await catalogue()).provider_kinds)
      for (const { type, members } of auth_types) {
        expect(authName(type)).not.toBe(type);
        for (const { name } of members)
          expect([type, name, wordsOfMember(type, name) as object]).toEqual([
            type,
            name,
            { label: expect.any(String), description: expect.stringMatching(/\S\.$/) },
          ]);
      }
  });

  test('survive the round trip from the applied document, without empty members', async () => {
    const auth = { type: 'aws_keys', access_key_id: 'AKIAIOSFODNN7EXAMPLE' };
    const types = await typesOf('bedrock');
    const values = credentialValues(auth);
    expect(credentialMembers(values, types)).toEqual({ auth });
    values.auth['role_arn'] = ' ';
    expect(credentialMembers({ ...values, api_key: ' secret ' }, types)).toEqual({ auth, api_key: 'secret' });
  });

  test('send a key only with types that take one', async () => {
    const types = await typesOf('anthropic');
    const values = { ...credentialValues({ type: 'file', path: '/x' } as { type: string }), api_key: 'sk-1' };
    expect(credentialMembers(values, types)).toEqual({ auth: { type: 'file', path: '/x' } });
    expect(credentialMembers({ ...credentialValues(), api_key: 'sk-1' }, types)).toEqual({ api_key: 'sk-1' });
    expect(isCredentialField('api_key', values, types)).toBe(false);
    expect(isCredentialField('auth.path', values, types)).toBe(true);
    expect(isCredentialField('auth.region', values, types)).toBe(false);
  });
});

test('a review says that a stored key is removed', () => {
  const change = { action: 'update' as const, kind: 'provider' as const, name: 'p', fields: ['api_key'] };
  const empty = { providers: {}, models: {}, groups: {}, plans: {}, agent_policies: {}, settings: {} };
  const lines = (after: object) => linesOfChange(change, empty, { document: { providers: { p: after } } });
  expect(lines({ auth: { type: 'file', path: '/x' } })).toMatchObject([{ isSecret: true, isRemoved: true }]);
  expect(lines({ api_key: 'sk-2' })[0]).not.toHaveProperty('isRemoved');
});

test('a review has each change of a further credential, and no key', () => {
  const before = {
    kept: { account: null, group: 'vip' },
    referred: { auth: { type: 'file', path: '/a' }, account: null, group: null },
    removed: { account: null, group: null },
  };
  const after = {
    kept: { account: null, group: null },
    referred: { api_key: 'sk-2', account: null, group: null },
    'new.one': { auth: { type: 'file', path: '/b' }, account: null, group: null },
  };
  const fields = ['kept', 'referred', 'removed', 'new.one'].map((name) => `credentials.${name}`);
  const change = { action: 'update' as const, kind: 'provider' as const, name: 'p', fields };
  const current = { providers: { p: { credentials: before } }, models: {}, groups: {}, plans: {}, settings: {} };
  const lines = linesOfChange(change, current as never, { document: { providers: { p: { credentials: after } } } });
  const shown = lines.map((line) => [line.member, line.isSecret ? (line.isRemoved ?? 'secret') : line.after]);
  expect(shown).toEqual([
    ['credentials.kept.group', null],
    ['credentials.referred.api_key', 'secret'],
    ['credentials.referred.auth.type', null],
    ['credentials.referred.auth.path', null],
    ['credentials.removed.api_key', true],
    ['credentials.new.one.auth.type', 'file'],
    ['credentials.new.one.auth.path', '/b'],
  ]);
});

test('batches that follow from the address are written only if they are changed, and members only where the kind needs them', () => {
  const values = batchValues({ kind: 'bedrock', private_network: false, batch_bucket: 's3://bucket' }, true);
  expect(values).toEqual({ batches: true, batch_bucket: 's3://bucket', batch_role: '' });
  expect(batchMembers(values, [], false)).toEqual({});
  expect(batchMembers({ ...values, batches: false }, [], true)).toEqual({ batches: false });
  const changed = { ...values, batch_bucket: '', batch_role: ' arn:aws:iam::123456789012:role/r ' };
  expect(batchMembers(changed, ['batch_bucket', 'batch_role'], false)).toEqual({
    batch_bucket: undefined,
    batch_role: 'arn:aws:iam::123456789012:role/r',
  } as never);
});

test('a fault of a further credential belongs to its field', async () => {
  const types = await typesOf('anthropic');
  const written = { 'a.b': { auth: { type: 'file', path: '/x' } as never, account: null, group: 'vip' } };
  const further = furtherValues({ a: { account: null, group: null }, ...written });
  const fieldOf = (field: string) => furtherField(`credentials.${field}`, further, types);
  expect(fieldOf('a')).toBe('further.0.name');
  expect(fieldOf('a.api_key')).toBe('further.0.api_key');
  expect(fieldOf('a.b.auth.path')).toBe('further.1.auth.path');
  expect(fieldOf('a.b.group')).toBe('further.1.group');
  expect(fieldOf('a.b.api_key')).toBeNull(); // a file takes none
  expect(furtherMembers(further, types)).toEqual({
    a: { account: null, group: null },
    'a.b': { auth: { type: 'file', path: '/x' }, account: null, group: 'vip' },
  });
});

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const box = (page: Page, name: string) => page.getByRole('textbox', { name });

async function visitAsOperator() {
  const { token } = await turnpike.admin('POST', '/tokens', { role: 'operator' });
  return await visit({ url: turnpike.url, token: String(token) });
}

/** The text that describes the field to assistive technology: its hint and its fault. */
async function describedBy(page: Page, name: string): Promise<string> {
  const ids = (await box(page, name).getAttribute('aria-describedby')) ?? '';
  const texts = await Promise.all(ids.split(/\s+/).map((id) => page.locator(`[id="${id}"]`).textContent()));
  return texts.join(' ');
}

test.skipIf(chromium === null)(
  'a provider is created with a key in a file, and changed to a typed key and back',
  async () => {
    await using visitor = await visitAsOperator();
    const { page } = visitor;
    const walker = walkerFor(page, turnpike.url);
    await visitor.goTo('/providers/new');
    await press(page, 'Next: Anthropic');
    await press(page, 'Use another address');
    await box(page, 'Address').fill(upstream.url.origin);
    await page.getByRole('switch', { name: 'Private network' }).click();
    const credential = page.getByRole('combobox', { name: 'Credential' });
    expect(await credential.locator('option').allInnerTexts()).not.toContain('AWS access key');
    await credential.selectOption('From a file');
    expect(await box(page, 'API key').count()).toBe(0);
    await box(page, 'File path').fill('/etc/shadow');
    await press(page, 'Save and test');
    await page.getByText(/is not below the directories/).waitFor();
    expect(await describedBy(page, 'File path')).toContain('/etc/shadow is not below the directories');
    await walker.settle();
    expect(await findFaultsOfLooks(page, walker)).toEqual([]);

    await box(page, 'File path').fill(path);
    await press(page, 'Save and test');
    await page.getByText('It lists 1 model.').waitFor();
    expect((await catalogue()).document.providers['anthropic']).toMatchObject({ auth: { type: 'file', path } });

    await visitor.goTo('/providers/anthropic');
    await page.getByText('From a file').waitFor();
    await press(page, 'Edit');
    expect(await credential.inputValue()).toBe('file');
    expect(await box(page, 'File path').inputValue()).toBe(path);
    await credential.selectOption('API key');
    await box(page, 'API key').fill('sk-typed');
    await press(page, 'Review changes');
    const review = page.getByRole('dialog', { name: 'Review changes' });
    await review.getByText('auth.type').waitFor();
    await press(page, 'Save changes');
    await review.waitFor({ state: 'detached' });
    expect(await provider('anthropic')).toMatchObject({ credentials: [{ name: 'default', auth: null }] });
    expect(await turnpike.admin('POST', '/providers/anthropic/test', {})).toMatchObject({ ok: true });

    await press(page, 'Edit');
    await credential.selectOption('From a file');
    await box(page, 'File path').fill(path);
    await page.getByRole('switch', { name: 'Batches' }).click();
    await press(page, 'Review changes');
    await review.getByText('auth.type').waitFor();
    expect(await review.getByRole('row').allInnerTexts()).toContain('api_key\thidden\tnot set');
    await walker.settle();
    expect(await findFaultsOfLooks(page, walker)).toEqual([]);
    await press(page, 'Save changes');
    await review.waitFor({ state: 'detached' });
    const credentials = [{ name: 'default', auth: 'file' }];
    expect(await provider('anthropic')).toMatchObject({ credentials, batches: true });
    expect(await page.content()).not.toMatch(/sk-in-the-file|sk-typed/);
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)(
  'settings of batches and web addresses are shown, survive an edit and can be changed',
  async () => {
    const address = { base_url: upstream.url.origin, private_network: true, api_key: 'sk-typed' };
    const batched = { kind: 'anthropic', ...address, batches: true, batch_cost: '0.4', fetch_urls: 'public' };
    await turnpike.admin('POST', '/apply', { document: { providers: { batched } } });
    await using visitor = await visitAsOperator();
    const { page } = visitor;
    const walker = walkerFor(page, turnpike.url);
    const chosen = (name: string) => page.getByRole('combobox', { name });
    const batchSwitch = page.getByRole('switch', { name: 'Batches' });
    const review = page.getByRole('dialog', { name: 'Review changes' });
    const save = async (...changed: string[]) => {
      await press(page, 'Review changes');
      for (const name of changed) await review.getByText(name, { exact: true }).waitFor();
      expect(await review.locator('tbody').getByRole('row').count()).toBe(changed.length);
      await press(page, 'Save changes');
      await review.waitFor({ state: 'detached' });
    };
    await visitor.goTo('/providers/batched');
    await page.getByText('Run by the provider, at 0.4 of its price').waitFor();
    await page.getByText('Fetched from the internet').waitFor();
    await press(page, 'Edit');
    expect(await batchSwitch.isChecked()).toBe(true);
    expect(await box(page, 'Batch cost').inputValue()).toBe('0.4');
    expect(await chosen('Web addresses in requests').inputValue()).toBe('public');
    await walker.settle();
    expect(await findFaultsOfLooks(page, walker)).toEqual([]);
    await page.getByRole('switch', { name: 'Private network' }).click();
    await page.getByRole('switch', { name: 'Private network' }).click();
    await batchSwitch.click();
    await save('batches');
    const kept = { batches: false, batch_cost: '0.4', fetch_urls: 'public' };
    expect((await catalogue()).document.providers['batched']).toMatchObject(kept);
    await press(page, 'Edit');
    await batchSwitch.click();
    await box(page, 'Batch cost').fill('twice');
    await press(page, 'Review changes');
    await page.getByText(/must be a decimal/).waitFor();
    await box(page, 'Batch cost').fill('');
    await chosen('Web addresses in requests').selectOption('Left to the provider');
    await save('batches', 'batch_cost', 'fetch_urls');
    const { batches, batch_cost, fetch_urls } = (await catalogue()).document.providers['batched'] ?? {};
    expect([batches, batch_cost, fetch_urls]).toEqual([true, undefined, undefined]);
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)('a provider’s page says why a credential cannot be read', async () => {
  const lost = join(directory, 'lost');
  const address = { base_url: upstream.url.origin, private_network: true };
  const vendor = { kind: 'anthropic', ...address, auth: { type: 'file', path } };
  const credentials = { acme: { auth: { type: 'file', path: lost }, group: 'default' } };
  await turnpike.admin('POST', '/apply', { document: { providers: { vendor: { ...vendor, credentials } } } });
  await turnpike.admin('POST', '/providers/vendor/test', {}); // reads each credential at once
  await using visitor = await visitAsOperator();
  const { page } = visitor;
  const walker = walkerFor(page, turnpike.url);
  await visitor.goTo('/providers/vendor');
  await page.getByText('Not readable').waitFor();
  await page.getByText(`the file ${lost} does not exist`).waitFor();
  expect(await page.getByText('From a file').count()).toBe(2);
  await walker.settle();
  expect(await findFaultsOfLooks(page, walker)).toEqual([]);
  expect(visitor.problems).toEqual([]);
});

test.skipIf(chromium === null)('further credentials are added, edited and removed, and keep their keys', async () => {
  const address = { base_url: upstream.url.origin, private_network: true };
  const credentials = { acme: { api_key: 'sk-typed', group: 'default' }, old: { api_key: 'sk-typed' } };
  const many = { kind: 'anthropic', ...address, auth: { type: 'file', path }, credentials };
  await turnpike.admin('POST', '/apply', { document: { providers: { many } } });
  await using visitor = await visitAsOperator();
  const { page } = visitor;
  const walker = walkerFor(page, turnpike.url);
  const credential = (name: string) => page.getByRole('group', { name: `Credential ${name}`, exact: true });
  await visitor.goTo('/providers/many');
  await press(page, 'Edit');
  await credential('acme').getByLabel('Group').click();
  await page.getByRole('option', { name: 'All groups' }).click();
  expect(await credential('acme').getByLabel('New API key').inputValue()).toBe('');
  await credential('old').getByRole('button', { name: 'Remove credential' }).click();
  await press(page, 'Add credential');
  await credential('2').getByLabel('Name').fill('acme');
  await press(page, 'Review changes');
  await page.getByText('Another credential has this name.').waitFor();
  await credential('acme').last().getByLabel('Name').fill('vip');
  await press(page, 'Review changes');
  await credential('vip').getByText('API key is required: no credential of this name is stored.').waitFor();
  await credential('vip').getByLabel('Credential').selectOption('From a file');
  await credential('vip').getByLabel('File path').fill('/etc/shadow');
  await press(page, 'Review changes');
  await credential('vip').getByText('/etc/shadow is not below the directories').waitFor();
  await walker.settle();
  expect(await findFaultsOfLooks(page, walker)).toEqual([]);
  await credential('vip').getByLabel('File path').fill(path);
  await press(page, 'Review changes');
  const review = page.getByRole('dialog', { name: 'Review changes' });
  await review.waitFor();
  expect((await review.getByRole('row').allInnerTexts()).slice(1).toSorted()).toEqual([
    'credentials.acme.group\tdefault\tnot set',
    'credentials.old.api_key\thidden\tnot set',
    `credentials.vip.auth.path\tnot set\t${path}`,
    'credentials.vip.auth.type\tnot set\tfile',
  ]);
  await press(page, 'Save changes');
  await review.waitFor({ state: 'detached' });
  const of = { account: null, group: null };
  expect((await catalogue()).document.providers['many']).toMatchObject({
    credentials: { acme: of, vip: { ...of, auth: { type: 'file', path } } },
  });
  expect(await turnpike.admin('POST', '/providers/many/test', {})).toMatchObject({
    ok: true,
    credentials: [
      { name: 'default', ok: true },
      { name: 'acme', ok: true },
      { name: 'vip', ok: true },
    ],
  });
  expect(visitor.problems).toEqual([]);
});

test.skipIf(chromium === null)(
  'an identity shows the label of its secret, and keeps a stored one; another provider at its cloud gets a bucket for batches',
  async () => {
    const auth = { type: 'aws_keys', access_key_id: 'AKIAIOSFODNN7EXAMPLE' };
    const bedrock = { kind: 'bedrock', region: 'us-east-1', auth, api_key: 'secret-access-key' };
    await turnpike.admin('POST', '/apply', { document: { providers: { bedrock } } });
    await using visitor = await visitAsOperator();
    const { page } = visitor;
    await visitor.goTo('/providers/bedrock');
    await press(page, 'Edit');
    await box(page, 'Access key ID').fill('no key');
    await press(page, 'Review changes');
    await page.getByText('must be the id of an access key').waitFor();
    await box(page, 'Access key ID').fill('AKIAIOSFODNN7ANOTHER');
    expect(await describedBy(page, 'New secret access key')).toContain('Leave empty to keep the stored secret.');
    await press(page, 'Review changes');
    const review = page.getByRole('dialog', { name: 'Review changes' });
    await review.waitFor();
    expect(await review.getByRole('row').allInnerTexts()).toEqual([
      'Field\tCurrent\tNew',
      'auth.access_key_id\tAKIAIOSFODNN7EXAMPLE\tAKIAIOSFODNN7ANOTHER',
    ]);
    await press(page, 'Save changes');
    await review.waitFor({ state: 'detached' });
    expect((await catalogue()).document.providers['bedrock']).toMatchObject({
      auth: { type: 'aws_keys', access_key_id: 'AKIAIOSFODNN7ANOTHER' },
    });

    const walker = walkerFor(page, turnpike.url);
    await page.getByRole('link', { name: 'Providers', exact: true }).first().click();
    await page.getByRole('link', { name: 'Create provider' }).click();
    await press(page, 'Next: Amazon Bedrock');
    await box(page, 'Name').fill('jobs');
    await box(page, 'Region').fill('us-east-1');
    await press(page, 'Use another address');
    await box(page, 'Address').fill(upstream.url.origin);
    await page.getByRole('switch', { name: 'Private network' }).click();
    await page.getByRole('combobox', { name: 'Credential' }).selectOption('AWS access key');
    await box(page, 'Access key ID').fill('AKIAIOSFODNN7EXAMPLE');
    await box(page, 'Secret access key').fill('secret-access-key');
    expect(await box(page, 'Batch bucket').count()).toBe(0);
    await page.getByRole('switch', { name: 'Batches' }).click();
    await box(page, 'Batch role').fill('arn:aws:iam::123456789012:role/batches');
    await press(page, 'Save and test');
    await page.getByText(/batches of the kind bedrock need it/).waitFor();
    expect(await describedBy(page, 'Batch bucket')).toContain('Batch bucket is required');
    await walker.settle();
    expect(await findFaultsOfLooks(page, walker)).toEqual([]);
    await box(page, 'Batch bucket').fill('s3://bucket/prefix');
    await press(page, 'Save and test');
    await page.getByText('Test failed').waitFor(); // it is no Bedrock
    expect((await catalogue()).document.providers['jobs']).toMatchObject({
      batches: true,
      batch_bucket: 's3://bucket/prefix',
      batch_role: 'arn:aws:iam::123456789012:role/batches',
    });
    expect(visitor.problems).toEqual([]);
  },
);
