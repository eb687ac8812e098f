// Every picker of the console: its options are always the same, or the service searches them, so that the last of thousands is found.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { projectFiles, readText } from '../sources.ts';
import { chromium } from '../verify/clients/open-browser.ts';
import { openConsole } from './open-console.ts';

/** More than a page of any list. */
const ROWS = 1_010;
/** More than a picker shows at once, where each is created by a request of its own. */
const FEW_ROWS = 60;
const LAST = 'zz-last';

const names = (count: number) => [...Array.from({ length: count }, (_, at) => `aa-${at}`), LAST];

const opened = openConsole(0, async (turnpike, { accounts: { acme } }) => {
  const all = names(ROWS);
  const price = { input: '1', output: '5' };
  const upstream = { kind: 'anthropic', base_url: 'http://127.0.0.1:9', private_network: true, api_key: 'sk-x' };
  const routes = [{ provider: LAST, model: 'sandbox-echo' }];
  const each = (toRow: (name: string) => object) => Object.fromEntries(all.map((name) => [name, toRow(name)]));
  await turnpike.admin('POST', '/apply', {
    document: {
      providers: each(() => upstream),
      models: each(() => ({ display_name: 'model', price, routes })),
      groups: each((name) => ({ models: name === LAST ? ['*'] : [name] })),
      plans: each((title) => ({ title, windows: { day: '1.00' } })),
    },
  });
  await turnpike.admin('PATCH', `/accounts/${acme}`, { groups: [LAST] });
  for (const name of names(FEW_ROWS)) {
    await turnpike.admin('POST', '/accounts', { name });
    await turnpike.admin('POST', '/keys', { account: acme, name });
    const role = { role: 'member', account: acme };
    await turnpike.admin('POST', '/people', { ...role, email: `${name}@example.com`, name });
    const address = `https://example.com/${name}`;
    await turnpike.admin('POST', '/destinations', { kind: 'webhook', address, name, types: ['backup.failed'] });
  }
  const source = { kind: 'anthropic' };
  for (const provider of [...all.slice(0, 5), LAST])
    await turnpike.admin('POST', '/provider-bill-sources', { provider, ...source });
});

interface Picker {
  /** Where the source has it: the file, its component or kind of filter, and its label. */
  of: string;
  path: string;
  label: string;
  open?: (page: Page) => Promise<unknown>;
  option?: string;
}

/** Labels of required fields end with an asterisk. */
const fieldOf = (page: Page, label: string) => page.getByLabel(new RegExp(`^${label}(?: \\*)?$`)).first();
const press = (name: string) => (page: Page) => page.getByRole('button', { name, exact: true }).first().click();

/** Adds a filter to a list. */
const filter = (of: string, path: string, label: string): Picker => ({
  ...{ of, path, label },
  async open(page) {
    await press('Add filter')(page);
    await page.getByRole('menuitem', { name: label, exact: true }).click();
  },
});

const pickers = (acme: string): Picker[] => [
  { of: 'accounts/edit FoundMultiSelect Groups', path: '/accounts/new', label: 'Groups' },
  { of: 'accounts/list FoundFilter Group', path: '/accounts', label: 'Group' },
  { of: 'accounts/tree AccountSelect Parent account', path: '/accounts/new', label: 'Parent account' },
  filter('batches/list found API key', '/batches', 'API key'),
  { of: 'destinations/create AccountSelect Account', path: '/destinations/new', label: 'Account' },
  filter('destinations/deliveries found Destination', '/deliveries', 'Destination'),
  { of: 'destinations/list AccountFilter', path: '/destinations', label: 'Account' },
  { of: 'exports/create AccountSelect Account', path: '/exports/new', label: 'Account' },
  { of: 'exports/download AccountSelect Account', path: '/exports', label: 'Account' },
  { of: 'groups/form FoundTagsInput Models', path: '/groups', label: 'Models', open: press('Create group') },
  { of: 'keys/create AccountSelect Account', path: '/keys/new', label: 'Account' },
  {
    of: 'keys/create ModelSelect Model',
    path: `/keys/new?account=${acme}`,
    label: 'Model',
    open: press('Create key'),
  },
  { of: 'keys/form FoundSelect Belongs to', path: `/keys/new?account=${acme}`, label: 'Belongs to' },
  { of: 'keys/form FoundTagsInput Model access', path: `/keys/new?account=${acme}`, label: 'Model access' },
  { of: 'keys/list AccountFilter Account', path: '/keys', label: 'Account' },
  { of: 'models/form-fields FoundSelect Provider', path: '/models/new', label: 'Provider' },
  { of: 'models/list FoundFilter Provider', path: '/models', label: 'Provider' },
  { of: 'models/list FoundFilter Group', path: '/models', label: 'Group' },
  { of: 'people/role-fields AccountSelect Account', path: '/people', label: 'Account', open: inviteOwner },
  { of: 'plans/form FoundMultiSelect Groups', path: '/plans', label: 'Groups', open: press('Create plan') },
  { of: 'plans/give FoundSelect Plan', path: `/accounts/${acme}/plan`, label: 'Plan', open: press('Assign plan') },
  { of: 'playground/key AccountSelect Account', path: '/playground', label: 'Account' },
  {
    of: 'playground/model-select FoundSelect',
    path: '/playground',
    label: 'Model',
    // It begins with a default model, which replaces what is typed.
    open: (page) => page.locator('input[aria-label="Model"][value]:not([value=""])').waitFor(),
  },
  filter('provider-bills/list found Provider', '/provider-bills', 'Provider'),
  { of: 'providers/further-credentials AccountSelect Account', ...ofCredential('Account') },
  { of: 'providers/further-credentials FoundSelect Group', ...ofCredential('Group') },
  {
    of: 'providers/models FoundMultiSelect Groups',
    path: '/providers/sandbox/models',
    label: 'Groups',
    open: (page) => page.getByRole('checkbox').first().check(),
  },
  filter('rejected/list found API key', '/rejected', 'API key'),
  filter('requests/filters found API key', '/usage', 'API key'),
  filter('requests/filters found User', '/usage', 'User'),
  filter('requests/filters found Provider', '/usage', 'Provider'),
  filter('requests/filters found Model', '/usage', 'Model'),
];

