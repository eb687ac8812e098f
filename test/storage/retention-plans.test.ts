// Query plans of SQLite's retention: each uses an index and neither scans nor sorts what grows without a bound.
// Messages wait for each of these statements.

import type { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { carryEntries, countForgotten, forgetRows, retentionReads } from '../../src/storage/sqlite/co-committed.ts';
import { databasePath, openForWriting } from '../../src/storage/sqlite/sqlite.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const NOW_MS = Date.UTC(2026, 11, 1);
/** Small tables: rows of one transaction, and names of one installation. */
const SMALL = /^SCAN (?:carried_entries|sides|sums|\(subquery-\d+\)|CONSTANT ROW)/;

/** A connection that records every statement prepared on it. */
function noteTexts(database: Database, texts: Set<string>): Database {
  return new Proxy(database, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...values: unknown[]) => {
        if (name === 'prepare') texts.add(String(values[0]));
        return value.apply(target, values);
      };
    },
  });
}

test('every statement that drops or counts rows uses an index', async () => {
  using directory = temporaryDirectory();
  const database = openForWriting(databasePath(directory.path));
  database.run(
    `INSERT INTO installation VALUES ('usage_kept_since_ms', '${NOW_MS}'), ('journal_kept_since_ms', '${NOW_MS}')`,
  );
  database.run(`INSERT INTO entries (account_id, at_ms, debit, credit, amount, kind) VALUES (7, 1, 7, 3, 5, 'usage')`);
  const texts = new Set<string>();
  const noted = noteTexts(database, texts);
  for (const table of [
    'usage_records',
    'creations',
    'key_secrets',
    'claims',
    'answers',
    'refusals',
    'route_hours',
    'incidents',
  ] as const) {
    countForgotten(noted, table, NOW_MS);
    forgetRows(noted, table, NOW_MS);
  }
  await retentionReads(noted).listToCarry(NOW_MS, 0);
  await retentionReads(noted).countToCarry(7, NOW_MS);
  carryEntries(noted, 7, NOW_MS);
  expect(texts.size).toBeGreaterThan(15);
  const faults = [...texts].flatMap((text) => {
    const plan = database.query(`EXPLAIN QUERY PLAN ${text}`).all() as { detail: string }[];
    const scans = plan.filter(
      ({ detail }) => detail.startsWith('SCAN') && !detail.includes('USING') && !SMALL.test(detail),
    );
    const sorts = plan.filter(({ detail }) => detail.includes('TEMP B-TREE') && !text.includes('carried_entries'));
    return [...scans, ...sorts].map(({ detail }) => `${detail}: ${text}`);
  });
  expect(faults).toEqual([]);
  const [carried = ''] = [...texts].filter((text) => /kind = 'carried_forward'\s+AND/.test(text));
  const plan = database.query(`EXPLAIN QUERY PLAN ${carried}`).all() as { detail: string }[];
  expect(plan[0]?.detail).toBe('SEARCH entries USING INDEX carried_forward (account_id=?)');
  expect(database.query('SELECT kind, amount FROM entries ORDER BY account_id').values()).toEqual([
    ['carried_forward', 5],
    ['carried_forward', 5],
  ]);
  database.close();
});
