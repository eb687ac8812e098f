// The owner of an account from the invitation to a key that they use and revoke, using the page alone.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
import { startOwnTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { chromium } from '../verify/clients/open-browser.ts';
import { visit } from './open-console.ts';
import { actionsOn } from './page-actions.ts';

let turnpike: Turnpike;
let link: string;
beforeAll(async () => {
  if (chromium === null) return;
  turnpike = await startOwnTurnpike('its pages show the whole installation');
  const { id } = await turnpike.admin('POST', '/accounts', { name: 'Acme', credit: '25.00' });
  const invited = await turnpike.admin('POST', '/people', { email: 'grace@example.com', role: 'owner', account: id });
  link = `${turnpike.url}/console/invitation#${invited['link_secret']}`;
});
afterAll(async () => {
  await turnpike?.stop();
});

async function choose(page: Page, model: string): Promise<void> {
  await page.getByRole('combobox', { name: 'Model' }).fill(model);
  await page.getByRole('option', { name: model, exact: true }).click();
}

/** Sends a message and waits for the response and its cost. */
async function ask(page: Page, text: string): Promise<Locator> {
  const answers = page.getByRole('article', { name: 'Response' });
  const before = await answers.count();
  await page.getByRole('textbox', { name: 'Your message' }).fill(text);
  await page.keyboard.press('Control+Enter');
  const answer = answers.nth(before);
  await answer.getByTestId('cost').waitFor();
  return answer;
}

const units = (usd: string) => BigInt(Math.round(Number(usd.replace(/[^0-9.]/g, '')) * 1e12));

/** The cells of each row of the cost breakdown. */
async function readPrice(page: Page): Promise<string[][]> {
  const rows = page.getByRole('table', { name: 'Cost breakdown' }).getByRole('row');
  return await rows.evaluateAll((all) =>
    all
      .map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent.trim()))
      .filter(({ length }) => length),
  );
}

async function revoke(page: Page, name: string): Promise<void> {
  const actions = actionsOn(page);
  await actions.press('link', 'API keys');
  await page.getByRole('main').getByRole('link', { name, exact: true }).click();
  await actions.see(name);
  await actions.press('button', 'Revoke');
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('This key is revoked.').waitFor();
}

test.skipIf(chromium === null)(
  'an owner goes from the invitation to a key, playground messages, their cost breakdown, and revoking the key',
  async () => {
    await using visitor = await visit({ url: turnpike.url });
    const { page } = visitor;
    const actions = actionsOn(page);
    await page.goto(link);
    await actions.see('You are invited');
    await page.getByText('Your role: owner of Acme.').waitFor();
    await actions.fill('Your name', 'Grace Hopper');
    await actions.fill('Password', 'a bridge of seven arches');
    await actions.press('button', 'Create account and sign in');
    await actions.see('Send your first request');

    await actions.press('link', 'Create API key');
    await actions.fill('Name', 'mine');
    await actions.press('button', 'Create key');
    await actions.see('API key created');
    const secret = (await page.getByTestId('secret').textContent()) ?? '';
    await actions.press('button', 'Copy');
    await actions.press('button', 'Open in playground');
    await actions.see('Playground');
    await page.getByText(`Key ${secret.slice(0, 10)}`).waitFor();

    await choose(page, 'sandbox-thinking');
    const thought = await ask(page, 'What is six times seven?');
    await thought.getByText('Thinking', { exact: true }).waitFor();
    await actions.press('button', 'Clear');
    await choose(page, 'sandbox-tool');
    await page.getByRole('button', { name: 'Settings', exact: true }).click();
    await page.getByRole('button', { name: 'Insert example' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    const called = await ask(page, 'What is the weather in Paris?');
    await called.getByText('Tool call: ').waitFor();
    await page.getByRole('textbox', { name: 'Result of ' }).fill('It rains.');
    await ask(page, 'And now?');
    await actions.press('button', 'Clear');
    await choose(page, 'sandbox-echo');
    const echoed = await ask(page, 'Good morning, said the bridge.');
    await echoed.getByText('Good morning, said the bridge.').waitFor();
    await echoed.getByText('first token ').waitFor();

    await echoed.getByRole('link', { name: 'View request' }).click();
    await page.getByText('Verified: recalculated cost matches.').waitFor();
    const price = await readPrice(page);
    const lines = price.filter(([part]) => part?.startsWith('Input') || part?.startsWith('Output'));
    expect(lines).toHaveLength(2);
    const amounts = lines.map(([, count = '', rate = '']) => {
      const perMillion = Number(/[\d.]+/.exec(rate)?.[0]);
      return units(String((Number(count.replaceAll(',', '')) * perMillion) / 1e6));
    });
    expect(amounts).toEqual(lines.map((line) => units(line.at(-1) ?? '')));
    const cost = price.find(([part]) => part === 'Cost')?.at(-1) ?? '';
    expect(amounts.reduce((sum, amount) => sum + amount, 0n)).toBe(units(cost));
    expect(units(cost)).toBeGreaterThan(0n);

    await revoke(page, 'mine');

    await actions.press('link', 'Playground');
    await page.getByText(`Key ${secret.slice(0, 10)}`).waitFor(); // the key is kept while the tab is open
    await choose(page, 'sandbox-echo');
    await page.getByRole('textbox', { name: 'Your message' }).fill('Once more?');
    await page.keyboard.press('Control+Enter');
    const refusal = page.getByRole('main').getByRole('alert');
    await refusal.getByText('Request failed').waitFor();
    await refusal.getByText('401 key_').waitFor();
    await refusal.getByText('Use another key').waitFor();
    expect(await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))).not.toContain(
      secret,
    );
    expect(visitor.problems).toEqual([]);
  },
);
