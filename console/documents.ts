// The documents of the terms.

import type { SignInShape } from '../src/admin-api/shapes.ts';

/** The documents that there are, with their names. */
export function documentsOf(terms: SignInShape['terms'] | undefined): { name: string; href: string }[] {
  const { terms_of_service: service = null, privacy_policy: privacy = null } = terms ?? {};
  return [
    ...(service === null ? [] : [{ name: 'Terms of service', href: service }]),
    ...(privacy === null ? [] : [{ name: 'Privacy policy', href: privacy }]),
  ];
}