async function inviteOwner(page: Page): Promise<void> {
  await press('Invite user')(page);
  await fieldOf(page, 'Role').click();
  await page.getByRole('option', { name: 'Owner' }).click();
}

function ofCredential(label: string): Omit<Picker, 'of'> {
  return {
    path: `/providers/${LAST}`,
    label,
    async open(page) {
      await press('Edit')(page);
      await press('Add credential')(page);
    },
  };
}

/** Pickers whose options are always the same, are typed, or are those of one object. */
const FIXED = [
  'accounts/create NativeSelect',
  'accounts/edit NativeSelect',
  'accounts/edit TagsInput',
  'accounts/edit TagsInput',
  'accounts/edit TagsInput',
  'accounts/tree NativeSelect',
  'batches/list options',
  'billing/credit NativeSelect',
  'billing/low-balances TagsInput',
  'billing/page NativeSelect',
  'billing/statement Autocomplete',
  'billing/transactions options',
  'codes/create NativeSelect',
  'destinations/create Autocomplete',
  'destinations/deliveries options',
  'directory-groups/list Select',
  'events/list options',
  'exports/create MultiSelect',
  'exports/create TagsInput',
  'exports/download Select',
  'exports/download Select',
  'groups/form TagsInput',
  'keys/form MultiSelect',
  'keys/form NativeSelect',
  'keys/form NativeSelect',
  'keys/form TagsInput',
  'keys/form TagsInput',
  'keys/list SelectFilter',
  'models/form Select',
  'models/form TagsInput',
  'models/form-fields NativeSelect',
  'parts/grouping-select Select',
  'parts/range Select',
  'payments/table options',
  'payments/table options',
  'people/list Select',
  'people/role-fields Select',
  'providers/credential-fields NativeSelect',
  'providers/further-settings NativeSelect',
  'providers/models TagsInput',
  'providers/test-message Select',
  'rejected/list options',
  'requests/filters options',
  'requests/filters options',
  'requests/filters options',
  'requests/filters options',
  'requests/filters options',
  'settings/editor MultiSelect',
  'settings/editor NativeSelect',
  'settings/editor NativeSelect',
  'tokens/list Select',
];

/** Files that define pickers for others. */
const DEFINING = ['parts/fields', 'parts/later', 'parts/filter-chips', 'parts/filter-editor', 'playground/show'];

const PICKER =
  /<((?:Native|Multi|Found|FoundMulti|Account|Model)?Select|Autocomplete|(?:Found)?TagsInput|(?:Select|Found|Account)Filter)\b|kind: '(found|options)'/g;

/** Every picker in the source: its file, and its component or kind of filter. */
function pickersInSource(): string[] {
  const found = projectFiles()
    .filter((path) => /^console\/.*\.tsx$/.test(path))
    .flatMap((path) => {
      const file = path.replace(/^console\/(?:features\/)?|\.tsx$/g, '');
      if (DEFINING.includes(file)) return [];
      return [...(readText(path) ?? '').matchAll(PICKER)].map(([, component, kind]) => `${file} ${component ?? kind}`);
    });
  return found.sort();
}

test('every picker has options that are always the same, or is searched by the service', () => {
  const searched = pickers('').map(({ of }) => of.split(' ').slice(0, 2).join(' '));
  expect(pickersInSource()).toEqual([...searched, ...FIXED].sort());
});

test.skipIf(chromium === null)(
  'each finds the last of more objects than a page of a list has',
  async () => {
    const missing: string[] = [];
    await using visitor = await opened.visit('operator');
    const { page } = visitor;
    for (const { of, path, label, open, option = LAST } of pickers(opened.filled.accounts.acme)) {
      await page.goto(`${visitor.url}/console${path}`);
      const seen = async () => {
        await open?.(page);
        await fieldOf(page, label).fill(LAST);
        await page.getByRole('option', { name: option }).first().waitFor();
      };
      await seen().catch((failure: unknown) => missing.push(`${of}: ${failure}`));
    }
    expect(missing).toEqual([]);
    expect(visitor.problems).toEqual([]);
  },
  600_000,
);
