// Users: the attributes of a client's JSON, checked; and the JSON of a stored user.

import type { ScimAttributes, ScimEmail, ScimGroup, ScimName, ScimUser } from '../accounts/accounts.ts';
import { formatId } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import { scimFault } from './faults.ts';
import {
  isObject,
  type JsonMembers,
  listOf,
  memberOf,
  optionalFlag,
  optionalText,
  requiredText,
} from './read-members.ts';
import { USER_SCHEMA } from './schemas.ts';

export interface ReadUser extends ScimAttributes {
  /** With which the person signs in: the primary address, the first, or the userName; in lower case. */
  email: string;
}

/** Each part is bounded or cannot overlap with the next, so that matching is linear. */
const EMAIL = /^[A-Za-z0-9_'+-]+(\.[A-Za-z0-9_'+-]+)*@([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63}$/;

/**
 * The user that a client wrote. `active` without a value is as `before`, so that no omission lets a disabled person in again.
 * Throws invalidValue.
 */
export function readUser(json: JsonMembers, before: Pick<ScimAttributes, 'active'> | null): ReadUser {
  const userName = requiredText(memberOf(json, 'userName'), 'userName');
  const emails = readEmails(memberOf(json, 'emails'));
  return {
    userName,
    externalId: optionalText(memberOf(json, 'externalId'), 'externalId'),
    active: optionalFlag(memberOf(json, 'active'), 'active') ?? before?.active ?? true,
    displayName: optionalText(memberOf(json, 'displayName'), 'displayName'),
    name: readName(memberOf(json, 'name')),
    emails,
    email: addressOf(userName, emails),
  };
}

function readName(value: unknown): ScimName | null {
  if (value === undefined || value === null) return null;
  if (!isObject(value)) throw scimFault('invalidValue', 'name: must be an object');
  return {
    formatted: optionalText(memberOf(value, 'formatted'), 'name.formatted'),
    familyName: optionalText(memberOf(value, 'familyName'), 'name.familyName'),
    givenName: optionalText(memberOf(value, 'givenName'), 'name.givenName'),
  };
}

function readEmails(value: unknown): ScimEmail[] {
  const emails = listOf(value, 'emails', bounds.scimEmailsMax).map((email) => {
    const members = typeof email === 'string' ? { value: email } : email;
    if (!isObject(members)) throw scimFault('invalidValue', 'emails: must be a list of objects');
    return {
      value: requiredText(memberOf(members, 'value'), 'emails.value'),
      type: optionalText(memberOf(members, 'type'), 'emails.type'),
      primary: optionalFlag(memberOf(members, 'primary'), 'emails.primary'),
    };
  });
  if (emails.filter(({ primary }) => primary === true).length > 1)
    throw scimFault('invalidValue', 'emails: must have at most one primary address');
  return emails;
}

function addressOf(userName: string, emails: readonly ScimEmail[]): string {
  const chosen = emails.find(({ primary }) => primary === true) ?? emails[0];
  const address = chosen?.value ?? userName;
  if (address.length <= bounds.emailCharactersMax && EMAIL.test(address)) return address.toLowerCase();
  throw scimFault('invalidValue', 'emails: must have an email address, unless userName is one: people sign in with it');
}

/** The name that others see: empty without one. */
export function shownNameOf({ displayName, name }: ScimAttributes): string {
  const { formatted, givenName, familyName } = name ?? { formatted: null, givenName: null, familyName: null };
  const parts = [givenName, familyName].filter((part) => part !== null && part.trim() !== '');
  const shown = [displayName, formatted, parts.join(' ')].find((text) => (text?.trim() ?? '') !== '') ?? '';
  return [...shown.trim()].slice(0, bounds.nameCharactersMax).join('');
}

/** Without null members: absent and unassigned are the same (RFC 7643, section 2.5). */
export function userJson(user: ScimUser, groups: readonly ScimGroup[], base: string): JsonMembers {
  const { id, createdAtMs, updatedAtMs } = user;
  const shownId = formatId('scimuser', id);
  const location = `${base}/Users/${shownId}`;
  return {
    schemas: [USER_SCHEMA],
    id: shownId,
    ...attributesJson(user),
    ...(groups.length > 0 && {
      groups: groups.map((group) => {
        const value = formatId('scimgroup', group.id);
        return { value, $ref: `${base}/Groups/${value}`, display: group.displayName, type: 'direct' };
      }),
    }),
    meta: { resourceType: 'User', ...times(createdAtMs, updatedAtMs), location },
  };
}

/** The attributes that a directory may write, also as the draft that PATCH changes. */
export function attributesJson({
  userName,
  externalId,
  active,
  displayName,
  name,
  emails,
}: ScimAttributes): JsonMembers {
  return {
    ...(externalId !== null && { externalId }),
    userName,
    ...(name !== null && { name: withoutNulls(name) }),
    ...(displayName !== null && { displayName }),
    active,
    ...(emails.length > 0 && { emails: emails.map(withoutNulls) }),
  };
}

function withoutNulls(members: object): JsonMembers {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}

export function times(createdAtMs: number, updatedAtMs: number) {
  return { created: new Date(createdAtMs).toISOString(), lastModified: new Date(updatedAtMs).toISOString() };
}
