// A new operator, from an empty directory to a message that somebody else's key has paid for: with clicks and keys alone.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { chromium } from '../clients/open-browser.ts';
import { spawnTurnpike, type TurnpikeProcess } from '../support/start-turnpike.ts';
import { handsAt } from './at-the-page.ts';
import { startChromium, visit } from './open-console.ts';

setDefaultTimeout(120_000);

let turnpike: TurnpikeProcess;
let browser: Browser;
beforeAll(async () => {
  if (chromium === null) return;
  [turnpike, browser] = await Promise.all([spawnTurnpike(), startChromium()]);
});
afterAll(async () => {
  await browser?.close();
  await turnpike?.stop();
});

test.skipIf(chromium === null)(
  'a new operator gets from the link of the first start to an account, its owner’s link, a key and a message that it paid for',
  async () => {
    const beganMs = performance.now();
    const linkFile = join(turnpike.dataDirectory, 'first-operator.txt');
    const link = /https?:\/\/\S+/.exec(readFileSync(linkFile, 'utf8'))?.[0] ?? '';
    await using visitor = await visit(browser, { url: turnpike.url });
    const { page } = visitor;
    const hands = handsAt(page);

    await page.goto(link);
    await hands.see('Become the first operator');
    await hands.fill('E-mail', 'ada@example.com');
    await hands.fill('Your name', 'Ada Lovelace');
    await hands.fill('Password', 'a bridge of seven arches');
    await hands.press('button', 'Accept and sign in');
    await hands.see('Overview');
    await hands.see('Three steps to the first request');

    await hands.press('link', 'Accounts');
    await hands.press('link', 'Add an account');
    await hands.fill('Name', 'Acme');
    await hands.fill('First credit', '25');
    await hands.turn('Invite its owner');
    await hands.fill('E-mail of the owner', 'grace@example.com');
    await hands.press('button', 'Add the account');
    await hands.see('Acme was added');
    await hands.press('button', 'Invite its owner');
    const ownersLink = (await page.getByTestId('link').textContent()) ?? '';
    expect(ownersLink).toStartWith(`${turnpike.url}/console/invitation#`);
    await hands.press('button', 'Done');
    await hands.see('Acme');

    await hands.press('link', 'Make a key');
    await hands.fill('Name', 'for a colleague');
    await hands.press('button', 'Make the key');
    await hands.see('The key “for a colleague” is made');
    const secret = (await page.getByTestId('secret').textContent()) ?? '';

    const messages = [{ role: 'user', content: 'Good morning!' }];
    const answer = await turnpike.post(secret, { model: 'sandbox-echo', max_tokens: 100, messages });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ content: [{ type: 'text', text: 'Good morning!' }] });
    await page.getByText('It has arrived.').waitFor();

    await hands.press('link', 'Overview');
    const last = page.getByRole('table', { name: 'Last requests' });
    await last.getByText('for a colleague').waitFor();
    expect(await last.getByRole('row').nth(1).textContent()).toMatch(/sandbox-echo[\s\S]*Acme[\s\S]*for a colleague/);
    const tookSeconds = ((performance.now() - beganMs) / 1000).toFixed(1);
    console.log(`a new operator: ${hands.stepCount} steps, ${tookSeconds} s`);
    expect(visitor.problems).toEqual([]);

    await using another = await visit(browser, { url: turnpike.url });
    await another.page.goto(link);
    await handsAt(another.page).see('This link does not open anything');
    expect(await turnpike.check()).toMatchObject({ ok: true });
  },
);
