// The settings, and the name, logo and support address of the installation, in a real browser.

import { expect, test } from 'bun:test';
import { chromium } from '../verify/clients/open-browser.ts';
import { openConsole, visit } from './open-console.ts';

const opened = openConsole(2);

const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="M0 0h8v8z" onload="document.title='x'"/></svg>`;

test.skipIf(chromium === null)('expert settings are folded, and a search finds them with their origin', async () => {
  await using visitor = await opened.visit('operator');
  const { page } = visitor;
  await visitor.goTo('/settings');
  await page.getByText('Support address', { exact: true }).waitFor();
  expect(await page.getByText('Drain timeout', { exact: true }).isVisible()).toBe(false);
  await page.getByRole('button', { name: /^Advanced/ }).click();
  await page.getByText('Drain timeout', { exact: true }).waitFor();
  await page.getByLabel('Setting', { exact: true }).fill('drain_notice');
  await page.getByText('Drain notice', { exact: true }).waitFor();
  await page.getByText('drain_notice_seconds', { exact: true }).waitFor();
  await page.getByText('Support address', { exact: true }).waitFor({ state: 'detached' });
  expect(visitor.problems).toEqual([]);
});

test.skipIf(chromium === null)('an operator gives the installation a name, a logo and a support address', async () => {
  await using visitor = await opened.visit('operator');
  const { page } = visitor;
  await visitor.goTo('/settings');
  const save = async (setting: string, fill: () => Promise<void>) => {
    await page.getByRole('button', { name: `Edit ${setting}`, exact: true }).click();
    await fill();
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Setting saved.').first().waitFor();
    await page.getByRole('dialog').first().waitFor({ state: 'hidden' });
  };
  await save('Name', () => page.getByLabel('New value').fill('Acme AI'));
  await save('Support address', () => page.getByLabel('New value').fill('help@example.com'));
  await save('Logo', async () => {
    const file = { name: 'logo.svg', mimeType: 'image/svg+xml', buffer: Buffer.from(LOGO) };
    await page.locator('input[type=file]').setInputFiles(file);
    await page.getByRole('img', { name: 'Preview of the logo' }).waitFor();
  });
  await page.getByRole('banner').getByText('Acme AI', { exact: true }).waitFor();
  expect(await page.getByRole('banner').locator('img').getAttribute('src')).toStartWith('data:image/svg+xml;base64,');
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'help@example.com' }).waitFor();
  expect(await page.title()).toBe('Settings · Acme AI');
  expect(visitor.problems).toEqual([]);
});

test.skipIf(chromium === null)('people who sign in and read statements see them, too', async () => {
  const settings = { installation_name: 'Bright & Co', support_address: 'https://example.com/support' };
  await opened.turnpike.admin('POST', '/apply', { document: { settings } });
  await using stranger = await visit({ url: opened.turnpike.url });
  await stranger.goTo('/');
  await stranger.page.getByText('Bright & Co', { exact: true }).waitFor();
  const link = stranger.page.getByRole('link', { name: 'Contact support' });
  expect(await link.getAttribute('href')).toBe('https://example.com/support');
  expect(await stranger.page.title()).toBe('Sign in · Bright & Co');
  await using owner = await opened.visit('owner');
  await owner.goTo(`/accounts/${opened.filled.accounts.acme}/statement`);
  await owner.page.getByText('From', { exact: true }).waitFor();
  await owner.page.locator('.paper').getByText('Bright & Co', { exact: true }).waitFor();
  expect([...stranger.problems, ...owner.problems]).toEqual([]);
});
