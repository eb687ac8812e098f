// Lists with the longest names, amounts and words at the widths of a phone and of a small laptop, in a real browser:
// nothing is clipped, and on a phone a button opens the filters.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { startWithStripe } from '../contract/payments/payments-service.ts';
import type { Turnpike } from '../support/start-turnpike.ts';
import { chromium } from '../verify/clients/open-browser.ts';
import { fillPayments } from './fill-payments.ts';
import { findClipped, findSideways } from './find-faults.ts';
import { visit } from './open-console.ts';
import { walkerFor } from './walk-pages.ts';

setDefaultTimeout(120_000);

const seen = test.skipIf(chromium === null);

let service: AsyncDisposable & { turnpike: Turnpike };
let turnpike: Turnpike;
let account: string;
const tokens: Record<'operator' | 'owner', string> = { operator: '', owner: '' };
beforeAll(async () => {
  if (chromium === null) return;
  const started = await startWithStripe();
  service = started;
  turnpike = started.turnpike;
  const rich = await turnpike.makeKey(
    { name: 'Harbour University, Department of Computational Linguistics', credit: '9000000.127' },
    {
      name: 'nightly evaluation of the translation pipeline (do not revoke)',
      ...{ quota: '2500.00', quota_period: 'month' },
    },
  );
  account = rich.account;
  await turnpike.admin('PATCH', `/keys/${rich.key}`, { status: 'disabled' });
  const busy = await turnpike.makeKey({ name: 'acme' }, { quota: '1.00', quota_period: 'day' });
  for (const model of [
    'sandbox-lorem',
    'sandbox-error-529',
    'sandbox-error-429',
    'sandbox-cut',
    'no-such-model-with-a-long-name',
  ]) {
    const messages = [{ role: 'user', content: 'Hello '.repeat(40) }];
    const answer = await turnpike.post(busy.secret, { model, max_tokens: 90, stream: true, messages });
    await answer.text().catch(() => ''); // the sandbox interrupts one stream
  }
  await fillPayments(started, account);
  const address = 'https://hooks.example.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX';
  await turnpike.admin('POST', '/destinations', { kind: 'slack', address, types: ['*'], account });
  for (const role of ['operator', 'owner'] as const) {
    const of = role === 'owner' ? { account } : {};
    tokens[role] = String((await turnpike.admin('POST', '/tokens', { role, ...of }))['token']);
  }
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
});

const lists = () => [
  '/usage',
  '/rejected',
  '/events',
  '/keys',
  '/models',
  '/models/sandbox-cut',
  '/groups',
  '/providers',
  '/providers/sandbox',
  '/accounts',
  `/accounts/${account}`,
  `/accounts/${account}/transactions`,
  `/accounts/${account}/statement`,
  '/payments',
  '/people',
  '/destinations',
  '/tokens',
];

seen.each([
  ['a phone', true],
  ['a small laptop', false],
])('no cell or badge reaches beyond the edge of its table on %s', async (_, isPhone) => {
  await using visitor = await visit({ url: turnpike.url, token: tokens.operator, isPhone });
  const { walkTo } = walkerFor(visitor.page, turnpike.url);
  const faults: Record<string, string[]> = {};
  for (const path of lists()) {
    await walkTo(path);
    await visitor.page.locator('main table').first().waitFor();
    const found = [...(await findClipped(visitor.page)), ...(await findSideways(visitor.page))];
    if (found.length > 0) faults[path] = found;
  }
  expect(faults).toEqual({});
  expect(visitor.problems).toEqual([]);
});

const filtered = [
  ['operator', '/usage', 'Request ID'],
  ['operator', '/rejected', 'Time range'],
  ['operator', '/events', 'Type'],
  ['operator', '/deliveries', 'Destination'],
  ['operator', '/keys', 'Name or prefix'],
  ['operator', '/models', 'Name or alias'],
  ['owner', '/models', 'Name or alias'],
  ['operator', '/accounts', 'Name'],
  ['operator', '/payments', 'Status'],
  ['operator', '/settings', 'Setting'],
  ['operator', '/destinations', 'Account'],
  ['operator', '/audit', 'Actor'],
  ['operator', '/reference?api=admin', 'Search operations'],
] as const;

seen('a button opens the filters of every list on a phone', async () => {
  const open = (role: 'operator' | 'owner') => visit({ url: turnpike.url, token: tokens[role], isPhone: true });
  await using operator = await open('operator');
  await using owner = await open('owner');
  const walkers = { operator: walkerFor(operator.page, turnpike.url), owner: walkerFor(owner.page, turnpike.url) };
  for (const [role, path, label] of filtered) {
    await walkers[role].walkTo(path);
    const main = { operator, owner }[role].page.getByRole('main');
    const button = main.getByRole('button', { name: 'Filters' });
    const field = main.getByLabel(label, { exact: true }).first();
    await button.waitFor();
    expect([role, path, await field.isVisible()]).toEqual([role, path, false]);
    await button.click();
    await field.waitFor();
  }
  expect([...operator.problems, ...owner.problems]).toEqual([]);
});
