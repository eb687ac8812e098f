// Filters of lists as conditions on indexes: comparisons with eq, joined by and, or. Others are refused as invalidFilter.

import type { ScimFilter, ScimGroupMember, ScimUserMember } from '../accounts/accounts.ts';
import { parseId } from '../base/ids.ts';
import { scimFault } from './faults.ts';
import { type Filter, type FilterValue, parseFilter } from './filter.ts';

type Resolve<Member extends string> = (attribute: string, value: string) => ScimFilter<Member> | null;

const USER_WORDS = 'userName, externalId, id, emails.value and groups.value';
const GROUP_WORDS = 'displayName, externalId, id and members.value';

/** Throws invalidFilter. */
export function userCondition(text: string): ScimFilter<ScimUserMember> {
  return conditionOf<ScimUserMember>(parseFilter(text), USER_WORDS, (attribute, value) => {
    if (attribute === 'username') return { member: 'userName', equals: value.toLowerCase() };
    if (attribute === 'externalid') return { member: 'externalId', equals: value };
    if (attribute === 'id') return idCondition('id', parseId('scimuser', value));
    if (attribute === 'groups.value' || attribute === 'groups')
      return idCondition('group', parseId('scimgroup', value));
    if (attribute === 'emails.value' || attribute === 'emails') return { member: 'email', equals: value.toLowerCase() };
    return null;
  });
}

/** Throws invalidFilter. */
export function groupCondition(text: string): ScimFilter<ScimGroupMember> {
  return conditionOf<ScimGroupMember>(parseFilter(text), GROUP_WORDS, (attribute, value) => {
    if (attribute === 'displayname') return { member: 'displayName', equals: value.toLowerCase() };
    if (attribute === 'externalid') return { member: 'externalId', equals: value };
    if (attribute === 'id') return idCondition('id', parseId('scimgroup', value));
    if (attribute === 'members.value' || attribute === 'members')
      return idCondition('user', parseId('scimuser', value));
    return null;
  });
}

/** An id of another form is nobody's. */
function idCondition<Member extends string>(member: Member, id: number | null): ScimFilter<Member> {
  return id === null ? 'nothing' : { member, equals: id };
}

/** The value of `emails[type eq "work"]` is the only address of its kind: the type of an address is not compared. */
const UNCOMPARED: readonly string[] = ['emails.type', 'emails.primary', 'members.type'];

function conditionOf<Member extends string>(
  filter: Filter,
  words: string,
  resolve: Resolve<Member>,
  prefix = '',
): ScimFilter<Member> {
  const refused = () =>
    scimFault('invalidFilter', `filter: only eq on ${words} is supported, joined by "and" and "or"`);
  switch (filter.kind) {
    case 'and':
    case 'or': {
      const compared = filter.kind === 'and' ? filter.of.filter((one) => !isUncompared(one, prefix)) : filter.of;
      if (compared.length === 0) throw refused();
      const of = compared.map((one) => conditionOf(one, words, resolve, prefix));
      return filter.kind === 'and' ? { every: of } : { some: of };
    }
    case 'some':
      if (prefix !== '') throw refused();
      return conditionOf(filter.where, words, resolve, `${filter.attribute}.`);
    case 'compare': {
      const { attribute, operator, value } = filter;
      const text = textOf(value);
      const found = operator !== 'eq' || text === null ? null : resolve(`${prefix}${attribute}`, text);
      if (found === null) throw refused();
      return found;
    }
    default:
      throw refused();
  }
}

function isUncompared(filter: Filter, prefix: string): boolean {
  return filter.kind === 'compare' && filter.operator === 'eq' && UNCOMPARED.includes(`${prefix}${filter.attribute}`);
}

function textOf(value: FilterValue): string | null {
  return typeof value === 'string' ? value : null;
}
