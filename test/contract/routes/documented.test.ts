// Compares the table of provider failures in docs/request-path.md with the code.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NOTHING_HIDDEN } from '../../../src/catalog/catalog.ts';
import { faultError } from '../../../src/gateway/message-errors.ts';
import { kindOf } from '../../../src/providers/map-fault.ts';
import { type FaultKind, ProviderFault } from '../../../src/providers/providers.ts';
import { codeOf } from './faults.ts';

const page = readFileSync(join(import.meta.dir, '../../../docs/request-path.md'), 'utf8');
const section = page.split('## When a provider fails')[1]?.split('\n## ')[0] ?? '';
const rows = [...section.matchAll(/^\| ([^|]+) \| `(\w+)` \| ([^|]+) \| (\d+) `(\w+)`([^|]*) \|$/gm)].map(
  ([, what = '', result = '', then = '', status = '', code = '', more = '']) => ({
    result: result as FaultKind,
    statuses: (what.match(/\b\d{3}\b/g) ?? []).map(Number),
    then,
    status: Number(status),
    code,
    more,
  }),
);

test('the table of failures has a row for every fault kind', () => {
  expect(rows.map(({ result }) => result).sort()).toEqual([...Object.keys(codeOf), 'rejected'].sort() as FaultKind[]);
});

test.each(rows.map((row) => [row.result, row] as const))('the row for %s matches the code', (_result, row) => {
  const { result, statuses, then, status, code, more } = row;
  expect(statuses.map((one) => kindOf(one, null, null))).toEqual(statuses.map(() => result));
  const error = faultError(
    new ProviderFault(result, 'the words of the provider', { retryAfterMs: 7_000 }),
    NOTHING_HIDDEN,
  );
  expect({ status: error.status, code: error.code }).toMatchObject({ status, code });
  expect(error.headers()['retry-after'] === '7').toBe(more.includes('retry-after'));
  expect(error.message === 'the words of the provider').toBe(more.includes('with its message'));
  expect(then === 'nothing').toBe(result === 'rejected');
});
