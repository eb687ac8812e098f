// Whether people can sign up: the setting, a mail server, and the group of new accounts.

import type { AdminDependencies } from './dependencies.ts';

export function isSignUpOpen({ catalog, mailer }: Pick<AdminDependencies, 'catalog' | 'mailer'>): boolean {
  const { settings, groups } = catalog.current();
  return settings.signUp === 'on' && mailer !== null && groups.has(settings.signUpGroup);
}
