// PATCH (RFC 7644, section 3.5.2), with the forms of Okta and Entra ID: `op` in any case, values as objects without a path, and paths
// as names of their members. Attributes that this service does not store are ignored: directories send them with others.

import { bounds } from '../config/config.ts';
import { scimFault } from './faults.ts';
import { type AttributePath, type Filter, matchesValue, parsePath } from './filter.ts';
import { readMember, readMembers } from './group.ts';
import { isObject, type JsonMembers, listOf, memberOf } from './read-members.ts';

type Op = 'add' | 'replace' | 'remove';

interface Operation {
  op: Op;
  path: AttributePath;
  value: unknown;
  /** The path was a member of a value: read-only attributes there are ignored. */
  isImplied: boolean;
}

/** The operations of a body, one for each target. Throws invalidSyntax, invalidPath, invalidValue. */
export function readOperations(body: JsonMembers): Operation[] {
  const given = memberOf(body, 'Operations');
  if (!Array.isArray(given) || given.length === 0)
    throw scimFault('invalidSyntax', 'Operations: must be a list of operations');
  if (given.length > bounds.scimOperationsMax)
    throw scimFault('invalidSyntax', `Operations: must have at most ${bounds.scimOperationsMax} operations`);
  return given.flatMap(readOperation);
}

function readOperation(given: unknown): Operation[] {
  if (!isObject(given)) throw scimFault('invalidSyntax', 'Operations: must be a list of objects');
  const op = String(memberOf(given, 'op')).toLowerCase();
  if (op !== 'add' && op !== 'replace' && op !== 'remove')
    throw scimFault('invalidSyntax', 'op: must be add, replace or remove');
  const path = memberOf(given, 'path') ?? '';
  const value = memberOf(given, 'value');
  if (typeof path !== 'string') throw scimFault('invalidPath', 'path: must be a string');
  if (path !== '') return [{ op, path: parsePath(path), value, isImplied: false }];
  if (op === 'remove') throw scimFault('noTarget', 'path: is required for remove');
  if (!isObject(value)) throw scimFault('invalidSyntax', 'value: must be an object if there is no path');
  const members = Object.entries(value);
  if (members.length > bounds.scimOperationsMax)
    throw scimFault('invalidSyntax', `value: must have at most ${bounds.scimOperationsMax} members`);
  return members.map(([name, member]) => ({ op, path: parsePath(name), value: member, isImplied: true }));
}

const READ_ONLY: readonly string[] = ['id', 'meta', 'schemas', 'groups'];

/** Whether the operation is to be passed over. Throws mutability. */
function isPassedOver({ path: { attribute }, isImplied }: Operation): boolean {
  if (attribute === null) return true;
  if (!READ_ONLY.includes(attribute)) return false;
  if (isImplied) return true;
  throw scimFault('mutability', `${attribute}: is read-only`);
}

/** By their names in lower case. */
const byLowerCase = (...names: string[]): ReadonlyMap<string, string> =>
  new Map(names.map((name) => [name.toLowerCase(), name]));
const USER_TEXTS = byLowerCase('userName', 'externalId', 'displayName', 'active');
const NAME_PARTS = byLowerCase('formatted', 'familyName', 'givenName');
const EMAIL_PARTS = byLowerCase('value', 'type', 'primary');

/** The attributes after the operations, still to be read as a user. Throws what readOperations does, and mutability. */
export function patchUser(attributes: JsonMembers, operations: readonly Operation[]): JsonMembers {
  const draft = structuredClone(attributes);
  for (const operation of operations) {
    if (isPassedOver(operation)) continue;
    const { op, path, value } = operation;
    const name = USER_TEXTS.get(path.attribute ?? '');
    if (path.attribute === 'name') draft['name'] = patchName(draft['name'], operation);
    else if (path.attribute === 'emails') draft['emails'] = patchEmails(draft['emails'], operation);
    else if (name === undefined) continue;
    else if (op !== 'remove') draft[name] = value;
    else if (name === 'userName' || name === 'active')
      throw scimFault('mutability', `${name}: is required and cannot be removed`);
    else delete draft[name];
  }
  return draft;
}

function patchName(before: unknown, { op, path: { sub }, value }: Operation): JsonMembers | undefined {
  const name = isObject(before) ? { ...before } : {};
  if (sub !== null) {
    const part = NAME_PARTS.get(sub);
    if (part === undefined) return name;
    if (op === 'remove') delete name[part];
    else name[part] = value;
    return name;
  }
  if (op === 'remove' || value === null) return undefined;
  if (!isObject(value)) throw scimFault('invalidValue', 'name: must be an object');
  return { ...name, ...known(value, NAME_PARTS) };
}

/** The members that are stored, under the names that they are stored with. */
function known(members: JsonMembers, parts: ReadonlyMap<string, string>): JsonMembers {
  const named = Object.entries(members).map(([name, value]) => [parts.get(name.toLowerCase()), value] as const);
  return Object.fromEntries(named.filter((one): one is [string, unknown] => one[0] !== undefined));
}

