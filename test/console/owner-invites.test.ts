// An owner invites a user, who alone gets the link; and invites a disabled user again.

import { expect, setDefaultTimeout, test } from 'bun:test';
import { readMail, startScriptedSmtp } from '../support/scripted-smtp.ts';
import { startTurnpike } from '../support/start-turnpike.ts';
import { chromium } from '../verify/clients/open-browser.ts';
import { actionsOn } from './page-actions.ts';
import { fillService, visitAs, walkerFor } from './walk-pages.ts';

setDefaultTimeout(300_000);

test.skipIf(chromium === null)(
  'an owner invites a user without seeing the link, disables them and invites them again',
  async () => {
    await using server = await startScriptedSmtp();
    const mail = { TURNPIKE_SMTP_URL: server.url, TURNPIKE_MAIL_FROM: 'turnpike@example.com' };
    await using turnpike = await startTurnpike(undefined, { ...mail, TURNPIKE_PUBLIC_URL: 'http://127.0.0.1:1' });
    const filled = await fillService(turnpike, true);
    await using visitor = await visitAs(turnpike, filled.people.owner);
    const { page } = visitor;
    const actions = actionsOn(page);
    await walkerFor(page, turnpike.url).walkTo('/people');
    await actions.press('button', 'Invite user');
    await actions.fill('Email', 'guest@example.com');
    await actions.press('button', 'Create invitation');
    await page.getByText('guest@example.com invited').waitFor();
    expect(await page.content()).not.toContain('tk-inv-');
    await actions.press('button', 'Done');
    await page.getByRole('button', { name: 'guest@example.com' }).click();
    await actions.press('button', 'Disable');
    await page
      .getByRole('dialog', { name: 'Disable guest@example.com?' })
      .getByRole('button', { name: 'Disable' })
      .click();
    await actions.press('button', 'Invite again');
    await page.getByText('User invited again.').waitFor();
    const toGuest = () => server.mails.filter(({ to }) => to.includes('guest@example.com'));
    while (toGuest().length < 2) await server.untilMails(server.mails.length + 1);
    const links = toGuest().map(({ raw }) => /#(tk-inv-\w+)/.exec(readMail(raw).text)?.[1] ?? '');
    expect(links).toEqual([expect.stringMatching(/^tk-inv-/), expect.stringMatching(/^tk-inv-/)]);
    expect(visitor.problems).toEqual([]);
  },
);
