// The terms that people must agree to before their sessions may go on.

import type { Person } from '../accounts/accounts.ts';
import { type Settings, termsOf } from '../catalog/catalog.ts';
import { TurnpikeError } from '../errors.ts';

export const CONSENT_PATH = '/api/v1/me/consent';

/** The version of the terms that people must agree to; null: none. */
export function versionToAgree(settings: Settings): string | null {
  return termsOf(settings)?.version ?? null;
}

/** Throws consent_required. */
export function refuseWithoutConsent({ consents = [] }: Person, settings: Settings): void {
  const wanted = versionToAgree(settings);
  if (wanted === null || consents.some(({ version }) => version === wanted)) return;
  throw new TurnpikeError(
    'consent_required',
    `Agree to version "${wanted}" of the terms in the console, then continue.`,
  );
}
