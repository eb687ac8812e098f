// docs/errors.md is what clients are written against: it must say what errors.ts does.

import { expect, test } from 'bun:test';
import { errorTable } from '../src/errors.ts';
import { readText } from './sources.ts';

test('docs/errors.md lists exactly the errors of the error table', () => {
  const rows = [...(readText('docs/errors.md') ?? '').matchAll(/^\| `(\w+)` \| (\d+) \| `(\w+)` \| (yes|no) \|/gm)];
  const documented = rows.map(([, code, status, type, retry]) => ({
    code,
    status: Number(status),
    type,
    retry: retry === 'yes',
  }));
  const declared = Object.entries(errorTable).map(([code, row]) => ({ code, ...row }));
  const byCode = (one: { code?: string | undefined }, other: { code?: string | undefined }) =>
    (one.code ?? '') < (other.code ?? '') ? -1 : 1;
  expect(documented.sort(byCode)).toEqual(declared.sort(byCode));
});

test('every error type has only matching statuses', () => {
  const statuses = new Map<string, Set<number>>();
  for (const { type, status } of Object.values(errorTable))
    statuses.set(type, (statuses.get(type) ?? new Set()).add(status));
  expect([...(statuses.get('rate_limit_error') ?? [])]).toEqual([429]);
  expect([...(statuses.get('authentication_error') ?? [])]).toEqual([401]);
  expect([...(statuses.get('billing_error') ?? [])]).toEqual([400]);
});
