// Sign-in, second factor and sessions in a real browser against a real service.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { invite, timeCode } from '../contract/sign-in/browser.ts';
import { startOwnTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { chromium } from '../verify/clients/open-browser.ts';
import { findFaultsOfLooks, findScript } from './find-faults.ts';
import { visit } from './open-console.ts';
import { walkerFor } from './walk-pages.ts';

const EMAIL = 'ada@example.com';
const PASSWORD = 'a bridge of seven arches';

let turnpike: Turnpike;
beforeAll(async () => {
  if (chromium === null) return;
  turnpike = await startOwnTurnpike('it signs in as the first operator');
});
afterAll(async () => {
  await turnpike?.stop();
});

/** The path and secret of the setup link. */
function firstLink(): string {
  const link = readFileSync(join(turnpike.dataDirectory, 'first-operator.txt'), 'utf8').trim();
  return link.slice(link.indexOf('/invitation#'));
}

async function enterPassword(page: Page, password = PASSWORD): Promise<void> {
  await page.getByLabel('Email').fill(EMAIL);
  await page.getByRole('textbox', { name: 'Password' }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

async function heading(page: Page, name: string): Promise<void> {
  await page.getByRole('heading', { level: 1, name }).waitFor();
}

/** Returns the secret for the app and the backup codes. */
async function setUpSecondFactor(page: Page): Promise<{ uri: string; codes: string[] }> {
  await page.getByRole('button', { name: 'Set up' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: 'Your password' }).fill(PASSWORD);
  await dialog.getByRole('button', { name: 'Continue' }).click();
  const secret = (await dialog.getByTestId('totp-secret').textContent()) ?? '';
  await dialog.getByRole('img', { name: 'QR code' }).waitFor();
  const uri = `otpauth://totp/Turnpike?secret=${secret}`;
  await dialog.getByLabel('Six-digit code').fill('000000');
  await dialog.getByRole('button', { name: 'Turn on' }).click();
  await dialog.getByRole('alert').waitFor();
  await dialog.getByLabel('Six-digit code').fill(timeCode(uri, Date.now()));
  await dialog.getByRole('button', { name: 'Turn on' }).click();
  const list = dialog.getByRole('list', { name: 'Backup codes' });
  await list.waitFor();
  const codes = await list.getByRole('listitem').allTextContents();
  await dialog.getByRole('button', { name: 'I have saved them' }).click();
  return { uri, codes };
}

test.skipIf(chromium === null)(
  'the first operator signs in with the setup link, sets up a second factor, signs in with a code, and ends another session',
  async () => {
    await using first = await visit({ url: turnpike.url });
    const { page } = first;
    await first.goTo(firstLink());
    await heading(page, 'Create admin account');
    expect(page.url()).not.toContain('#');
    await page.getByLabel('Email').fill(EMAIL);
    await page.getByLabel('Your name').fill('Ada Lovelace');
    await page.getByRole('textbox', { name: 'Password' }).fill('too short');
    await page.getByRole('button', { name: 'Create account and sign in' }).click();
    await page.getByText('must have at least 10 characters').waitFor();
    await page.getByRole('textbox', { name: 'Password' }).fill('ada lovelace');
    await page.getByRole('button', { name: 'Create account and sign in' }).click();
    await page.getByText('Password must not be derived from your name').waitFor();
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await page.getByRole('button', { name: 'Create account and sign in' }).click();
    await page.getByRole('button', { name: 'User menu' }).getByText('Ada Lovelace').waitFor();

    await first.goTo('/profile');
    const { uri, codes } = await setUpSecondFactor(page);
    expect(codes).toHaveLength(10);
    await page.getByText('On', { exact: true }).waitFor();

    // A failed sign-out is reported.
    const signOut = async () => {
      await page.getByRole('button', { name: 'User menu' }).click();
      await page.getByRole('menuitem', { name: 'Sign out' }).click();
    };
    await page.route('**/console/auth/sign-out', (route) => route.abort());
    await signOut();
    await page.getByRole('alert').waitFor();
    await page.unroute('**/console/auth/sign-out');
    await signOut();
    await heading(page, 'Sign in');

    // The requested page opens after sign-in.
    await first.goTo('/audit');
    await enterPassword(page, 'not the password');
    await page.getByText('The email or password is incorrect.').waitFor();
    await enterPassword(page);
    await heading(page, 'Second factor');
    await page.getByLabel('Code').fill('000000');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('The code is incorrect').waitFor();
    await page.getByLabel('Code').fill(timeCode(uri, Date.now()));
    await page.getByRole('button', { name: 'Continue' }).click();
    await heading(page, 'Audit log');
    await page.getByText('accepted an invitation').waitFor();

    await using second = await visit({ url: turnpike.url });
    await second.goTo('/profile');
    await enterPassword(second.page);
    await second.page.getByRole('button', { name: 'Use a backup code' }).click();
    await second.page.getByLabel('Backup code').fill(codes[0] ?? '');
    await second.page.getByRole('button', { name: 'Continue' }).click();
    await heading(second.page, 'Account security');

    await first.goTo('/profile');
    const sessions = page.getByRole('table', { name: 'Sessions' }).getByRole('row');
    await sessions.nth(2).waitFor();
    expect(await sessions.count()).toBe(3);
    expect(await sessions.nth(1).textContent()).toContain('Current session');
    await sessions.nth(2).getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('Session ended.').waitFor();
    // The next action leads to sign-in and back to the requested page.
    await second.page.getByRole('link', { name: 'Admin tokens', exact: true }).click();
    await heading(second.page, 'Sign in');
    expect(second.page.url()).toEndWith('/console/tokens');
    expect([...first.problems, ...second.problems]).toEqual([]);
  },
);

test.skipIf(chromium === null)('a used link shows an error and links to the sign-in page', async () => {
  const made = await turnpike.admin('POST', '/people', { email: 'grace@example.com', role: 'viewer' });
  const link = `/invitation#${made['link_secret']}`;
  for (const title of ['You are invited', 'This link is no longer valid']) {
    await using visitor = await visit({ url: turnpike.url });
    const { page } = visitor;
    await visitor.goTo(link);
    await heading(page, title);
    if (title !== 'You are invited') {
      await page.getByRole('link', { name: 'Go to sign-in' }).click();
      await heading(page, 'Sign in');
      continue;
    }
    expect(await page.getByLabel('Email').inputValue()).toBe('grace@example.com');
    await page.getByLabel('Your name').fill('Grace Hopper');
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await page.getByRole('button', { name: 'Create account and sign in' }).click();
    await page.getByRole('button', { name: 'User menu' }).getByText('Grace Hopper').waitFor();
  }
});

test.skipIf(chromium === null)('a single sign-on failure is explained, and password sign-in still works', async () => {
  await using visitor = await visit({ url: turnpike.url });
  await visitor.goTo('/sign-in?error=person_unknown');
  await visitor.page.getByText('No account exists for this email address.').waitFor();
  await visitor.page.getByLabel('Email').fill('grace@example.com');
  await visitor.page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
  await visitor.page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await visitor.page.getByRole('button', { name: 'User menu' }).getByText('Grace Hopper').waitFor();
  expect(visitor.page.url()).not.toContain('sign-in');
});

test.skipIf(chromium === null)(
  'a user who must have a second factor sets one up before any page opens, keeps the backup codes, and replaces the app',
  async () => {
    const require = (second_factor_required: string) =>
      turnpike.admin('POST', '/apply', { document: { settings: { second_factor_required } } });
    await using visitor = await visit({ url: turnpike.url });
    const { page } = visitor;
    await visitor.goTo('/usage');
    await page.getByLabel('Email').fill('grace@example.com');
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await heading(page, 'Usage');
    await require('operators');
    // The next request leads there: that of this action, or one that the open page made by itself, which removed the link.
    await page.evaluate(() => document.querySelector<HTMLElement>('a[href$="/keys"]')?.click());
    await heading(page, 'Set up a second factor');
    expect(await page.getByRole('link', { name: 'API keys', exact: true }).count()).toBe(0);
    await visitor.goTo('/audit');
    await heading(page, 'Set up a second factor');
    await page.getByRole('textbox', { name: 'Your password' }).fill('not the password');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('Wrong password.').waitFor();
    await page.getByRole('textbox', { name: 'Your password' }).fill(PASSWORD);
    await page.getByRole('button', { name: 'Continue' }).click();
    const codeOf = async () => {
      const secret = (await page.getByTestId('totp-secret').textContent()) ?? '';
      return timeCode(`otpauth://totp/Turnpike?secret=${secret}`, Date.now());
    };
    await page.getByLabel('Six-digit code').fill(await codeOf());
    await page.getByRole('button', { name: 'Turn on' }).click();
    const list = page.getByRole('list', { name: 'Backup codes' });
    await list.waitFor();
    const [backup = ''] = await list.getByRole('listitem').allTextContents();
    await page.getByRole('button', { name: 'I have saved them' }).click();
    await heading(page, 'Audit log');

    await visitor.goTo('/profile');
    await page.getByRole('button', { name: 'Turn off' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Your password' }).fill(PASSWORD);
    await dialog.getByRole('button', { name: 'Turn off' }).click();
    await dialog.getByText('The second factor cannot be turned off').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Replace' }).click();
    await dialog.getByRole('textbox', { name: 'Your password' }).fill(PASSWORD);
    await dialog.getByLabel('Code from the current app').fill(backup);
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await page.getByLabel('Six-digit code').fill(await codeOf());
    await page.getByRole('button', { name: 'Turn on' }).click();
    await list.waitFor();
    await page.getByRole('button', { name: 'I have saved them' }).click();
    await heading(page, 'Account security');

    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByRole('textbox', { name: 'Current password' }).fill(PASSWORD);
    await page.getByRole('textbox', { name: 'New password' }).fill('password12');
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByText('New password must not be a common password').waitFor();
    await require('nobody');
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)(
  'a user agrees to the terms with an invitation, and again before any page opens when the version changes',
  async () => {
    const set = (settings: object) => turnpike.admin('POST', '/apply', { document: { settings } });
    const terms = { terms_of_service: 'Be kind.', privacy_policy: 'https://example.com/privacy' };
    await set({ ...terms, terms_version: '2026-11' });
    const { id, secret } = await invite(turnpike, 'kay@example.com', 'viewer');
    await using visitor = await visit({ url: turnpike.url });
    const { page } = visitor;
    const walker = walkerFor(page, turnpike.url);
    await visitor.goTo(`/invitation#${secret}`);
    await page.getByLabel('Your name').fill('Alan Kay');
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    const agreement = page.getByRole('checkbox', { name: 'I agree to the terms of service and the privacy policy' });
    await agreement.waitFor();
    const linkTo = (name: string) => page.getByRole('main').getByRole('link', { name, exact: true }).first();
    expect(await linkTo('privacy policy').getAttribute('href')).toBe('https://example.com/privacy');
    expect(await linkTo('terms of service').getAttribute('href')).toBe('/console/terms');
    const create = page.getByRole('button', { name: 'Create account and sign in' });
    await create.click();
    expect(await agreement.evaluate((box: HTMLInputElement) => box.validity.valueMissing)).toBe(true);
    expect(await findFaultsOfLooks(page, walker)).toEqual([]);
    await agreement.check();
    await create.click();
    await page.getByRole('button', { name: 'User menu' }).getByText('Alan Kay').waitFor();

    await set({ ...terms, terms_version: '2026-12' });
    await page.evaluate(() => document.querySelector<HTMLElement>('a[href$="/people"]')?.click());
    await heading(page, 'Agree to the terms');
    await page.getByText('read version 2026-12 of the terms').waitFor();
    expect(await findFaultsOfLooks(page, walker)).toEqual([]);
    expect(await page.getByRole('link', { name: 'Users', exact: true }).count()).toBe(0);
    await set({ ...terms, terms_version: '2027-01' }); // while the user reads
    await agreement.check();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('The terms have the version "2027-01" by now').waitFor();
    await page.getByText('read version 2027-01 of the terms').waitFor();
    expect(await agreement.isChecked()).toBe(false);
    await agreement.check();
    await page.getByRole('button', { name: 'Continue' }).click();
    await heading(page, 'Users');
    await page.getByRole('table', { name: 'Users' }).getByRole('button', { name: 'Alan Kay' }).click();
    for (const version of ['2026-11', '2027-01'])
      await page.getByRole('dialog').getByText(`Agreed to version ${version} of the terms`).waitFor();
    expect((await turnpike.admin('GET', `/people/${id}`))['consents']).toMatchObject([
      { version: '2026-11', address: '127.0.0.1' },
      { version: '2027-01' },
    ]);
    await set({});
    expect(visitor.problems.filter((problem) => !problem.includes('403') && !problem.includes('409'))).toEqual([]);
  },
);

/** A model with prices of every kind, beside those of the sandbox. */
const offer = {
  providers: { gone: { kind: 'anthropic', base_url: 'http://127.0.0.1:9', api_key: 'sk-gone', private_network: true } },
  models: {
    'fable-1': {
      display_name: 'Fable 1',
      price: { input: '3', output: '15', long_context: { above: 200_000, input: '6', output: '22.5' } },
      routes: [{ provider: 'gone' }],
    },
  },
  groups: { public: { models: ['fable-*', 'sandbox-echo'], multiplier: '1.5' } },
};

const HELLO = { role: 'user', content: 'Hello' };
const HOSTILE = '<img src=x onerror="window.ran=1"> [here](javascript:window.ran=1) ![it](https://evil.example/i.png)';

test.skipIf(chromium === null)('everyone sees the pages that the operator made public, and no other', async () => {
  const set = (settings: object) => turnpike.admin('POST', '/apply', { document: { settings } });
  await turnpike.admin('POST', '/apply', { document: offer });
  const { secret } = await turnpike.makeKey({ groups: ['public'], credit: '5.00' });
  await using visitor = await visit({ url: turnpike.url });
  const { page } = visitor;
  const walker = walkerFor(page, turnpike.url);
  await page.goto(`${turnpike.url}/pricing`);
  await heading(page, 'Page not found');
  await set({
    ...{ landing_title: 'Every model, one key', landing_text: `Acme has **all** of them. ${HOSTILE}` },
    ...{ landing_links: ['Documentation: https://example.com/docs'], support_address: 'help@example.com' },
    ...{ public_models: 'on', public_status: 'on', public_group: 'public', privacy_policy: HOSTILE },
  });
  const faults: Record<string, string[]> = {};
  const check = async (name: string) => {
    await heading(page, name);
    await walker.settle();
    const found = [...(await findFaultsOfLooks(page, walker)), ...(await findScript(page))];
    if (found.length > 0) faults[name] = found;
  };
  await page.goto(turnpike.url);
  await check('Every model, one key');
  expect(await page.getByRole('link', { name: 'Documentation' }).getAttribute('href')).toBe('https://example.com/docs');
  expect(await page.getByRole('link', { name: 'here', exact: true }).count()).toBe(0);
  await page.getByRole('link', { name: 'Models and prices' }).click();
  await check('Models and prices');
  const models = page.getByRole('table', { name: 'Sandbox models' });
  expect(await models.getByRole('row', { name: /sandbox-echo/ }).textContent()).toContain('$1.50$7.50');
  const fable = page.getByRole('table', { name: 'Models', exact: true }).getByRole('row', { name: /Fable 1/ });
  expect(await fable.textContent()).toContain('$4.50$22.50');
  await fable.getByRole('button', { name: 'All prices' }).click();
  expect(await fable.textContent()).toContain('Output, long context$33.75');
  await check('Models and prices');
  await page.getByRole('searchbox', { name: 'Model' }).fill('no such model');
  await page.getByText('No matching models').waitFor();
  await page.getByRole('link', { name: 'Status' }).click();
  await check('Status');
  await page.getByText('All models are working').waitFor();
  for (let count = 0; count < 4; count++)
    await turnpike.post(secret, { model: 'fable-1', max_tokens: 9, messages: [HELLO] });
  // Until the node has looked at them.
  await page.evaluate(async () => {
    for (let seconds = 0; seconds < 120; seconds++) {
      const answer = await fetch('/api/v1/public/status', { cache: 'no-store' });
      if (((await answer.json()) as { data: object[] }).data.length > 0) return;
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  });
  await (await visitor.context.newCDPSession(page)).send('Network.clearBrowserCache');
  await page.goto(`${turnpike.url}/status`);
  await page.getByText('1 model failing').waitFor();
  await page.getByText('Fable 1', { exact: true }).waitFor();
  await check('Status');
  expect(await page.getByRole('main').textContent()).not.toContain('gone');
  await visitor.goTo('/privacy');
  await check('Privacy policy');
  await page.getByRole('link', { name: 'Sign in' }).click();
  await check('Sign in');
  await set({});
  expect(faults).toEqual({});
  expect(visitor.problems.filter((problem) => !problem.includes('404') && !problem.includes('401'))).toEqual([]);
});
