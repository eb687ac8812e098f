// A new operator from an empty data directory to a paid message, using the page alone.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawnTurnpike, type TurnpikeProcess } from '../support/start-turnpike.ts';
import { chromium } from '../verify/clients/open-browser.ts';
import { visit } from './open-console.ts';
import { actionsOn } from './page-actions.ts';

let turnpike: TurnpikeProcess;
beforeAll(async () => {
  if (chromium === null) return;
  turnpike = await spawnTurnpike();
});
afterAll(async () => {
  await turnpike?.stop();
});

test.skipIf(chromium === null)(
  'a new operator goes from the setup link to an account, an invitation for its owner, a key and a paid message',
  async () => {
    const beganMs = performance.now();
    const linkFile = join(turnpike.dataDirectory, 'first-operator.txt');
    const link = /https?:\/\/\S+/.exec(readFileSync(linkFile, 'utf8'))?.[0] ?? '';
    await using visitor = await visit({ url: turnpike.url });
    const { page } = visitor;
    const actions = actionsOn(page);

    await page.goto(link);
    await actions.see('Create admin account');
    await actions.fill('Email', 'ada@example.com');
    await actions.fill('Your name', 'Ada Lovelace');
    await actions.fill('Password', 'a bridge of seven arches');
    await actions.press('button', 'Create account and sign in');
    await actions.see('Overview');
    await actions.see('Send your first request');

    await actions.press('link', 'Accounts');
    await actions.press('link', 'Create account');
    await actions.fill('Name', 'Acme');
    await actions.fill('Initial credit', '25');
    await actions.turn('Invite owner');
    await actions.fill('Owner email', 'grace@example.com');
    await actions.press('button', 'Create account');
    await actions.see('Account Acme created');
    await actions.press('button', 'Invite owner');
    const ownersLink = (await page.getByTestId('link').textContent()) ?? '';
    expect(ownersLink).toStartWith(`${turnpike.url}/console/invitation#`);
    await actions.press('button', 'Copy link');
    await actions.press('button', 'Done');
    await actions.see('Acme');

    await actions.press('link', 'Create API key');
    await actions.fill('Name', 'for a colleague');
    await actions.press('button', 'Create key');
    await actions.see('API key created');
    const secret = (await page.getByTestId('secret').textContent()) ?? '';

    const messages = [{ role: 'user', content: 'Good morning!' }];
    const answer = await turnpike.post(secret, { model: 'sandbox-echo', max_tokens: 100, messages });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ content: [{ type: 'text', text: 'Good morning!' }] });
    await page.getByText('Request received').waitFor();
    await actions.press('button', 'Copy');

    await actions.press('link', 'Overview');
    const last = page.getByRole('table', { name: 'Recent requests' });
    await last.getByText('for a colleague').waitFor();
    expect(await last.getByRole('row').nth(1).textContent()).toMatch(/sandbox-echo[\s\S]*Acme[\s\S]*for a colleague/);
    const tookSeconds = ((performance.now() - beganMs) / 1000).toFixed(1);
    console.log(`a new operator: ${actions.stepCount} steps, ${tookSeconds} s`);
    expect(visitor.problems).toEqual([]);

    await using another = await visit({ url: turnpike.url });
    await another.page.goto(link);
    await actionsOn(another.page).see('This link is no longer valid');
    expect(await turnpike.check()).toMatchObject({ ok: true });
  },
);
