// Filters and paths of SCIM: precedence, forms of directories, refusals, and any text at all.

import { describe, expect, test } from 'bun:test';
import { formatId } from '../../../src/base/ids.ts';
import { bounds } from '../../../src/config/config.ts';
import { TurnpikeError } from '../../../src/errors.ts';
import { parsePath } from '../../../src/scim/filter.ts';
import { groupCondition, patchUser, readOperations, userCondition } from '../../../src/scim/scim.ts';

const name = (equals: string) => ({ member: 'userName' as const, equals });

/** The keyword of the refusal; null: it was taken. */
function refusalOf(run: () => unknown): unknown {
  try {
    run();
    return null;
  } catch (failure) {
    if (!(failure instanceof TurnpikeError)) throw failure;
    return failure.details.members?.['scimType'];
  }
}

describe('a filter', () => {
  test('binds "and" before "or", and brackets before both', () => {
    const [a, b, c] = ['a', 'b', 'c'].map(name);
    expect(userCondition('userName eq "A" or userName eq "b" and username EQ "c"')).toEqual({
      some: [a, { every: [b, c] }],
    } as never);
    expect(userCondition('(userName eq "a" or userName eq "b") AND userName eq "c"')).toEqual({
      every: [{ some: [a, b] }, c],
    } as never);
  });

  test('reads names with their schema, values in quotes, and filters of values', () => {
    const urn = 'urn:ietf:params:scim:schemas:core:2.0:User:userName';
    expect(userCondition(`${urn} eq "a \\"quoted\\" \\u0041"`)).toEqual(name('a "quoted" a'));
    expect(userCondition('emails[type eq "work"].value eq "A@x.com"')).toMatchObject({
      every: [{ member: 'email', equals: 'a@x.com' }],
    });
    expect(userCondition('emails[type eq "work" and value eq "a@x.com"]')).toMatchObject({
      every: [{ member: 'email', equals: 'a@x.com' }],
    });
    const user = formatId('scimuser', 2 ** 40);
    expect(groupCondition(`members[value eq "${user}"]`)).toEqual({ member: 'user', equals: 2 ** 40 });
    expect([groupCondition('id eq "7"'), groupCondition('members.value eq "7"')]).toEqual(['nothing', 'nothing']);
  });

  test.each([
    '',
    'userName',
    'userName eq',
    'userName eq a',
    'userName eq "a',
    'userName eq "a" or',
    'userName eq "a" userName eq "b"',
    '(userName eq "a"',
    'emails[value eq "a"',
    'emails[type eq "work"]',
    'userName pr',
    'userName sw "a"',
    'not (userName eq "a")',
    'active eq true',
    'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department eq "a"',
    `${'('.repeat(20)}id eq "a"${')'.repeat(20)}`,
    Array(bounds.scimFilterTermsMax + 1)
      .fill('id eq "a"')
      .join(' or '),
    `id eq "${'a'.repeat(bounds.scimFilterCharactersMax)}"`,
  ])('is refused as invalidFilter: %s', (text) => {
    expect(refusalOf(() => userCondition(text))).toBe('invalidFilter');
  });

  test('of any pieces is read or refused, and never fails', () => {
    const pieces = [
      'userName',
      'eq',
      '"a"',
      'and',
      'or',
      'not',
      '(',
      ')',
      '[',
      ']',
      '.value',
      'emails',
      'pr',
      '"',
      '\\',
    ];
    let seed = 1;
    const next = (max: number) => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % max;
    };
    for (let round = 0; round < 5_000; round++) {
      const text = Array.from({ length: next(12) }, () => pieces[next(pieces.length)]).join(next(2) ? ' ' : '');
      expect([null, 'invalidFilter']).toContain(refusalOf(() => userCondition(text)) as never);
      expect([null, 'invalidPath']).toContain(refusalOf(() => parsePath(text)) as never);
    }
  });
});

describe('a path', () => {
  test('has an attribute, a filter and a sub-attribute', () => {
    expect(parsePath('name.familyName')).toEqual({ attribute: 'name', where: null, sub: 'familyname' });
    const where = { kind: 'compare', attribute: 'type', operator: 'eq', value: 'work' };
    expect(parsePath('emails[type eq "work"].value') as unknown).toEqual({ attribute: 'emails', where, sub: 'value' });
    expect(parsePath('urn:ietf:params:scim:schemas:core:2.0:User:name.givenName')).toEqual({
      attribute: 'name',
      where: null,
      sub: 'givenname',
    });
    expect(parsePath('urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager').attribute).toBeNull();
  });
});

describe('operations on emails', () => {
  const before = {
    userName: 'ada',
    active: true,
    emails: [
      { value: 'work@x.com', type: 'work', primary: true },
      { value: 'home@x.com', type: 'home' },
    ],
  };
  const patched = (...operations: object[]) =>
    patchUser(before, readOperations({ Operations: operations }))['emails'] as unknown;

  test('add a value, replace one that is there, and leave one primary', () => {
    const value = [{ value: 'new@x.com', primary: true }];
    expect(patched({ op: 'add', path: 'emails', value })).toEqual([
      { ...before.emails[0], primary: false },
      before.emails[1],
      { value: 'new@x.com', primary: true },
    ]);
    const same = [{ value: 'HOME@x.com', type: 'other' }];
    expect(patched({ op: 'add', path: 'emails', value: same })).toEqual([before.emails[0], ...same]);
  });

  test('remove by filter, by value, and all', () => {
    expect(patched({ op: 'remove', path: 'emails[type eq "HOME"]' })).toEqual([before.emails[0]]);
    expect(patched({ op: 'remove', path: 'emails[not (type eq "work")]' })).toEqual([before.emails[0]]);
    expect(patched({ op: 'remove', path: 'emails', value: [{ value: 'work@x.com' }] })).toEqual([before.emails[1]]);
    expect(patched({ op: 'remove', path: 'emails[type eq "home"].value' })).toEqual([before.emails[0]]);
    expect(patched({ op: 'remove', path: 'emails' })).toEqual([]);
  });

  test('replace what a filter finds, and add what it does not find with what it says', () => {
    const path = 'emails[type eq "work" and primary eq true].value';
    expect(patched({ op: 'replace', path, value: 'other@x.com' })).toEqual([
      { ...before.emails[0], value: 'other@x.com' },
      before.emails[1],
    ]);
    const added = patched({ op: 'replace', path: 'emails[type eq "other"]', value: { value: 'other@x.com' } });
    expect(added).toEqual([...before.emails, { type: 'other', value: 'other@x.com' }]);
  });

  test('change no stored value in place', () => {
    const copy = structuredClone(before);
    patched({ op: 'replace', path: 'emails[type eq "work"].value', value: 'x@x.com' }, { op: 'remove', path: 'name' });
    expect(before).toEqual(copy);
  });
});
