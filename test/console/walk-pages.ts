// Visits every page of the console as each role with a session. Contains no tests.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { type Screen, screens } from '../../console/screens.ts';
import { Browser, type Somebody, signUp } from '../contract/sign-in/browser.ts';
import { countUse } from '../support/count-uses.ts';
import type { Turnpike } from '../support/start-turnpike.ts';
import { type FilledCompany, fillCompany } from './fill-company.ts';
import { fillBatches, fillConsole } from './fill-console.ts';
import { checkInLooks, findFaultsOfLook, findScript, type Look, takeLook } from './find-faults.ts';
import { type Visitor, type VisitorOptions, visit } from './open-console.ts';

export type Role = Screen['roles'][number];
export const roles: readonly Role[] = ['operator', 'viewer', 'owner', 'member'];

/** The values of the placeholders in the paths of the table of pages. */
export type Places = Readonly<
  Record<
    | 'accountId'
    | 'batchId'
    | 'billId'
    | 'clientBatchId'
    | 'keyId'
    | 'requestId'
    | 'modelName'
    | 'providerName'
    | 'destinationId'
    | 'deliveryId'
    | 'exportId',
    string
  >
>;

export interface FilledService {
  places: Places;
  people: Record<Role, Somebody>;
  /** null without usage. */
  company: FilledCompany | null;
}

/** An installation with or without usage, and one user per role. Owner and member belong to the same account. */
export async function fillService(turnpike: Turnpike, hasUsage: boolean): Promise<FilledService> {
  const { secret, ...given } = hasUsage ? await withUsage(turnpike) : await withoutUsage(turnpike);
  const people = await signUpRoles(turnpike, given.accountId);
  const company = hasUsage ? await fillCompany(turnpike, given.accountId, people, 'and development') : null;
  const clientBatchId = secret === null ? 'msgbatch_000000000' : await fillBatches(turnpike, secret);
  const places = { ...given, clientBatchId, modelName: 'sandbox-echo', providerName: 'sandbox' };
  return { places, people, company };
}

/** One user per role, owner and member of this account. */
export async function signUpRoles(turnpike: Turnpike, account: string): Promise<Record<Role, Somebody>> {
  const people = {} as Record<Role, Somebody>;
  for (const role of roles) {
    const isHolder = role === 'owner' || role === 'member';
    people[role] = await signUp(turnpike, `${role}@example.com`, role, isHolder ? account : undefined);
  }
  return people;
}

async function withUsage(turnpike: Turnpike) {
  const { accounts, key, requestId } = await fillConsole(turnpike, 36);
  const batch = await turnpike.admin('POST', '/code-batches', { name: 'spring campaign', amount: '5.00', count: 3 });
  const [code] = batch['codes'] as string[];
  await turnpike.admin('POST', `/accounts/${accounts.acme}/redemptions`, { code });
  const delivery = await withDelivery(turnpike, accounts.acme);
  const exportId = await withExport(turnpike, accounts.acme);
  const billId = await withBill(turnpike, 'sandbox', 'sandbox-echo');
  return {
    accountId: accounts.acme,
    batchId: String(batch['id']),
    billId,
    keyId: key.id,
    requestId,
    ...delivery,
    exportId,
    secret: key.secret,
  };
}

async function withoutUsage(turnpike: Turnpike) {
  const { id } = await turnpike.admin('POST', '/accounts', { name: 'acme' });
  const { data } = (await turnpike.admin('GET', '/keys')) as { data: { id: string }[] };
  const billId = 'sandbox:2026-01-05';
  const missing = {
    billId,
    batchId: 'batch_000000000',
    destinationId: 'dest_000000000',
    deliveryId: 'dlv_000000000',
    exportId: 'exp_000000000',
  };
  return {
    accountId: String(id),
    keyId: data[0]?.id ?? '',
    requestId: `req_${'0'.repeat(25)}`,
    ...missing,
    secret: null,
  };
}

