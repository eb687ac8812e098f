// Converting between the key form and the admin API.

import { expect, test } from 'bun:test';
import { changeBody, createBody, emptyValues, valuesOf } from '../../console/features/keys/values.ts';
import type { KeyShape } from '../../src/admin-api/shapes.ts';

const NOW_MS = Date.UTC(2026, 10, 18, 12);
const key: KeyShape = {
  id: 'key_000000001',
  account: 'acct_000000001',
  person: null,
  name: 'ci',
  prefix: 'sk-tp-Ab3d',
  groups: ['a', 'b'],
  models: ['m-*'],
  quota: '5.00',
  quota_period: 'day',
  quota_used: '0',
  rpm: 60,
  input_tpm: null,
  output_tpm: null,
  concurrency: null,
  origins: null,
  addresses: null,
  status: 'enabled',
  locked: [],
  expires_at: '2026-12-01T10:20:30.456Z',
  last_used_at: null,
  tags: {},
  made_by: null,
  created_at: '2026-11-18T12:00:00.000Z',
};

test('a new key sends only the fields that were filled in', () => {
  expect(createBody({ ...emptyValues, name: ' ci ', account: key.account }, NOW_MS)).toEqual({
    name: 'ci',
    account: key.account,
  });
  expect(
    createBody({ ...emptyValues, quota: '1.00', quota_period: 'week', expires: '12h', rpm: 3, models: ['x'] }, NOW_MS),
  ).toEqual({ quota: '1.00', quota_period: 'week', expires_at: '2026-11-19T00:00:00.000Z', rpm: 3, models: ['x'] });
});

test('an unchanged key sends nothing, although the form does not show the seconds of its expiration', () => {
  const shown = valuesOf(key, ['b', 'a']);
  expect(shown.groups).toEqual([]); // all of the account's
  expect(changeBody(shown, structuredClone(shown), NOW_MS)).toEqual({});
});

test('tags are sent as an object, and removed tags as an empty one', () => {
  const shown = valuesOf({ ...key, tags: { team: 'search' } }, ['a', 'b']);
  expect(shown.tags).toEqual(['team=search']);
  expect(changeBody(shown, { ...shown, tags: [] }, NOW_MS)).toEqual({ tags: {} });
  expect(createBody({ ...emptyValues, tags: ['team=search'] }, NOW_MS)).toEqual({ tags: { team: 'search' } });
});

test('an edit sends only changed fields, and null for a removed limit', () => {
  const shown = valuesOf(key, ['a', 'b', 'c']);
  expect(shown.groups).toEqual(['a', 'b']);
  const after = { ...shown, quota: '', rpm: '', models: [], expires: 'never' as const, name: 'other' };
  expect(changeBody(shown, after, NOW_MS)).toEqual({
    name: 'other',
    quota: null,
    rpm: null,
    models: null,
    expires_at: null,
  });
});

test('a custom expiration is sent as it was chosen', () => {
  const at = '2027-01-31T09:05:00.000Z';
  expect(createBody({ ...emptyValues, expires: 'at', expires_at: at }, NOW_MS)).toEqual({ expires_at: at });
});
