// Reading audit records.

import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { differencesOf, nameOfObject, pageOf } from '../../console/features/audit/differences.ts';
import { actionTexts, objectText } from '../../console/features/audit/words.ts';

const SOURCE = join(import.meta.dir, '../../src');

describe('the differences of a record', () => {
  test('lists changed fields by path and omits unchanged ones', () => {
    const before = { price: { input: '1', output: '5' }, groups: ['a', 'b'], status: 'enabled' };
    const after = { price: { input: '2', output: '5' }, groups: ['a'], status: 'enabled' };
    expect(differencesOf({ before, after })).toEqual([
      { name: 'price.input', before: '1', after: '2' },
      { name: 'groups', before: 'a, b', after: 'a' },
    ]);
  });
  test('includes all fields of a created or deleted object', () => {
    expect(differencesOf({ before: null, after: { name: 'ci', rpm: 60 } })).toEqual([
      { name: 'name', before: null, after: 'ci' },
      { name: 'rpm', before: null, after: '60' },
    ]);
    expect(differencesOf({ before: { name: 'ci' }, after: null })).toEqual([
      { name: 'name', before: 'ci', after: null },
    ]);
  });
  test('distinguishes null from a missing field, and a changed credential from an unchanged one', () => {
    expect(differencesOf({ before: { quota: '1.00' }, after: { quota: null } })).toEqual([
      { name: 'quota', before: '1.00', after: 'null' },
    ]);
    expect(differencesOf({ before: { api_key: '[secret]' }, after: { api_key: '[another secret]' } })).toHaveLength(1);
    expect(differencesOf({ before: { api_key: '[secret]' }, after: { api_key: '[secret]' } })).toEqual([]);
  });
  test('shows lists of objects and empty objects as JSON', () => {
    const after = { routes: [{ provider: 'a' }], extra: {} };
    expect(differencesOf({ before: null, after })).toEqual([
      { name: 'routes', before: null, after: '[{"provider":"a"}]' },
      { name: 'extra', before: null, after: '{}' },
    ]);
  });
});

test('the object of an audit record links to its page, and an unknown object to none', () => {
  expect(pageOf('key_abc123XYZ')).toEqual({ to: '/keys/key_abc123XYZ' });
  expect(pageOf('acct_abc123XYZ')).toEqual({ to: '/accounts/acct_abc123XYZ' });
  expect(pageOf('person_abc123XYZ')).toEqual({ to: '/people', search: { person: 'person_abc123XYZ' } });
  expect(pageOf('model gpt-x')?.to).toStartWith('/models');
  expect(pageOf('key_../../evil')).toBeNull();
  expect(pageOf('//evil.example')).toBeNull();
  expect(pageOf('model')).toBeNull();
});

test('the name of the object in an audit record is its new name if it has one', () => {
  expect(nameOfObject({ before: { name: 'old' }, after: { name: 'new' } })).toBe('new');
  expect(nameOfObject({ before: { name: 'gone' }, after: null })).toBe('gone');
  expect(nameOfObject({ before: null, after: { name: '', email: 'ada@example.com' } })).toBe('ada@example.com');
  expect(nameOfObject({ before: { status: 'enabled' }, after: { status: 'disabled' } })).toBeNull();
});

test('every action of the service has words', () => {
  const sources = [...new Bun.Glob('**/*.ts').scanSync(SOURCE)].map((file) => readFileSync(join(SOURCE, file), 'utf8'));
  const written = sources.flatMap((text) =>
    [...text.matchAll(/(?:changeNote\(\s*|personNote\(\s*|action: )'([a-z_-]+\.[a-z_]+)'/g)].map(
      ([, action = '']) => action,
    ),
  );
  expect(new Set(written).size).toBeGreaterThan(35);
  expect(written.filter((action) => actionTexts[action] === undefined)).toEqual([]);
});

test('the settings are named once', () => {
  expect(['settings settings', 'model claude', 'key_1'].map(objectText)).toEqual(['settings', 'model claude', 'key_1']);
});
