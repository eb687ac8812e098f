// The console in a real Chromium. What goes wrong in the page (scripts that throw, what the page's
// Content-Security-Policy refused, answers of 500 and more) is kept as `problems`. No tests of its own.

import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { chromium as chromiumPath } from '../clients/open-browser.ts';

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'];
const QUIET_FLAGS = ['--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** Nothing takes nearly so long; a machine that is busy is no failure. */
const WAIT_MS_MAX = 50_000;

/** One Chromium for a file of tests; each visitor is a profile of its own in it. */
export async function startChromium(): Promise<Browser> {
  if (chromiumPath === null) throw new Error('there is no Chromium here');
  return await chromium.launch({ executablePath: chromiumPath, args: [...FLAGS, ...QUIET_FLAGS], headless: true });
}

export interface Visitor extends AsyncDisposable {
  context: BrowserContext;
  page: Page;
  /** What went wrong in the page so far. */
  problems: string[];
  /** Goes to a path below /console, "/keys", and waits until nothing is being fetched. */
  goTo(path: string): Promise<void>;
}

export interface VisitorOptions {
  /** The origin of the service. */
  url: string;
  /** A token that stands in for a session: its requests of the admin API bear it. */
  token?: string;
  isDark?: boolean;
  isPhone?: boolean;
}

export async function visit(browser: Browser, options: VisitorOptions): Promise<Visitor> {
  const { url, token, isDark = false, isPhone = false } = options;
  const context = await browser.newContext({
    colorScheme: isDark ? 'dark' : 'light',
    viewport: isPhone ? { width: 390, height: 844 } : { width: 1360, height: 900 },
    reducedMotion: 'reduce',
    locale: 'en-US',
    timezoneId: 'UTC',
  });
  context.setDefaultTimeout(WAIT_MS_MAX);
  if (token !== undefined)
    await context.route(`${url}/api/v1/**`, (route) =>
      route.continue({ headers: { ...route.request().headers(), authorization: `Bearer ${token}` } }),
    );
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    if (message.type() !== 'error') return;
    // Chromium says so of every answer that is an error; those that matter are kept below.
    if (!message.text().startsWith('Failed to load resource')) problems.push(message.text());
  });
  page.on('response', (answer) => {
    if (answer.status() >= 500) problems.push(`${answer.status()} ${answer.url()}`);
  });
  return {
    context,
    page,
    problems,
    async goTo(path) {
      await page.goto(`${url}/console${path}`);
      await page.waitForLoadState('networkidle');
    },
    [Symbol.asyncDispose]: () => context.close(),
  };
}
