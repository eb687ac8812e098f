// Which account and role a person gets by the groups of their directory.

import { describe, expect, test } from 'bun:test';
import { type DirectoryGroup, groupsOfSource, placeOf } from '../../../src/accounts/accounts.ts';

let made = 0;

function group(name: string, given: Partial<DirectoryGroup> = {}): DirectoryGroup {
  const id = ++made;
  const place = { accountId: 1, role: 'member' as const, priority: 100 };
  return { id, name, source: null, ...place, status: 'enabled', madeBy: 'local', createdAtMs: id, ...given };
}

describe('a person gets', () => {
  test('no place without a group that is mapped', () => {
    expect(placeOf(['others'], [group('engineers')])).toBeNull();
    expect(placeOf([], [group('engineers')])).toBeNull();
    expect(placeOf(['Engineers'], [group('engineers')])).toBeNull();
  });

  test('nothing from a disabled group', () => {
    expect(placeOf(['engineers'], [group('engineers', { status: 'disabled' })])).toBeNull();
  });

  test('a role of the installation before any account, the highest first', () => {
    const groups = [
      group('engineers', { role: 'owner', priority: 1 }),
      group('auditors', { accountId: null, role: 'viewer', priority: 1 }),
      group('platform', { accountId: null, role: 'operator', priority: 1000 }),
    ];
    expect(placeOf(['engineers', 'auditors'], groups)).toEqual({ accountId: null, role: 'viewer' });
    expect(placeOf(['engineers', 'auditors', 'platform'], groups)).toEqual({ accountId: null, role: 'operator' });
  });

  test('the account of the lowest priority number, and of the oldest group when numbers are equal', () => {
    const groups = [
      group('search', { accountId: 1, priority: 20 }),
      group('ads', { accountId: 2, priority: 10 }),
      group('maps', { accountId: 3, priority: 10 }),
    ];
    expect(placeOf(['search', 'maps', 'ads'], groups)).toEqual({ accountId: 2, role: 'member' });
    expect(placeOf(['maps', 'ads'], groups.toReversed())).toEqual({ accountId: 2, role: 'member' });
    expect(placeOf(['search', 'maps'], groups)).toEqual({ accountId: 3, role: 'member' });
  });

  test('the highest role of their groups in that account, and none of another account', () => {
    const groups = [
      group('engineers', { priority: 1 }),
      group('leads', { role: 'owner', priority: 50 }),
      group('owners of ads', { accountId: 2, role: 'owner', priority: 40 }),
    ];
    expect(placeOf(['engineers', 'leads'], groups)).toEqual({ accountId: 1, role: 'owner' });
    expect(placeOf(['engineers', 'owners of ads'], groups)).toEqual({ accountId: 1, role: 'member' });
  });

  test('the place of the group of everybody only without another', () => {
    const groups = [group('*', { accountId: 9, priority: 1 }), group('engineers', { priority: 500 })];
    expect(placeOf(['engineers'], groups)).toEqual({ accountId: 1, role: 'member' });
    expect(placeOf(['others'], groups)).toEqual({ accountId: 9, role: 'member' });
    expect(placeOf(['*', 'engineers'], groups)).toEqual({ accountId: 1, role: 'member' });
  });
});

test('a group with a source counts for names from that source only', () => {
  const groups = [group('a', { source: 'oidc' }), group('b', { source: 'scim' }), group('c')];
  expect(groupsOfSource(groups, 'oidc').map(({ name }) => name)).toEqual(['a', 'c']);
  expect(groupsOfSource(groups, 'scim').map(({ name }) => name)).toEqual(['b', 'c']);
  expect(groupsOfSource(groups, 'oidc-2').map(({ name }) => name)).toEqual(['c']);
});
