// Every page of the console in a real Chromium, as each role. One visit makes every check of a page: accessibility, its
// layout, script in texts, errors, and buttons that the role cannot use.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { publicScreens } from '../../console/screens.ts';
import { invite } from '../contract/sign-in/browser.ts';
import { startOwnTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { chromium } from '../verify/clients/open-browser.ts';
import { type FilledInstallation, SCRIPT, startFilledInstallation } from './fill-installation.ts';
import { everyLook, findChanges, findOpenFilters, type Look } from './find-faults.ts';
import { visit } from './open-console.ts';
import {
  type FilledService,
  fillPath,
  fillService,
  pagesOf,
  type Role,
  type Stop,
  visitAs,
  walkPages,
} from './walk-pages.ts';

setDefaultTimeout(600_000);

const seen = test.skipIf(chromium === null);

let full: FilledInstallation;
let empty: { turnpike: Turnpike } & FilledService;
beforeAll(async () => {
  if (chromium === null) return;
  full = await startFilledInstallation();
  const turnpike = await startOwnTurnpike('its pages show an installation that takes no payments');
  empty = { turnpike, ...(await fillService(turnpike, false)) };
});
afterAll(async () => {
  await full?.[Symbol.asyncDispose]();
  await empty?.turnpike.stop();
});

/**
 * Not every page is seen by every role in every look. The first role that sees a page loads it, and checks it wide,
 * dark and narrow. The other roles differ in content, not in styles: they follow links to it, and see it in one look,
 * owners and members on a dark phone. Viewers see what operators see without buttons, so that axe does not run again.
 * Without data, pages have less content in the same styles: one look.
 */
const WIDE_LIGHT: Look = { isPhone: false, isDark: false, rules: 'none' };
const PHONE_DARK: Look = { isPhone: true, isDark: true, rules: 'all' };

/** Pages in a state that their address names. */
function viewsOf(role: Role): string[] {
  const { payments, scriptRequests, people, company, places } = full;
  const { teamId = '', memberKeyId = '', session = '', userCode = '' } = company ?? {};
  const ofPerson = `/people?person=${people.member.id}`;
  const ofAgents = [`/session?session=${session}`, `/keys/${memberKeyId}`];
  if (role === 'owner')
    return [
      ...[`/billing?payment=${payments.paid}&outcome=paid`, `/billing?payment=${payments.pending}&outcome=canceled`],
      ...[ofPerson, `/accounts/${teamId}`, `/keys/new?account=${teamId}`],
    ];
  if (role === 'member') return [...ofAgents, `/device?user_code=${userCode}`];
  if (role !== 'operator') return [];
  return [
    ...[ofPerson, ...ofAgents, `/usage?group_by=tag&tag_name=project`, '/usage?group_by=person'],
    `/accounts/${places.accountId}/statement?tag_name=cost_centre`,
    `/payments?show=${payments.failed}`,
    ...scriptRequests.map((id) => `/usage/${id}`),
    ...['/models/sandbox-cut', '/providers/sandbox'], // with health, and routes that fail
    ...['/usage?outcome=failed', '/keys?status=enabled', '/reference?api=admin'],
  ];
}

/** A filter of each list that has some, and the name of the button that opens them on a phone. */
const filters: Readonly<Record<string, readonly [field: string, button?: string]>> = {
  '/keys': ['Name, prefix, tag or account'],
  '/keys?status=enabled': ['Name, prefix, tag or account', 'Filters (1)'],
  '/models': ['Name or alias'],
  '/accounts': ['Name'],
  '/settings': ['Setting'],
  '/destinations': ['Account'],
  '/reference?api=admin': ['Search operations'],
};

/** Pages with a table, which must be there to be checked. */
const lists = (accountId: string) => [
  ...['/usage', '/rejected', '/events', '/keys', '/models', '/models/sandbox-cut', '/groups', '/providers'],
  ...['/providers/sandbox', '/accounts', `/accounts/${accountId}`, `/accounts/${accountId}/transactions`],
  ...[`/accounts/${accountId}/statement`, '/payments', '/people', '/destinations', '/tokens', '/exports'],
  ...['/agent-sign-ins', '/directory-groups', '/provider-bills', '/usage?group_by=tag&tag_name=project'],
];

/** The pages of a role with data: those of other roles are followed in one look, and the others are loaded in each. */
function stopsOf(role: Role): Stop[] {
  const { places } = full;
  const ofOperator = new Set(pagesOf('operator', places));
  const isFirst = (path: string) => role === 'operator' || (role === 'owner' && !ofOperator.has(path));
  const later = role === 'viewer' ? WIDE_LIGHT : PHONE_DARK;
  const pages = pagesOf(role, places);
  return [...pages, ...viewsOf(role)].map((path) =>
    isFirst(path)
      ? { path, looks: everyLook, hasFirst: pages.includes(path) && path !== '/session' }
      : { path, looks: [later], isFollowed: true },
  );
}

/** The provider answers every request with an error, also the one for its models, which is all that the page shows. */
const LISTS_NO_MODELS = /: 502 \S+\/providers\/evil\/models$|^\/providers\/evil\/models as .* has no first content/;

describe('with data', () => {
  seen.each(['operator', 'viewer', 'owner', 'member'] as const)('every page is right in the role %s', async (role) => {
    const { turnpike, people, places } = full;
    await using visitor = await visitAs(turnpike, people[role]);
    const { page } = visitor;
    const tables = new Set(lists(places.accountId));
    let scriptCount = 0;
    const faults = await walkPages(visitor, role, stopsOf(role), async (path, look) => {
      const found: string[] = [];
      if (!look.isDark && (await page.getByText('onerror=').count()) > 0) scriptCount++;
      if (role === 'viewer' && path !== '/profile') found.push(...(await findChanges(page)));
      if (role === 'operator' && tables.has(path) && (await page.locator('main table').count()) === 0)
        found.push('no table');
      const [field, button = 'Filters'] = filters[path] ?? [];
      if (look.isPhone && field !== undefined && (role === 'operator' || path === '/models'))
        found.push(...(await findOpenFilters(page, field, button)));
      return found;
    });
    expect(faults.filter((fault) => !LISTS_NO_MODELS.test(fault))).toEqual([]);
    if (role === 'operator') expect(scriptCount).toBeGreaterThan(6); // the text is present
  });
});

describe('without data', () => {
  seen.each(['operator', 'owner'] as const)('every page is right in the role %s', async (role) => {
    const { turnpike, people, places } = empty;
    await using visitor = await visitAs(turnpike, people[role]);
    // A form for something new has the same content without data.
    const paths = pagesOf(role, places).filter((path) => !path.endsWith('/new'));
    const stops = paths.map((path) => ({ path, looks: [PHONE_DARK], isFollowed: true }));
    expect(await walkPages(visitor, role, stops)).toEqual([]);
  });
});

/** Advice that only those can follow who may change what it names. */
const ADVICE = /(?:Create|Invite|Add|Connect|Set up) (?:an?|one|the|your) [^.]+/;

seen('a viewer of empty lists is told to create nothing', async () => {
  const { turnpike, people, places } = empty;
  await using visitor = await visitAs(turnpike, people.viewer);
  const lists = ['/plans', '/codes', '/exports', '/destinations', '/models', '/providers', '/accounts/$accountId'];
  const stops = lists.map((path) => ({ path: fillPath(path, places), looks: [WIDE_LIGHT], isFollowed: true }));
  const faults = await walkPages(visitor, 'viewer', stops, async () => {
    return ADVICE.exec((await visitor.page.locator('main').textContent()) ?? '') ?? [];
  });
  expect(faults).toEqual([]);
});

seen('the pages before sign-in and the error pages are right', async () => {
  const { turnpike, people } = empty;
  const { secret } = await invite(turnpike, 'grace@example.com');
  const bad = encodeURIComponent(SCRIPT);
  const thorough = (path: string) => ({ path, looks: everyLook });
  const open = publicScreens.map(({ path }) => path);
  const paths = [...open, `/invitation?again#${secret}`, '/keys', '/sign-in?error=person_unknown'];
  await using stranger = await visit({ url: turnpike.url });
  const hostile = [`/sign-in?error=${bad}`, `/sign-in?next=//evil.example&return=javascript:window.ran=1`];
  const stops = [...hostile, `/invitation#${bad}`].map((path) => ({ path, looks: [WIDE_LIGHT] }));
  expect(await walkPages(stranger, 'nobody', [...paths.map(thorough), ...stops])).toEqual([]);
  await using operator = await visitAs(turnpike, people.operator);
  expect(await walkPages(operator, 'operator', ['/nothing/here', '/keys/key_000000000'].map(thorough))).toEqual([]);
});

seen('an address with script in ids, filters or errors runs nothing and stays on the site', async () => {
  const { turnpike, people } = empty;
  const bad = encodeURIComponent(SCRIPT);
  const paths = [
    ...[`/usage/${bad}`, `/keys/${bad}`, `/models/${bad}`, `/accounts/${bad}`, `/playground?model=${bad}`],
    `/usage?model=${bad}&key=${bad}&outcome=${bad}&range=${bad}&from=${bad}`,
    ...[`/keys?status=${bad}&name=${bad}`, `/audit?object=${bad}&actor=${bad}`, `/people?person=${bad}`],
    ...[`/?range=${bad}`, `/${bad}`],
  ];
  await using visitor = await visitAs(turnpike, people.owner);
  const stops = paths.map((path) => ({ path, looks: [WIDE_LIGHT] }));
  expect(await walkPages(visitor, 'owner', stops)).toEqual([]);
});