function patchEmails(before: unknown, { op, path: { where, sub }, value }: Operation): JsonMembers[] {
  const emails = (Array.isArray(before) ? before : []) as JsonMembers[];
  const isMeant = (email: JsonMembers) => where === null || matchesValue(where, lowered(email));
  if (sub !== null) {
    const part = EMAIL_PARTS.get(sub);
    if (part === undefined) return emails;
    const change: JsonMembers = { [part]: op === 'remove' ? null : value };
    return changeEmails(emails, isMeant, where, change, op !== 'remove');
  }
  if (op === 'remove') return removeEmails(emails, isMeant, where, value);
  if (where !== null) {
    if (!isObject(value)) throw scimFault('invalidValue', 'emails: must be an object');
    return changeEmails(emails, isMeant, where, known(value, EMAIL_PARTS), true);
  }
  const given = listOf(value, 'emails', bounds.scimEmailsMax).map((email) =>
    isObject(email) ? known(email, EMAIL_PARTS) : { value: email },
  );
  return op === 'replace' ? given : addEmails(emails, given);
}

function lowered(members: JsonMembers): Map<string, unknown> {
  return new Map(Object.entries(members).map(([name, value]) => [name.toLowerCase(), value]));
}

/** Entra ID changes an address that does not exist yet: it is then added, with what the filter says of it. */
function changeEmails(
  emails: readonly JsonMembers[],
  isMeant: (email: JsonMembers) => boolean,
  where: Filter | null,
  change: JsonMembers,
  adds: boolean,
): JsonMembers[] {
  if (!emails.some(isMeant)) return adds ? addEmails(emails, [{ ...impliedBy(where), ...change }]) : [...emails];
  const changed = emails.map((email) => (isMeant(email) ? { ...email, ...change } : email));
  return changed.filter((email) => email['value'] != null);
}

function impliedBy(where: Filter | null): JsonMembers {
  if (where?.kind === 'compare' && where.operator === 'eq')
    return known({ [where.attribute]: where.value }, EMAIL_PARTS);
  return where?.kind === 'and' ? Object.assign({}, ...where.of.map(impliedBy)) : {};
}

function removeEmails(
  emails: readonly JsonMembers[],
  isMeant: (email: JsonMembers) => boolean,
  where: Filter | null,
  value: unknown,
): JsonMembers[] {
  if (where !== null || value === undefined || value === null) return emails.filter((email) => !isMeant(email));
  const removed = listOf(value, 'emails', bounds.scimEmailsMax).map((email) => addressIn(email));
  return emails.filter((email) => !removed.includes(addressIn(email)));
}

function addressIn(email: unknown): string {
  return String(isObject(email) ? memberOf(email, 'value') : email).toLowerCase();
}

/** An address that is there already is replaced; a new primary one ends the former. */
function addEmails(before: readonly JsonMembers[], added: readonly JsonMembers[]): JsonMembers[] {
  const addresses = added.map(addressIn);
  const hasPrimary = added.some(({ primary }) => String(primary).toLowerCase() === 'true');
  const kept = before.filter((email) => !addresses.includes(addressIn(email)));
  return [...kept.map((email) => (hasPrimary && email['primary'] ? { ...email, primary: false } : email)), ...added];
}

export interface GroupPatch {
  /** Still to be read as a group. */
  attributes: JsonMembers;
  /** The members before are removed. */
  isEmptied: boolean;
  add: readonly number[];
  remove: readonly number[];
}

/** Throws what readOperations does, and mutability. */
export function patchGroup(attributes: JsonMembers, operations: readonly Operation[]): GroupPatch {
  const draft = structuredClone(attributes);
  const [add, remove] = [new Set<number>(), new Set<number>()];
  let isEmptied = false;
  for (const operation of operations) {
    if (isPassedOver(operation)) continue;
    const { op, path, value } = operation;
    if (path.attribute === 'members') {
      const users = path.where === null ? readMembers(value) : membersIn(path.where);
      if (path.where !== null && op !== 'remove')
        throw scimFault('invalidPath', 'path: members with a filter can only be removed');
      const isWhole = op === 'replace' || (op === 'remove' && path.where === null && value == null);
      if (isWhole) {
        isEmptied = true;
        add.clear();
        remove.clear();
      }
      for (const user of users) {
        (op === 'remove' ? add : remove).delete(user);
        (op === 'remove' ? remove : add).add(user);
      }
    } else if (path.attribute === 'displayname' || path.attribute === 'externalid') {
      const name = path.attribute === 'displayname' ? 'displayName' : 'externalId';
      if (op !== 'remove') draft[name] = value;
      else if (name === 'displayName') throw scimFault('mutability', 'displayName: is required and cannot be removed');
      else delete draft[name];
    }
  }
  if (add.size + remove.size > bounds.scimMembersPerRequestMax)
    throw scimFault('tooMany', `members: must have at most ${bounds.scimMembersPerRequestMax} values in a request`);
  return { attributes: draft, isEmptied, add: [...add], remove: [...remove] };
}

/** The users of `members[value eq "…"]`, also several joined by "or". */
function membersIn(where: Filter): number[] {
  if (where.kind === 'or') return where.of.flatMap(membersIn);
  if (where.kind === 'compare' && where.attribute === 'value' && where.operator === 'eq')
    return [readMember(where.value)];
  throw scimFault('invalidPath', 'path: only members[value eq "…"] is supported');
}
