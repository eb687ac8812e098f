// Opens the console in a real Chromium. Collects script errors, violations of the Content-Security-Policy and
// responses of 500 and above as `problems`. Contains no tests.

import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { chromium as chromiumPath } from '../verify/clients/open-browser.ts';

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'];
const QUIET_FLAGS = ['--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** Generous, so that a busy machine causes no failure. */
const WAIT_MS_MAX = 50_000;

/** One Chromium per test file; each visitor has a separate profile. */
export async function startChromium(): Promise<Browser> {
  if (chromiumPath === null) throw new Error('Chromium is not installed');
  return await chromium.launch({ executablePath: chromiumPath, args: [...FLAGS, ...QUIET_FLAGS], headless: true });
}

export interface Visitor extends AsyncDisposable {
  context: BrowserContext;
  page: Page;
  /** The problems of the page so far. */
  problems: string[];
  /** Opens a path below /console, for example "/keys", and waits until the network is idle. */
  goTo(path: string): Promise<void>;
}

export interface VisitorOptions {
  /** The origin of the service. */
  url: string;
  /** An admin token that replaces a session. */
  token?: string;
  isDark?: boolean;
  isPhone?: boolean;
  /** The time zone of the device; by default UTC. */
  zone?: string;
}

export async function visit(browser: Browser, options: VisitorOptions): Promise<Visitor> {
  const { url, token, isDark = false, isPhone = false, zone = 'UTC' } = options;
  const context = await browser.newContext({
    colorScheme: isDark ? 'dark' : 'light',
    viewport: isPhone ? { width: 390, height: 844 } : { width: 1360, height: 900 },
    reducedMotion: 'reduce',
    locale: 'en-US',
    timezoneId: zone,
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
    // Chromium logs every error response; relevant ones are recorded below.
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
