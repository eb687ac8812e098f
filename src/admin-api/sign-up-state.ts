// The state of sign-up. It is on if the setting is on, a mail server is configured and the group of new accounts exists.

import type { AdminDependencies } from './dependencies.ts';

export function isSignUpOpen({ catalog, mailer }: Pick<AdminDependencies, 'catalog' | 'mailer'>): boolean {
  const { settings, groups } = catalog.current();
  return settings.signUp === 'on' && mailer !== null && groups.has(settings.signUpGroup);
}
