// The owner of an account, from the link they were sent to a key that they used and revoked: with clicks and keys alone.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import type { Browser, Locator, Page } from 'playwright-core';
import { chromium } from '../clients/open-browser.ts';
import { startTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { handsAt } from './at-the-page.ts';
import { startChromium, visit } from './open-console.ts';

setDefaultTimeout(120_000);

let turnpike: Turnpike;
let browser: Browser;
let link: string;
beforeAll(async () => {
  if (chromium === null) return;
  [turnpike, browser] = await Promise.all([startTurnpike(), startChromium()]);
  const { id } = await turnpike.admin('POST', '/accounts', { name: 'Acme', credit: '25.00' });
  const invited = await turnpike.admin('POST', '/people', { email: 'grace@example.com', role: 'owner', account: id });
  link = `${turnpike.url}/console/invitation#${invited['link_secret']}`;
});
afterAll(async () => {
  await browser?.close();
  await turnpike?.stop();
});

async function choose(page: Page, model: string): Promise<void> {
  await page.getByRole('combobox', { name: 'Model' }).fill(model);
  await page.getByRole('option', { name: model, exact: true }).click();
}

/** Asks, and waits for the answer and for what it cost. */
async function ask(page: Page, text: string): Promise<Locator> {
  const answers = page.getByRole('article', { name: 'Answer' });
  const before = await answers.count();
  await page.getByRole('textbox', { name: 'Your message' }).fill(text);
  await page.keyboard.press('Control+Enter');
  const answer = answers.nth(before);
  await answer.getByTestId('cost').waitFor();
  return answer;
}

const units = (usd: string) => BigInt(Math.round(Number(usd.replace(/[^0-9.]/g, '')) * 1e12));

/** What each row of the price says, by its first word or words: of a line its count and rate besides. */
async function readPrice(page: Page): Promise<string[][]> {
  const rows = page.getByRole('table', { name: 'What it cost' }).getByRole('row');
  return await rows.evaluateAll((all) =>
    all
      .map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent.trim()))
      .filter(({ length }) => length),
  );
}

async function revoke(page: Page, name: string): Promise<void> {
  const hands = handsAt(page);
  await hands.press('link', 'Keys');
  await page.getByRole('main').getByRole('link', { name, exact: true }).click();
  await hands.see(name);
  await hands.press('button', 'Revoke');
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('This key was revoked.').waitFor();
}

test.skipIf(chromium === null)(
  'an account holder gets from their link to a key, answers in the playground, what they cost and why, and ends the key',
  async () => {
    await using visitor = await visit(browser, { url: turnpike.url });
    const { page } = visitor;
    const hands = handsAt(page);
    await page.goto(link);
    await hands.see('You are invited');
    await page.getByText('You will sign in as owner of Acme.').waitFor();
    await hands.fill('Your name', 'Grace Hopper');
    await hands.fill('Password', 'a bridge of seven arches');
    await hands.press('button', 'Accept and sign in');
    await hands.see('Three steps to the first request');

    await hands.press('link', 'Make a key');
    await hands.fill('Name', 'mine');
    await hands.press('button', 'Make the key');
    await hands.see('The key “mine” is made');
    const secret = (await page.getByTestId('secret').textContent()) ?? '';
    await hands.press('button', 'Try it in the playground');
    await hands.see('Playground');
    await page.getByText(`In use: ${secret.slice(0, 10)}…`).waitFor();

    await choose(page, 'sandbox-thinking');
    const thought = await ask(page, 'What is six times seven?');
    await thought.getByText('Thoughts').waitFor();
    await hands.press('button', 'Start over');
    await choose(page, 'sandbox-tool');
    await page.getByRole('button', { name: 'Put in an example' }).click();
    const called = await ask(page, 'What is the weather in Paris?');
    await called.getByText('Call of ').waitFor();
    await page.getByRole('textbox', { name: 'Result of ' }).fill('It rains.');
    await ask(page, 'And now?');
    await hands.press('button', 'Start over');
    await choose(page, 'sandbox-echo');
    const echoed = await ask(page, 'Good morning, said the bridge.');
    await echoed.getByText('Good morning, said the bridge.').waitFor();
    await echoed.getByText('first token after').waitFor();

    await echoed.getByRole('link', { name: 'Show the record' }).click();
    await page.getByText('it is exactly the cost that was recorded').waitFor();
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

    await hands.press('link', 'Playground');
    await page.getByText(`In use: ${secret.slice(0, 10)}…`).waitFor(); // as long as the tab is open
    await choose(page, 'sandbox-echo');
    await page.getByRole('textbox', { name: 'Your message' }).fill('Once more?');
    await page.keyboard.press('Control+Enter');
    const refusal = page.getByRole('main').getByRole('alert');
    await refusal.getByText('The message was refused').waitFor();
    await refusal.getByText('401 key_').waitFor();
    await refusal.getByText('use another').waitFor();
    expect(await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))).not.toContain(
      secret,
    );
    expect(visitor.problems).toEqual([]);
  },
);
