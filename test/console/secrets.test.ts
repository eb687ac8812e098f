// Secrets that are shown once: the console warns before they are lost. And the form that creates a key.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { chromium } from '../verify/clients/open-browser.ts';
import { openConsole } from './open-console.ts';

const opened = openConsole(0);

const seen = test.skipIf(chromium === null);
const atPath = async (path: string, token: 'operator' | 'owner' = 'operator') => {
  const visitor = await opened.visit(token);
  await visitor.goTo(path);
  return visitor;
};
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).last().click();
const warning = (page: Page) => page.getByRole('dialog', { name: 'Leave without copying the secret?' });

async function createKey(page: Page): Promise<void> {
  await page.getByLabel('Name').fill('shown once');
  await press(page, 'Create key');
  await page.getByTestId('secret').waitFor();
}

seen(
  'a key without an account is refused with a sentence that names the field, and the page says what is required',
  async () => {
    await using visitor = await atPath('/keys/new');
    const { page } = visitor;
    await page.getByText('Only the account is required. You can edit everything later except the account.').waitFor();
    expect(await page.getByRole('combobox', { name: 'Account' }).getAttribute('required')).not.toBeNull();
    await press(page, 'Create key');
    await page.getByText('Choose an account.').waitFor();
    expect(await page.getByText('is required', { exact: true }).count()).toBe(0);
    expect(visitor.problems).toEqual([]);
  },
);

seen('a link away from the secret of a new key asks first: the user can stay, or leave', async () => {
  await using visitor = await atPath('/keys/new', 'owner');
  const { page } = visitor;
  await createKey(page);
  const secret = await page.getByTestId('secret').textContent();
  const leave = () => page.getByRole('link', { name: 'Models', exact: true }).click();
  await leave();
  await warning(page).waitFor();
  await press(page, 'Stay');
  expect(await page.getByTestId('secret').textContent()).toBe(secret);
  expect(await page.evaluate(() => location.pathname)).toBe('/console/keys/new');
  await leave();
  await press(page, 'Leave');
  await page.getByRole('heading', { name: 'Models', exact: true }).waitFor();
  expect(visitor.problems).toEqual([]);
});

seen('closing the tab asks until the secret is copied', async () => {
  await using visitor = await atPath('/keys/new', 'owner');
  const { page } = visitor;
  await createKey(page);
  const isAsked = () => page.evaluate(() => !window.dispatchEvent(new Event('beforeunload', { cancelable: true })));
  expect(await isAsked()).toBe(true);
  await page.getByTestId('secret').locator('..').getByRole('button', { name: 'Copy' }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  expect(await isAsked()).toBe(false);
  await page.getByRole('link', { name: 'Models', exact: true }).click();
  await page.getByRole('heading', { name: 'Models', exact: true }).waitFor();
});

seen(
  'dialogs with a rotated key, a token, codes or a one-time link do not close before their secret is copied',
  async () => {
    await using visitor = await atPath(`/keys/${opened.filled.key.id}`);
    const { page } = visitor;
    const staysThenLeaves = async (secret: string) => {
      await page.getByTestId(secret).waitFor();
      for (const close of [
        () => page.keyboard.press('Escape'),
        () => press(page, 'Close'),
        () => press(page, 'Done'),
      ]) {
        await close();
        await warning(page).waitFor();
        await press(page, 'Stay');
        await warning(page).waitFor({ state: 'hidden' });
        expect(await page.getByTestId(secret).isVisible()).toBe(true);
      }
      await press(page, 'Done');
      await press(page, 'Leave');
      await page.getByTestId(secret).waitFor({ state: 'detached' });
    };
    await press(page, 'Rotate');
    const rotate = page.getByRole('dialog').getByRole('button', { name: 'Rotate', exact: true });
    await rotate.click();
    await page.getByText('Choose what happens to the old secret.').waitFor();
    await page.getByRole('radio', { name: 'Keep it for some hours' }).check();
    await page.getByRole('textbox', { name: 'Hours' }).fill('2');
    const asked = page.waitForRequest((request) => request.url().endsWith('/rotate'));
    await rotate.click();
    expect((await asked).postDataJSON()).toEqual({ grace: '2h' });
    await page.getByText('The old secret expires on').waitFor();
    await staysThenLeaves('secret');

    await visitor.goTo('/tokens');
    await press(page, 'Create token');
    await page.getByRole('combobox', { name: 'Role' }).click();
    await page.getByRole('option', { name: 'Viewer' }).click();
    await press(page, 'Create token');
    await staysThenLeaves('secret');

    await visitor.goTo('/codes');
    await press(page, 'Create codes');
    await page.getByLabel('Name').fill('spring');
    await page.getByLabel('Amount').fill('1.00');
    await page.getByLabel('Number of codes').fill('2');
    await press(page, 'Create codes');
    await staysThenLeaves('codes');

    await visitor.goTo('/people');
    await press(page, 'Invite user');
    await page.getByLabel('Email').fill('grace@example.com');
    await page.getByRole('combobox', { name: 'Role' }).click();
    await page.getByRole('option', { name: 'Viewer' }).click();
    await press(page, 'Create invitation');
    await staysThenLeaves('link');
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)(
  'unsaved edits are asked about before they are lost, and saved ones are not',
  async () => {
    await using visitor = await opened.visit('operator');
    const { page } = visitor;
    const question = () => page.getByRole('dialog', { name: 'Discard unsaved changes?' });
    const answer = async (name: 'Stay' | 'Leave') => {
      await question().getByRole('button', { name }).click();
      await question().waitFor({ state: 'hidden' });
    };
    await visitor.goTo(`/keys/${opened.filled.key.id}`);
    await press(page, 'Edit');
    const name = page.getByRole('dialog').getByLabel('Name');
    await name.fill('renamed');
    await page.keyboard.press('Escape');
    await answer('Stay');
    expect(await name.inputValue()).toBe('renamed');
    const reloading = page.waitForEvent('dialog');
    const reloaded = page.reload().catch(() => {});
    const warning = await reloading;
    expect(warning.type()).toBe('beforeunload');
    await warning.dismiss();
    await reloaded;
    expect(await name.inputValue()).toBe('renamed');
    await page.keyboard.press('Escape');
    await answer('Leave');
    await name.waitFor({ state: 'hidden' });
    await page.getByRole('link', { name: 'API keys', exact: true }).first().click();
    await page.getByRole('link', { name: 'Create API key', exact: true }).first().click();
    await page.getByLabel('Name').fill('kept');
    await page.getByRole('link', { name: 'Models', exact: true }).click();
    await answer('Stay');
    expect(await page.getByLabel('Name').inputValue()).toBe('kept');
    await page.getByRole('link', { name: 'Models', exact: true }).click();
    await answer('Leave');
    await page.getByRole('heading', { name: 'Models', level: 1 }).waitFor();
    await visitor.goTo(`/keys/${opened.filled.key.id}`);
    await press(page, 'Edit');
    await name.fill('renamed');
    await press(page, 'Save');
    await page.getByText('API key saved.').first().waitFor();
    await name.waitFor({ state: 'hidden' });
    await page.getByRole('link', { name: 'Models', exact: true }).click();
    await page.getByRole('heading', { name: 'Models', level: 1 }).waitFor();
    expect(await question().count()).toBe(0);
    expect(visitor.problems).toEqual([]);
  },
);
