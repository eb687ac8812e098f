// Opens the console in a real Chromium. Collects script errors, violations of the Content-Security-Policy, requests to
// other hosts and responses of 500 and above as `problems`. Contains no tests.

import { afterAll, beforeAll } from 'bun:test';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { countUse } from '../support/count-uses.ts';
import { startOwnTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { chromium as chromiumPath } from '../verify/clients/open-browser.ts';
import { type Filled, fillConsole } from './fill-console.ts';

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'];
const QUIET_FLAGS = ['--disable-background-networking', '--disable-component-update', '--disable-sync'];
/** All pages of a profile run in one process, whose compiled scripts later pages use again. */
const SHARING_FLAGS = ['--process-per-site'];

/** Generous, so that a busy machine causes no failure. */
const WAIT_MS_MAX = 50_000;

export async function startChromium(): Promise<Browser> {
  if (chromiumPath === null) throw new Error('Chromium is not installed');
  const args = [...FLAGS, ...QUIET_FLAGS, ...SHARING_FLAGS];
  return await chromium.launch({ executablePath: chromiumPath, args, headless: true });
}

export interface Visitor extends AsyncDisposable {
  context: BrowserContext;
  page: Page;
  /** The origin of the service. */
  url: string;
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

/** A separate profile of Chromium: its cookies, its stored data, and its process. */
interface Profile {
  context: BrowserContext;
  zone: string;
}

let shared: Promise<Browser> | null = null;
/** Profiles without a visitor. Using them again saves most of the time of a first page. */
const idle: Profile[] = [];

/**
 * Opens a page with empty cookies and storage, in the Chromium of this process, which ends with it. Visitors at the same
 * time have separate profiles.
 */
export async function visit(options: VisitorOptions): Promise<Visitor> {
  shared ??= startChromium();
  const zone = options.zone ?? 'UTC';
  const place = idle.findIndex((profile) => profile.zone === zone);
  const profile = idle.splice(place, place < 0 ? 0 : 1)[0] ?? (await makeProfile(await shared, options));
  return await openPage(profile, options, async () => {
    await clearProfile(profile, options.url);
    idle.push(profile);
  });
}

/** Opens a page in a new profile, with nothing cached or compiled, and without the browser's other pages. */
export async function visitAnew(browser: Browser, options: VisitorOptions): Promise<Visitor> {
  const profile = { context: await makeContext(browser, options), zone: options.zone ?? 'UTC' };
  return await openPage(profile, options, () => profile.context.close());
}

/** A profile with a page that keeps its process alive between visitors. */
async function makeProfile(browser: Browser, options: VisitorOptions): Promise<Profile> {
  const context = await makeContext(browser, options);
  const keeper = await context.newPage();
  await keeper.goto(`${options.url}/healthz`);
  return { context, zone: options.zone ?? 'UTC' };
}

async function makeContext(browser: Browser, { zone = 'UTC' }: VisitorOptions): Promise<BrowserContext> {
  const context = await browser.newContext({ reducedMotion: 'reduce', locale: 'en-US', timezoneId: zone });
  context.setDefaultTimeout(WAIT_MS_MAX);
  return context;
}

const STORED = 'local_storage,indexeddb,cache_storage,service_workers';

async function clearProfile({ context }: Profile, origin: string): Promise<void> {
  const [keeper, ...pages] = context.pages();
  if (keeper === undefined) throw new Error('a visitor closed the page that keeps the profile');
  for (const page of pages) await page.close();
  await context.clearCookies();
  await context.clearPermissions();
  const session = await context.newCDPSession(keeper);
  await session.send('Storage.clearDataForOrigin', { origin, storageTypes: STORED });
  await session.detach();
}

async function openPage({ context }: Profile, options: VisitorOptions, leave: () => Promise<void>): Promise<Visitor> {
  const { url, token, isDark = false, isPhone = false } = options;
  const signIn = token === undefined ? null : await context.addInitScript(sendToken, token);
  const page = await context.newPage();
  await page.emulateMedia({ colorScheme: isDark ? 'dark' : 'light' });
  await page.setViewportSize(isPhone ? PHONE : WIDE);
  return {
    context,
    page,
    url,
    problems: collectProblems(page, url),
    async goTo(path) {
      await page.goto(`${url}/console${path}`);
      await page.waitForLoadState('networkidle');
    },
    async [Symbol.asyncDispose]() {
      await signIn?.dispose();
      await leave();
    },
  };
}

export const WIDE = { width: 1360, height: 900 };
/** The viewport of a wide window at 200% zoom. */
export const ZOOMED = { width: WIDE.width / 2, height: WIDE.height / 2 };
/** The narrowest of common phones. */
export const PHONE = { width: 360, height: 800 };

/** Runs in each page before its scripts: requests to the admin API have the token. Intercepted requests would not be cached. */
function sendToken(token: string): void {
  const { fetch } = window;
  const withToken = (input: RequestInfo | URL, init: RequestInit = {}) => {
    const isAdmin = new URL(String(input), location.href).pathname.startsWith('/api/v1/');
    return fetch(input, isAdmin ? { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } } : init);
  };
  window.fetch = withToken as typeof fetch;
}

function collectProblems(page: Page, url: string): string[] {
  const problems: string[] = [];
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (request.isNavigationRequest() && request.frame() === page.mainFrame()) countUse('pages');
    else if (origin !== url && !['data:', 'blob:'].includes(protocol)) problems.push(`a request to ${request.url()}`);
  });
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    if (message.type() !== 'error') return;
    // Chromium logs every error response; relevant ones are recorded below.
    if (!message.text().startsWith('Failed to load resource')) problems.push(message.text());
  });
  page.on('response', (answer) => {
    if (answer.status() >= 500) problems.push(`${answer.status()} ${answer.url()}`);
  });
  return problems;
}

/** A filled service for the tests of one file, and its visitors. */
export interface OpenedConsole {
  turnpike: Turnpike;
  filled: Filled;
  /** Opens a page with the token of a role. */
  visit(role: keyof Filled['tokens'], more?: Partial<VisitorOptions>): Promise<Visitor>;
}

/** Starts a service with this many messages before the tests of a file, prepares it, and stops it after them. */
export function openConsole(
  messageCount: number,
  prepare?: (turnpike: Turnpike, filled: Filled) => Promise<unknown>,
): OpenedConsole {
  const opened = {
    visit: (role, more) => visit({ url: opened.turnpike.url, token: opened.filled.tokens[role], ...more }),
  } as OpenedConsole;
  beforeAll(async () => {
    if (chromiumPath === null) return;
    opened.turnpike = await startOwnTurnpike('its pages show the whole installation');
    opened.filled = await fillConsole(opened.turnpike, messageCount);
    await prepare?.(opened.turnpike, opened.filled);
  });
  afterAll(() => opened.turnpike?.stop());
  return opened;
}
