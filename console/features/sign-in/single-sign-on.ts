// Single sign-on: the way to an issuer, and why it may have failed.

import { callSignIn } from '../../api.ts';

const issuerRefusals = {
  person_unknown: 'No account exists for this email address. Ask an operator to invite you.',
  person_disabled: 'Your access is disabled. Contact an operator.',
  email_not_verified: 'Your single sign-on provider has not verified your email address.',
  email_not_found: 'Your single sign-on provider did not send your email address.',
  email_changed: 'Your email address at the single sign-on provider has changed. Contact an operator.',
  store_unavailable: 'Sign-in is unavailable. Try again shortly.',
  email_not_trusted: 'This single sign-on provider does not accept your email domain. Try another one.',
  email_denied: 'Email addresses of your domain are not accepted here. Contact an operator.',
  groups_unavailable: 'Your single sign-on provider did not send all of your groups. Contact an operator.',
  identity_taken: 'A user with your email address signs in with another single sign-on account. Contact an operator.',
  no_place: 'None of your directory groups has access. Contact the administrator of your directory.',
  access_denied: 'You canceled the sign-in, or the single sign-on provider denied access.',
  state_mismatch: 'The sign-in timed out, or it was started in another window. Try again.',
  please_restart_the_process: 'The sign-in timed out, or it was started in another window. Try again.',
} as Readonly<Record<string, string>>;

/** Explains a failed single sign-on by the code in the address; null without one. */
export function issuerRefusal(error: string | undefined): string | null {
  if (error === undefined || !/^[a-z_]{1,60}$/.test(error)) return null;
  return issuerRefusals[error] ?? `Single sign-on failed (${error}). Try again, or contact an operator.`;
}

/** The return addresses that the service accepts. */
const RETURNABLE =
  /^\/console\/(?!auth\/|sign-in|sign-up|invitation|password-reset|unsubscribe)[\w\-./]*(?:\?[\w\-.=&%]*)?$/;

/** Leads to the issuer, and from there back to this page. */
export async function redirectToIssuer(id: string): Promise<void> {
  const { url } = await callSignIn('POST /sign-in/social', { body: { callbackURL: pageToReturnTo(), provider: id } });
  if (!['https:', 'http:'].includes(new URL(url).protocol))
    throw new Error('The single sign-on provider returned an invalid address.');
  window.location.assign(url);
}

function pageToReturnTo(): string {
  const { pathname, search } = window.location;
  if (RETURNABLE.test(pathname + search)) return pathname + search;
  return RETURNABLE.test(pathname) ? pathname : '/console/';
}
