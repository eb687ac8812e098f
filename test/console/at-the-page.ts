// Somebody at a page: clicks and types, nothing else, and counts how often. No tests of its own.

import type { Locator, Page } from 'playwright-core';

export interface Hands {
  page: Page;
  stepCount: number;
  press(role: 'button' | 'link' | 'tab' | 'menuitem' | 'option', name: string): Promise<void>;
  /** A switch or a box to check. */
  turn(label: string): Promise<void>;
  fill(label: string, text: string): Promise<void>;
  /** Waits for a heading of this name. */
  see(name: string): Promise<void>;
}

/** `within` is what the page has in front: a dialogue, or the whole page. */
export function handsAt(page: Page, within: () => Locator | Page = () => page): Hands {
  const hands: Hands = {
    page,
    stepCount: 0,
    async press(role, name) {
      hands.stepCount++;
      await within().getByRole(role, { name, exact: true }).first().click();
    },
    async turn(label) {
      hands.stepCount++;
      await within().getByLabel(label).first().click();
    },
    async fill(label, text) {
      hands.stepCount++;
      await within().getByRole('textbox', { name: label }).first().fill(text);
    },
    async see(name) {
      await page.getByRole('heading', { name, exact: true }).first().waitFor();
    },
  };
  return hands;
}
