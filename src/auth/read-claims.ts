// The parts of an issuer's claims that decide who signs in. https://openid.net/specs/openid-connect-core-1_0.html, section 5.1

import { bounds } from '../config/config.ts';
import type { IdentityClaim, IssuerSettings } from '../sign-in/sign-in.ts';

type Claims = Readonly<Record<string, unknown>>;

/** Whether the issuer says that the email is verified, or says nothing and is trusted to send only those. */
export function isEmailVerified(claims: Claims, { isEmailAssumed }: Pick<IssuerSettings, 'isEmailAssumed'>): boolean {
  const { email_verified: verified } = claims;
  return verified === undefined ? isEmailAssumed : verified === true || verified === 'true';
}

/** As addresses of people: other letters could become those of somebody else in lower case, such as the Kelvin sign a "k". */
const EMAIL_CHARACTERS = /^[\x21-\x7e]+$/;

/** null without a subject or an email that people can have. */
export function readClaim(
  claims: Claims,
  { id: source, groupsClaim }: Pick<IssuerSettings, 'id' | 'groupsClaim'>,
): Omit<IdentityClaim, 'formerEmail'> | null {
  const { sub: subject, email, name } = claims;
  if (typeof subject !== 'string' || subject === '' || subject.length > bounds.subjectCharactersMax) return null;
  if (typeof email !== 'string' || email.length > bounds.emailCharactersMax || !EMAIL_CHARACTERS.test(email))
    return null;
  const shown = typeof name === 'string' ? [...name.trim()].slice(0, bounds.nameCharactersMax).join('') : '';
  return { source, subject, email: email.toLowerCase(), name: shown, groups: readGroups(claims, groupsClaim) };
}

/**
 * The names of the person's groups; none without the claim. null if the issuer left them out because there are too many, which
 * Microsoft Entra says with `_claim_names` or `hasgroups`: https://learn.microsoft.com/en-us/security/zero-trust/develop/configure-tokens-group-claims-app-roles
 * (read 2026-11-29).
 */
function readGroups(claims: Claims, name: string): string[] | null {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  if (value === undefined) return isLeftOut(claims, name) ? null : [];
  const names = (Array.isArray(value) ? value : [value]).filter((one) => typeof one === 'string');
  if (names.length > bounds.groupNamesMax) return null;
  return names.filter((one) => one !== '' && one.length <= bounds.groupNameCharactersMax);
}

function isLeftOut(claims: Claims, name: string): boolean {
  const { _claim_names: elsewhere, hasgroups } = claims;
  if (typeof elsewhere === 'object' && elsewhere !== null && Object.hasOwn(elsewhere, name)) return true;
  return name === 'groups' && (hasgroups === true || hasgroups === 'true');
}
