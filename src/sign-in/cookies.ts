// The cookies of sign-in, between the thread, which knows one name for each, and browsers: over TLS each is bound to this very host
// by its name ("__Host-"), so that neither a neighbour's page nor a connection without TLS can put one in its place.

import { bounds } from '../config.ts';

const OURS = 'turnpike.';
const SESSION = 'turnpike.session_token=';
const BOUND = '__Host-';

/** Those of the header that are ours, by the names that the thread knows; empty where there are none. */
export function readCookies(header: string | null, isOverTls: boolean): string {
  if (header === null) return '';
  const prefix = isOverTls ? BOUND + OURS : OURS;
  const cookies = header
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(prefix))
    .map((part) => part.slice(prefix.length - OURS.length))
    .join('; ');
  return cookies.length > bounds.signInCookieCharactersMax ? '' : cookies;
}

/** Whether the request may be of somebody who is signed in. No look-up. */
export function hasSessionCookie(header: string | null, isOverTls: boolean): boolean {
  return readCookies(header, isOverTls).includes(SESSION);
}

/** As it is set in a browser. */
export function boundCookie(cookie: string, isOverTls: boolean): string {
  return isOverTls ? `${BOUND}${cookie}; Secure` : cookie;
}
