// Statements whose texts vary with the question: those used last stay prepared, and their number is bounded.

import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { bounds } from '../../src/config/config.ts';
import { sqliteReader } from '../../src/storage/sqlite/reader.ts';

class CountingDatabase extends Database {
  readonly prepared: string[] = [];

  override prepare(...given: Parameters<Database['prepare']>) {
    this.prepared.push(given[0]);
    return super.prepare(...given) as never;
  }
}

test('a reader keeps the statements used last, and no more than the bound', async () => {
  using database = new CountingDatabase(':memory:');
  const { read } = sqliteReader(database);
  const texts = Array.from({ length: 2 * bounds.statementsPreparedMax }, (_, at) => `SELECT ${at} AS at, $1 AS given`);
  for (const [at, text] of texts.entries()) {
    expect(await read<object>(text, 7)).toEqual([{ at, given: 7 }]);
    expect(await read<object>('SELECT 1 AS hot')).toEqual([{ hot: 1 }]);
  }
  const timesPrepared = (text: string) => database.prepared.filter((prepared) => prepared === text).length;
  expect(timesPrepared('SELECT 1 AS hot')).toBe(1);
  expect(database.prepared).toHaveLength(texts.length + 1);
  await read(texts[0] as string, 1);
  expect(database.prepared).toHaveLength(texts.length + 2); // the first one was dropped
});