/** A source and a bill of a provider, for a model of this name. */
export async function withBill(turnpike: Turnpike, provider: string, model: string): Promise<string> {
  await turnpike.admin('POST', '/provider-bill-sources', { provider, kind: 'anthropic', schedule: 'never' });
  const { token } = JSON.parse(readFileSync(join(turnpike.dataDirectory, 'operator.json'), 'utf8'));
  const day = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10); // in the default time range
  const cell = `"${model.replaceAll('"', '""')}"`;
  const imported = await fetch(`${turnpike.url}/api/v1/provider-bill-sources/${provider}/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'text/csv' },
    body: `usage_date_utc,model,token_type,cost_usd\n${day},${cell},output,1234.5678901234\n`,
  });
  if (!imported.ok) throw new Error(`the bill was not imported: ${await imported.text()}`);
  return `${provider}:${day}`;
}

/** A webhook of the account whose address cannot be reached, and a delivery to it. */
export async function withDelivery(turnpike: Turnpike, account: string) {
  const webhook = { kind: 'webhook', address: 'https://hooks.invalid/turnpike', types: ['key.*', 'balance.low'] };
  const { id } = await turnpike.admin('POST', '/destinations', { ...webhook, account });
  await turnpike.admin('POST', `/destinations/${id}/test`, {});
  for (;;) {
    const { data } = (await turnpike.admin('GET', `/deliveries?destination=${id}`)) as { data: { id: string }[] };
    if (data[0] !== undefined) return { destinationId: String(id), deliveryId: data[0].id };
    await Bun.sleep(50);
  }
}

/** An export of the account with a run that waits. */
export async function withExport(turnpike: Turnpike, account: string): Promise<string> {
  const { id } = await turnpike.admin('POST', '/exports', {
    ...{ kind: 'costs', every: 'month', target: 's3', s3_endpoint: 'https://s3.invalid', s3_bucket: 'finance' },
    ...{
      s3_access_key_id: 'AKID',
      s3_secret_access_key: 'secret',
      name: 'Finance <img src=x onerror=alert(1)>',
      account,
    },
  });
  await turnpike.admin('POST', `/exports/${id}/run`, {});
  return String(id);
}

/** The path below /console of every page that a role can open. */
export function pagesOf(role: Role, places: Places): string[] {
  return screens.filter((screen) => screen.roles.includes(role)).map(({ path }) => fillPath(path, places));
}

export function fillPath(path: string, places: Places): string {
  return path.replace(/\$(\w+)/g, (_, name: string) => {
    const place = places[name as keyof Places];
    if (place === undefined) throw new Error(`no value for $${name} in the path of a page`);
    return encodeURIComponent(place);
  });
}

/** Opens the console with a new session of a user. */
export async function visitAs(
  turnpike: Turnpike,
  { email }: Somebody,
  more: Partial<VisitorOptions> = {},
): Promise<Visitor> {
  const signedIn = new Browser(turnpike.url);
  const { status, code } = await signedIn.signIn(email);
  if (status !== 200) throw new Error(`${email} cannot sign in: ${status} ${code}`);
  const visitor = await visit({ url: turnpike.url, ...more });
  const cookies = [...signedIn.cookies].map(([name, value]) => ({ name, value, url: turnpike.url }));
  await visitor.context.addCookies(cookies);
  return visitor;
}

const QUIET_MS = 100;

export interface Walker {
  /** Loads a page and waits for its heading or an error, for the network, and for animations. */
  walkTo(path: string): Promise<void>;
  /** Opens a page with another path without loading the console again, as a link does: in half the time. */
  follow(path: string): Promise<void>;
  settle(): Promise<void>;
}

export function walkerFor(page: Page, url: string): Walker {
  const running = new Set<unknown>();
  let lastMs = Date.now();
  const began = (request: unknown) => running.add(request);
  const ended = (request: unknown) => {
    running.delete(request);
    lastMs = Date.now();
  };
  page.on('request', began).on('requestfinished', ended).on('requestfailed', ended);
  page.on('framenavigated', () => running.clear());
  const settle = async () => {
    const endMs = Date.now() + 20_000;
    while (running.size > 0 || Date.now() - lastMs < QUIET_MS) {
      if (Date.now() > endMs) throw new Error(`${page.url()} does not become idle`);
      await Bun.sleep(20);
    }
    for (const unfinished of ['.early', '.mantine-Skeleton-root'])
      await page.locator(unfinished).first().waitFor({ state: 'detached' });
    await waitForAnimations(page);
  };
  return {
    settle,
    async walkTo(path) {
      await page.goto(`${url}/console${path}`);
      await page.locator('h1, [role="alert"]').first().waitFor();
      await settle();
    },
    async follow(path) {
      countUse('pages');
      await page.evaluate((target) => {
        for (const one of document.querySelectorAll('h1, [role="alert"]')) one.setAttribute('data-left', '');
        history.pushState({}, '', target);
      }, `/console${path}`);
      await page.locator(':is(h1, [role="alert"]):not([data-left])').first().waitFor();
      await settle();
    },
  };
}

/** Waits for all finite animations. */
async function waitForAnimations(page: Page): Promise<void> {
  await page.evaluate(async () => {
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    const moving = document.getAnimations().filter(({ effect }) => effect?.getComputedTiming().endTime !== Infinity);
    await Promise.allSettled(moving.map(({ finished }) => finished));
  });
}

/** One page of a walk. */
export interface Stop {
  path: string;
  looks: readonly Look[];
  /** Opened from the page before it, without loading the console again. */
  isFollowed?: boolean;
  /** It must show more than its title before the libraries load. */
  hasFirst?: boolean;
}

/**
 * Visits the pages and makes every check that needs no knowledge of them, and `check`, in each look. Returns the faults,
 * each with page, role, look and check.
 */
export async function walkPages(
  { page, problems, url }: Visitor,
  role: Role | 'nobody',
  stops: readonly Stop[],
  check: (path: string, look: Look) => Promise<string[]> = async () => [],
): Promise<string[]> {
  const walker = walkerFor(page, url);
  await page.addInitScript(shiftClock, MONTH_ENDS_MS - 1);
  await page.addInitScript(keepFirstContent);
  await page.addInitScript(waitForFirstContent);
  const faults: string[] = [];
  const withoutShell = new Set<string>();
  for (const [at, { path, looks, isFollowed = false, hasFirst = false }] of stops.entries()) {
    const [first] = looks;
    if (first !== undefined) await takeLook(page, first);
    const isLoaded = !isFollowed || at === 0;
    await (isLoaded ? walker.walkTo(path) : walker.follow(path));
    const beside = isLoaded ? await page.evaluate(findBeside, hasFirst) : [];
    const found = await checkInLooks(page, walker, looks, async (look) => {
      const name = JSON.stringify(look);
      const withShell = !withoutShell.has(name);
      withoutShell.add(name);
      const { origin } = new URL(page.url());
      return [
        ...(await findFaultsOfLook(page, look, withShell)),
        ...(await findScript(page)),
        ...(origin === url ? [] : [`it is at ${origin}`]),
        ...problems.splice(0),
        ...(await check(path, look)),
      ];
    });
    faults.push(...[...found, ...beside, ...problems.splice(0)].map((fault) => `${path} as ${role}, ${fault}`));
  }
  return faults;
}

/** When the month of the data ends: in the next one, statements and ranges of a month are empty. */
const MONTH_ENDS_MS = Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth() + 1);

/**
 * Runs in the page, whose clock is ahead: new objects are an hour old, so that relative times are long, and the page is in an hour that
 * the server has not reached. `lastMs`: it stays there.
 */
function shiftClock(lastMs: number): void {
  const { now } = Date;
  Date.now = () => Math.min(now() + 61 * 60_000, lastMs);
}

interface FirstContent {
  firstContent: Set<string>;
}

/** Runs in the page: keeps each text that is drawn before the page. */
function keepFirstContent(): void {
  const seen = new Set<string>();
  Object.assign(globalThis, { firstContent: seen });
  new MutationObserver(() => {
    for (const one of document.querySelectorAll('.early-page :is(h1, h2, p, th, td, dt, dd, label, button)'))
      seen.add(one.textContent);
  }).observe(document, { childList: true, subtree: true });
}

/** Runs in the page: however busy the machine, the libraries wait for the first content. */
function waitForFirstContent(): void {
  const { setTimeout: start } = window;
  const FIRST_MS_MAX = 1_200;
  const later = (run: TimerHandler, ms?: number, ...given: unknown[]) =>
    start(run, ms === FIRST_MS_MAX ? 60_000 : ms, ...given);
  window.setTimeout = later as typeof setTimeout;
}

/** Runs in the page: what the first content said beside the page, and answers that were requested in vain. */
function findBeside(hasFirst: boolean): string[] {
  const { firstContent, turnpikeAnswers } = globalThis as unknown as FirstContent & {
    turnpikeAnswers: Map<string, unknown>;
  };
  const bare = (text = '') => text.replace(/\s+/g, '');
  const fields = [...document.querySelectorAll<HTMLInputElement>('#root input')].map(({ value }) => value);
  const shown = bare(`${document.querySelector('#root')?.textContent} ${fields.join(' ')}`);
  const beside = [...firstContent].filter((text) => !shown.includes(bare(text)));
  return [
    ...(hasFirst && firstContent.size < 2 ? ['it has no first content but its title'] : []),
    ...beside.map((text) => `its first content says "${text}"`),
    ...[...turnpikeAnswers.keys()]
      .filter((one) => !/\/(?:me|sign-in)$/.test(one))
      .map((address) => `it did not need ${address}`),
  ];
}
