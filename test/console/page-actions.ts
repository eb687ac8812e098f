// Clicks and types on a page, and counts the steps. Contains no tests.

import type { Locator, Page } from 'playwright-core';

export interface PageActions {
  page: Page;
  stepCount: number;
  press(role: 'button' | 'link' | 'tab' | 'menuitem' | 'option', name: string): Promise<void>;
  /** Clicks a switch or checkbox. */
  turn(label: string): Promise<void>;
  fill(label: string, text: string): Promise<void>;
  /** Waits for a heading with this name. */
  see(name: string): Promise<void>;
}

/** `within` is the page or an open dialog. */
export function actionsOn(page: Page, within: () => Locator | Page = () => page): PageActions {
  const actions: PageActions = {
    page,
    stepCount: 0,
    async press(role, name) {
      actions.stepCount++;
      await within().getByRole(role, { name, exact: true }).first().click();
    },
    async turn(label) {
      actions.stepCount++;
      await within().getByLabel(label).first().click();
    },
    async fill(label, text) {
      actions.stepCount++;
      await within().getByRole('textbox', { name: label }).first().fill(text);
    },
    async see(name) {
      await page.getByRole('heading', { name, exact: true }).first().waitFor();
    },
  };
  return actions;
}

/** Opens the choice of a filter that the list does not have yet. The keys go to its field. */
export async function addFilter(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Add filter' }).click();
  await page.getByRole('menuitem', { name, exact: true }).click();
  await page.getByRole('dialog').getByLabel(name).first().waitFor();
}
