// A new person with a one-time link, before anything is stored.

import { makeLinkSecret, type Person } from '../accounts/accounts.ts';
import { newNumber } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import { hashSecret, type Secret } from '../secrets/secrets.ts';

/** The parts of a new person that do not depend on who invites whom. */
export function makeInvitation(nowMs: number) {
  const secret = makeLinkSecret();
  const status = 'invited' as const;
  const times = { linkExpiresAtMs: nowMs + bounds.linkMs, createdAtMs: nowMs };
  return { id: newNumber(), status, ...times, secret, linkHash: hashSecret(secret.reveal()) };
}

/** An invitation as operator, with its link. Stores nothing. */
export function makeFirstOperator(nowMs: number): { person: Person; linkHash: string; secret: Secret } {
  const { secret, linkHash, ...link } = makeInvitation(nowMs);
  return {
    person: { ...link, accountId: null, role: 'operator', email: null, name: '', madeBy: 'start' },
    linkHash,
    secret,
  };
}
