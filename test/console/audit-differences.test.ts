// What the audit's page reads out of a record.

import { describe, expect, test } from 'bun:test';
import { differencesOf, momentOfDay, nameIn, pageOf } from '../../console/audit-differences.ts';

describe('what differs in a record', () => {
  test('is told member by member, however deep, and what stayed is left out', () => {
    const before = { price: { input: '1', output: '5' }, groups: ['a', 'b'], status: 'enabled' };
    const after = { price: { input: '2', output: '5' }, groups: ['a'], status: 'enabled' };
    expect(differencesOf({ before, after })).toEqual([
      { name: 'price.input', before: '1', after: '2' },
      { name: 'groups', before: 'a, b', after: 'a' },
    ]);
  });
  test('is everything where there was nothing before, and where nothing is left', () => {
    expect(differencesOf({ before: null, after: { name: 'ci', rpm: 60 } })).toEqual([
      { name: 'name', before: null, after: 'ci' },
      { name: 'rpm', before: null, after: '60' },
    ]);
    expect(differencesOf({ before: { name: 'ci' }, after: null })).toEqual([
      { name: 'name', before: 'ci', after: null },
    ]);
  });
  test('tells null from what is not there, and a credential that is another from one that stayed', () => {
    expect(differencesOf({ before: { quota: '1.00' }, after: { quota: null } })).toEqual([
      { name: 'quota', before: '1.00', after: 'null' },
    ]);
    expect(differencesOf({ before: { api_key: '[secret]' }, after: { api_key: '[another secret]' } })).toHaveLength(1);
    expect(differencesOf({ before: { api_key: '[secret]' }, after: { api_key: '[secret]' } })).toEqual([]);
  });
  test('keeps lists of objects and empty ones readable', () => {
    const after = { routes: [{ provider: 'a' }], extra: {} };
    expect(differencesOf({ before: null, after })).toEqual([
      { name: 'routes', before: null, after: '[{"provider":"a"}]' },
      { name: 'extra', before: null, after: '{}' },
    ]);
  });
});

test('the object of a record leads to its page, and what has none or is no object of the API leads nowhere', () => {
  expect(pageOf('key_abc123XYZ')).toEqual({ to: '/keys/key_abc123XYZ' });
  expect(pageOf('acct_abc123XYZ')).toEqual({ to: '/accounts/acct_abc123XYZ' });
  expect(pageOf('person_abc123XYZ')).toEqual({ to: '/people', search: { person: 'person_abc123XYZ' } });
  expect(pageOf('model gpt-x')?.to).toStartWith('/models');
  expect(pageOf('key_../../evil')).toBeNull();
  expect(pageOf('//evil.example')).toBeNull();
  expect(pageOf('model')).toBeNull();
});

test('a record says the name of what it is about, the present one first', () => {
  expect(nameIn({ before: { name: 'old' }, after: { name: 'new' } })).toBe('new');
  expect(nameIn({ before: { name: 'gone' }, after: null })).toBe('gone');
  expect(nameIn({ before: null, after: { name: '', email: 'ada@example.com' } })).toBe('ada@example.com');
  expect(nameIn({ before: { status: 'enabled' }, after: { status: 'disabled' } })).toBeNull();
});

test('a day of a filter is from its beginning, or until the next begins; what is no day is no filter', () => {
  const from = Date.parse(momentOfDay('2026-02-28', false) ?? '');
  const until = Date.parse(momentOfDay('2026-02-28', true) ?? '');
  expect(new Date(from).getDate()).toBe(28);
  expect(new Date(until).getMonth()).toBe(2);
  expect(new Date(until).getDate()).toBe(1);
  expect(momentOfDay('yesterday', false)).toBeNull();
  expect(momentOfDay(undefined, false)).toBeNull();
});
