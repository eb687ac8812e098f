// The pictures of README and docs, made anew of an installation with weeks behind it: bun test/console/pictures.ts. They are
// in docs/pictures/; look at them before they are committed.

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { spawnTurnpike } from '../support/start-turnpike.ts';
import { fillConsole } from './fill-console.ts';
import { makePast } from './fill-past.ts';
import { startChromium, type VisitorOptions, visit } from './open-console.ts';

const PLACE = join(import.meta.dir, '..', '..', 'docs', 'pictures');
mkdirSync(PLACE, { recursive: true });

const directory = await makePast();
const turnpike = await spawnTurnpike(directory);
const { requestId, tokens, accounts } = await fillConsole(turnpike, 12);
const browser = await startChromium();

async function picture(name: string, path: string, look: Partial<VisitorOptions>): Promise<void> {
  await using visitor = await visit(browser, { url: turnpike.url, token: tokens.operator, ...look });
  const { page } = visitor;
  await visitor.goTo(path);
  if (path.startsWith('/keys/new')) {
    await page.getByRole('textbox', { name: 'Name' }).fill('production');
    await page.getByRole('button', { name: 'Make the key' }).click();
    await page.getByTestId('secret').waitFor();
  }
  await page.waitForTimeout(500); // a chart is there as soon as its program has come
  await page.screenshot({ path: join(PLACE, `${name}.png`) });
  console.log(`${name}.png`, visitor.problems);
}

await picture('overview', '/?period=month', {});
await picture('request', `/usage/${requestId}`, { isDark: true });
await picture('key', `/keys/new?account=${accounts.acme}`, {});
await picture('phone', '/?period=week', { isDark: true, isPhone: true });
await browser.close();
await turnpike.stop();
rmSync(directory, { recursive: true, force: true });
