// Recreates the screenshots of README and docs in docs/pictures/ from an installation with weeks of usage:
// bun test/console/pictures.ts. Review them before you commit them.

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { spawnTurnpike } from '../support/start-turnpike.ts';
import { fillConsole } from './fill-console.ts';
import { startChromium, type VisitorOptions, visitAnew } from './open-console.ts';
import { createPastUsage } from './past-usage.ts';
import { walkerFor } from './walk-pages.ts';

const PLACE = join(import.meta.dir, '..', '..', 'docs', 'pictures');
mkdirSync(PLACE, { recursive: true });

const directory = await createPastUsage();
const turnpike = await spawnTurnpike(directory);
const { requestId, tokens, accounts } = await fillConsole(turnpike, 12);
const browser = await startChromium();

async function picture(name: string, path: string, look: Partial<VisitorOptions>): Promise<void> {
  await using visitor = await visitAnew(browser, { url: turnpike.url, token: tokens.operator, ...look });
  const { page } = visitor;
  const { walkTo, settle } = walkerFor(page, turnpike.url);
  await walkTo(path);
  if (path.startsWith('/keys/new')) {
    await page.getByRole('textbox', { name: 'Name' }).fill('production');
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByTestId('secret').waitFor();
  }
  if (path.startsWith('/?')) await page.locator('.recharts-surface').first().waitFor(); // it loads on demand
  await settle();
  await page.screenshot({ path: join(PLACE, `${name}.png`) });
  console.log(`${name}.png`, visitor.problems);
}

await picture('overview', '/?range=30d', {});
await picture('request', `/usage/${requestId}`, { isDark: true });
await picture('key', `/keys/new?account=${accounts.acme}`, {});
await picture('phone', '/?range=7d', { isDark: true, isPhone: true });
await browser.close();
await turnpike.stop();
rmSync(directory, { recursive: true, force: true });
