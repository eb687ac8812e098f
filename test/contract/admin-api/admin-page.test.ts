// Checks docs/admin-api.md: its commands are run against a service, and its table of roles is compared with the
// policy of the matrix.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readText } from '../../sources.ts';
import { readBlocks } from '../../support/read-blocks.ts';
import { startOwnTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import { policy } from './matrix/policy.ts';

const page = readText('docs/admin-api.md') ?? '';
const blocks = readBlocks(page).filter(({ language }) => language === 'sh');

let turnpike: Turnpike;
let printed: unknown[];
beforeAll(async () => {
  turnpike = await startOwnTurnpike('the page describes a new installation');
  const { token } = await turnpike.admin('POST', '/tokens', { role: 'operator' });
  const code = blocks.map((block) => block.code.replaceAll(/^export .*\n/gm, '')).join("printf '\\n\\n'\n");
  const child = Bun.spawn(['sh', '-e', '-c', code], {
    env: { PATH: '/usr/bin:/bin', BASE_URL: turnpike.url, TOKEN: String(token) },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  printed = (await new Response(child.stdout).text()).split('\n\n').map((text) => JSON.parse(text));
});
afterAll(() => turnpike.stop());

test('every command of the page does what the text above it says', () => {
  expect(printed).toMatchObject([
    { role: 'operator' },
    { data: [], next_cursor: null },
    { data: [], next_cursor: null },
    { total: { messages: 0 }, data: [] },
    { step: 'day', data: expect.any(Array) },
    { models: { data: [], groups: 0 }, keys: { groups: 0 }, accounts: { groups: 0 }, total: { messages: 0 } },
    { total: { messages: 0 }, changes: [], data: [], groups: 0 },
    { accounts: [{ name: 'demo' }], keys: expect.any(Array), people: [] },
    { data: [], total: { count: 0 } },
    { data: expect.any(Array) },
    { data: [] },
    { data: [], next_cursor: null },
    { error: { code: 'object_not_found' } }, // the page is off
    { email: 'ada@example.com', role: 'viewer', account: null, purpose: 'invitation' },
    { page: '/usage', name: 'Errors of today', is_shared: false, is_own: true },
    { dry_run: true, changes: [{ kind: 'group', name: 'vip' }] },
    { name: 'acme', balance: '10.00', allowance_period: 'month' },
    { amount: '25.00', balance: '35.00', reference: 'invoice 4711', repeated: false },
    { role: 'owner', token: expect.stringMatching(/^tk-tp-/) },
    { is_over: false, opening_balance: '0', credited: '35.00', used: '0', closing_balance: '35.00' },
    { data: [{ action: 'credit.create' }, { action: 'account.create' }] },
  ]);
  expect(printed.length).toBe(blocks.length);
});

test('the table of roles lists every route with the rights that the policy gives', () => {
  const cell = (text = '') => (text.trim() === '–' ? 'nothing' : text.trim());
  const rows = [...page.matchAll(/^\| `([A-Z]+ \/api[^`]*)` \|([^|]*)\|([^|]*)\|([^|]*)\|$/gm)].map(
    ([, route, viewer, owner, member]) => [route, [cell(viewer), cell(owner), cell(member)]],
  );
  const stated = Object.entries(policy).map(([route, rule]) => [route, [rule.viewer, rule.owner, rule.member]]);
  expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(stated));
});
