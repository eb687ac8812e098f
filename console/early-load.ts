// Starts what the first page needs before the other scripts have loaded: its scripts, its first requests, and the sign-in.

import type { SignInShape } from '../src/admin-api/shapes.ts';

/** The names of scripts, which bin/console-files.ts fills in. Numbers are places in `names`. */
export interface EarlyScripts {
  names: readonly string[];
  /** Those of main.tsx, which comes first, of the sign-in form, and of the first content. */
  main: readonly number[];
  signIn: readonly number[];
  first: readonly number[];
  /** By the path of each page, what it needs besides. */
  pages: Readonly<Record<string, readonly number[]>>;
  /** The hash in the names of the files of console/first-pages.tsx. */
  drawn: string;
  /** The paths of pages before sign-in. */
  openPaths: readonly string[];
  /** Styles of what no page begins with: charts and notifications. */
  laterStyles: string;
}

declare const EARLY_SCRIPTS: EarlyScripts;

const scripts = EARLY_SCRIPTS;

const KEPT_MS = 30_000;

declare global {
  /** The answers of requests that were sent early, by their addresses. Each is taken once. */
  var turnpikeAnswers: Map<string, Promise<Response>>;
}

const ME = '/api/v1/me';

/** `isKnown`: someone was signed in before. Otherwise the form of the sign-in comes first if it is needed. */
export function startEarly(isKnown: boolean): void {
  globalThis.turnpikeAnswers = new Map();
  const options = ask('/api/v1/sign-in');
  setTimeout(() => globalThis.turnpikeAnswers.clear(), KEPT_MS);
  const path = location.pathname.replace(/^\/console\/?/, '/').replace(/(?<=.)\/$/, '');
  const isOpen = scripts.openPaths.includes(path);
  const me = isOpen ? null : ask(ME);
  if (me === null) startMain(path);
  else void startSignedIn(me, options, path, isKnown);
}

/** Begins with the first content of the page; with the form of the sign-in, or its libraries, without a session. */
async function startSignedIn(
  me: Promise<Response>,
  options: Promise<Response>,
  path: string,
  isKnown: boolean,
): Promise<void> {
  const drawing = isKnown ? drawFirst(path, me) : null;
  let [isForm, isIn] = [false, false];
  try {
    const { ok, status } = await (isKnown ? Promise.race([me, wait(FIRST_MS_MAX)]) : me);
    isIn = ok;
    // The first page of the service may be one of the operator's.
    isForm = status === 401 && !isKnown && !(path === '/' && (await hasLandingPage(options)));
  } catch {} // the page shows that the service is unreachable
  if (isForm) return signIn(path);
  if (isIn) await Promise.race([drawing ?? drawFirst(path, me), wait(FIRST_MS_MAX)]);
  startMain(path);
}

/** The libraries would delay the answers over a slow line: they wait for the first content, but not long. */
const FIRST_MS_MAX = 1_200;

function wait(ms: number): Promise<Response> {
  return new Promise((resolve) => setTimeout(() => resolve(Response.error()), ms));
}

async function drawFirst(path: string, me: Promise<Response>): Promise<void> {
  const [first = 0] = scripts.first;
  preload(scripts.first);
  try {
    const { showFirst }: typeof import('./first-content.ts') = await import(addressOf(first));
    await showFirst(path, ask, me, scripts.drawn);
  } catch {} // the page draws all of it
}

async function hasLandingPage(options: Promise<Response>): Promise<boolean> {
  const { pages }: SignInShape = await (await options).clone().json();
  return pages.landing;
}

function startMain(path: string): void {
  preloadMain(path);
  const [main = 0] = scripts.main;
  const script = add('script', { type: 'module', src: addressOf(main) });
  script.addEventListener('load', () => add('link', { rel: 'stylesheet', href: `/console/${scripts.laterStyles}` }));
}

function preloadMain(path: string): void {
  const { main, pages } = scripts;
  const [, ofPage = []] = Object.entries(pages).find(([pattern]) => isPath(path, pattern)) ?? [];
  preload([...main, ...ofPage]);
}

/** Shows the form; the scripts of the page load while it is filled in. */
async function signIn(path: string): Promise<void> {
  globalThis.turnpikeAnswers.delete(ME);
  preload(scripts.signIn);
  const [first = 0] = scripts.signIn;
  try {
    const { showSignIn }: typeof import('./features/sign-in/form.ts') = await import(addressOf(first));
    const frame = document.querySelector<HTMLElement>('.early');
    const place = document.createElement('div');
    frame?.before(place);
    frame?.remove();
    globalThis.turnpikeSearch.isOffered = false;
    preloadMain(path);
    const leave = showSignIn(place, () => {
      leave();
      if (frame !== null) place.replaceWith(frame);
      document.documentElement.classList.add('early-frame');
      globalThis.turnpikeSearch.isOffered = true;
      startMain(path);
    });
  } catch {
    startMain(path); // the script did not load
  }
}

function isPath(path: string, pattern: string): boolean {
  return new RegExp(`^${pattern.replace(/\$\w+/g, '[^/]+')}$`).test(path);
}

function ask(address: string): Promise<Response> {
  const answer = readWhole(address);
  answer.catch(() => {}); // the caller that takes the answer gets the failure
  globalThis.turnpikeAnswers.set(address, answer);
  return answer;
}

/** An answer that nobody reads would keep its connection. */
async function readWhole(address: string): Promise<Response> {
  const answer = await fetch(address, { credentials: 'same-origin' });
  return new Response(await answer.blob(), answer);
}

function preload(places: readonly number[]): void {
  for (const place of places) add('link', { rel: 'modulepreload', href: addressOf(place) });
}

function add(tag: string, attributes: Record<string, string>): HTMLElement {
  const made = Object.assign(document.createElement(tag), attributes);
  document.head.append(made);
  return made;
}

function addressOf(place: number): string {
  return `/console/${scripts.names[place]}`;
}
