// Names of groups of usage, and the filters that find them.

import { expect, test } from 'bun:test';
import { marginGroupingOf } from '../../console/features/margin/texts.ts';
import { groupFilter, groupingIn, groupingLabels, groupName } from '../../console/groupings.ts';

const names = { account: (id: string) => `account ${id}`, key: (id: string) => `key ${id}`, person: () => 'Ada' };

test('groups are named as people know them, also those without a name', () => {
  expect(groupName({ account: 'acct_1' }, 'account', names)).toBe('account acct_1');
  expect(groupName({ key: 'key_1' }, 'key', names)).toBe('key key_1');
  expect(groupName({ person: 'person_1' }, 'person', names)).toBe('Ada');
  expect(groupName({ person: null }, 'person', names)).toBe('Service keys');
  expect(groupName({ group: null }, 'group', names)).toBe('None');
  expect(groupName({ day: '2026-11-22' }, 'day', names)).toBe('Nov 22, 2026');
});

test('the filter of a tag has its name in lower case, as the API takes it', () => {
  expect(groupFilter({ tag: 'Search' }, 'tag', { tag_name: 'Team' })).toEqual({ tag: 'team:Search' });
  expect(groupFilter({ model: 'm' }, 'model', {})).toEqual({ model: 'm' });
});

test('only a known grouping applies, and margins are by model until the name of a tag is given', () => {
  expect(groupingIn({ group_by: 'constructor' }, groupingLabels)).toBeNull();
  expect(groupingIn({ group_by: 'day' }, groupingLabels)).toBe('day');
  expect(['day', 'tag', 'group'].map((name) => marginGroupingOf({ group_by: name }))).toEqual([
    'model',
    'model',
    'group',
  ]);
  expect(marginGroupingOf({ group_by: 'tag', tag_name: 'team' })).toBe('tag');
});
