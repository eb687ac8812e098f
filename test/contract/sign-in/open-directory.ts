// A service with issuers of a company, and browsers that sign in at them.

import { expect } from 'bun:test';
import { ISSUED, type IssuedPerson, type Issuer } from '../../support/start-issuer.ts';
import type { Turnpike } from '../../support/start-turnpike.ts';
import { Browser } from './browser.ts';

export const PUBLIC = 'https://turnpike.example.com';

export function callbackOf(id: string): string {
  return `${PUBLIC}/console/auth/callback/${id}`;
}

/** The settings of an issuer; `number`: from 2 on, null: the first. */
export function settingsOf(url: string, more: Record<string, string> = {}, number: number | null = null) {
  const prefix = number === null ? 'TURNPIKE_OIDC' : `TURNPIKE_OIDC_${number}`;
  const members = { ISSUER: url, CLIENT_ID: ISSUED.clientId, CLIENT_SECRET: ISSUED.clientSecret, ...more };
  const named = Object.entries(members).map(([name, value]) => [`${prefix}_${name}`, value]);
  return { TURNPIKE_PUBLIC_URL: PUBLIC, ...Object.fromEntries(named) } as Record<string, string>;
}

let addresses = 0;

export function newBrowser(at: Turnpike): Browser {
  const address = `10.9.${addresses >> 8}.${addresses++ & 255}`;
  return new Browser(at.url, { 'x-forwarded-for': address, 'x-forwarded-proto': 'https' });
}

/** Signs in a person at the issuer, from the first redirect to the last. */
export async function signInAt(
  turnpike: Turnpike,
  issuer: Issuer,
  person: IssuedPerson,
  provider?: string,
): Promise<{ browser: Browser; location: string | null }> {
  issuer.person = person;
  const browser = newBrowser(turnpike);
  const body = { callbackURL: '/console/usage', ...(provider !== undefined && { provider }) };
  const begun = await browser.auth('/sign-in/social', body);
  expect(begun.status).toBe(200);
  const there = new Browser(issuer.url);
  let next = begun.body['url'] as string;
  for (let hops = 0; hops < 5 && !next.startsWith(PUBLIC); hops++) {
    const { headers } = await there.get(next, { 'sec-fetch-site': '' });
    next = new URL(headers.get('location') ?? '', next).href;
  }
  const { pathname, search } = new URL(next);
  const { headers, status } = await browser.get(pathname + search, { 'sec-fetch-site': 'cross-site' });
  expect(status).toBe(302);
  return { browser, location: headers.get('location') };
}

/** Where a refused person returns to. */
export function refusedBy(code: string): string {
  return `/console/sign-in?error=${code}`;
}
