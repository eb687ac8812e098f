// The state of sign-up, and the domains of emails that may come in. Sign-up is on if the setting is on, a mail server is configured and the
// group of new accounts exists.

import { isDeniedEmail } from '../accounts/accounts.ts';
import { invalidMember } from './admin-app.ts';
import type { AdminDependencies } from './dependencies.ts';

export function isEmailDenied({ catalog }: Pick<AdminDependencies, 'catalog'>, email: string): boolean {
  const { emailDomainsDenied: denied, emailDomainsAllowed: allowed } = catalog.current().settings;
  return isDeniedEmail(email, { denied, allowed });
}

/** Throws invalid_request for an email at a domain that the operator does not accept. */
export function refuseDeniedEmail(dependencies: Pick<AdminDependencies, 'catalog'>, email: string): void {
  if (!isEmailDenied(dependencies, email)) return;
  const domain = email.slice(email.lastIndexOf('@') + 1);
  throw invalidMember('email', `must not be an address at ${domain}: use a permanent address of yours`);
}

export function isSignUpOpen({ catalog, mailer }: Pick<AdminDependencies, 'catalog' | 'mailer'>): boolean {
  const { settings, groups } = catalog.current();
  return settings.signUp === 'on' && mailer !== null && groups.has(settings.signUpGroup);
}
