// Tables copied from SQLite to PostgreSQL: every row of each, exact to the last digit and character. Characters that
// PostgreSQL cannot store are replaced and reported, and a lost row is detected.

import { Database } from 'bun:sqlite';
import { beforeEach, describe, expect, test } from 'bun:test';
import { bounds } from '../../src/config/config.ts';
import { migrations } from '../../src/storage/migrations/migrations.ts';
import { leftTables, type MovedTable, movedTables } from '../../src/storage/move.ts';
import { suitDocument, suitText } from '../../src/storage/postgres/columns.ts';
import { commitMove, type Filled, fillDatabase, openMoveSession } from '../../src/storage/postgres/postgres.ts';
import { tableReads } from '../../src/storage/sqlite/move.ts';
import { failureOf } from '../money/ledger/workbench.ts';
import { cannotStartPostgres, runOn, sharedPostgres, type TestDatabase } from '../support/start-postgres.ts';

const GREATEST = 2n ** 63n - 1n;

let file: Database;
let database: TestDatabase;

beforeEach(() => {
  file = new Database(':memory:', { safeIntegers: true });
  for (const migration of migrations) file.run(migration.sqlite);
});

function insert(table: MovedTable, row: Record<string, bigint | number | string | null>): void {
  const names = Object.keys(row);
  file
    .query(`INSERT INTO ${table} (${names.join()}) VALUES (${names.map(() => '?').join()})`)
    .run(...Object.values(row));
}

function insertEntry(facts: Record<string, bigint | string | null> = {}): void {
  insert('entries', { account_id: 7, at_ms: 1, debit: 1, credit: 7, amount: 1, kind: 'payment', ...facts });
}

/** A record of a given time, with `seq` as its number. */
function insertUsage(seq: number, atMs: number): void {
  const counts = 'status input_tokens output_tokens cache_read_tokens cache_write_5m_tokens cache_write_1h_tokens';
  const wholes = `${counts} web_searches cost written_off`.split(' ').map((name) => [name, 0]);
  const texts = 'ended_by group_name model outcome details'.split(' ').map((name) => [name, name]);
  const of = { seq, request_id: `req_${seq}`, at_ms: atMs, account_id: 7, key_id: 8 };
  insert('usage_records', { ...of, ...Object.fromEntries(wholes), ...Object.fromEntries(texts) });
}

async function copy(): Promise<Filled> {
  await using session = await openMoveSession(database.url);
  const filled = await fillDatabase(session, tableReads(file));
  await commitMove(session, 'copied');
  return filled;
}

const read = (text: string) => runOn(database.url, text);

test('every table of SQLite is moved, or listed with a reason not to', () => {
  const tables = file
    .query("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'sqlite_sequence' ORDER BY name")
    .all();
  const names = (tables as { name: string }[]).map(({ name }) => name);
  expect([...movedTables, ...leftTables].toSorted()).toEqual(names);
});

test('texts lose only characters that PostgreSQL cannot store', () => {
  expect(suitText('plain \\u0000 text')).toBe('plain \\u0000 text');
  expect(suitText('a\0b\0')).toBe('a\ufffdb\ufffd');
  const kept = ['{"a":"\\\\u0000"}', '{"a":"\\ud83d\\ude00"}', '{"a":1.5e300,"b":"ü\\n"}'];
  for (const document of kept) expect(suitDocument(document)).toBe(document);
  expect(suitDocument('{"a":["\\u0000"],"b\\u0000":{"c":"x\\ud800"},"d":12}')).toBe(
    '{"a":["\ufffd"],"b\ufffd":{"c":"x\ufffd"},"d":12}',
  );
});

describe.skipIf(cannotStartPostgres)('tables that are copied to PostgreSQL', () => {
  beforeEach(async () => {
    database = await (await sharedPostgres()).newDatabase();
  });

  test('keep integers up to the largest, and compare larger sums', async () => {
    const totals =
      'messages input_tokens output_tokens cache_read_tokens cache_write_tokens cost written_off provider_cost';
    for (const key of [1, 2, 3])
      insert('daily_totals', {
        ...{
          day_ms: 0,
          account_id: 7,
          key_id: key,
          model: 'm',
          costed_messages: -GREATEST,
          costed_revenue: 2n ** 53n + 1n,
        },
        ...Object.fromEntries(totals.split(' ').map((name) => [name, GREATEST])),
      });
    insertEntry({ amount: GREATEST });
    expect((await copy()).rows).toMatchObject({ daily_totals: 3, entries: 1 });
    const [row] = await read(`SELECT cost::text, costed_messages::text AS least, costed_revenue::text AS odd,
      (SELECT amount::text FROM entries) AS amount FROM daily_totals WHERE key_id = 3`);
    expect(row).toEqual({
      cost: String(GREATEST),
      least: String(-GREATEST),
      odd: '9007199254740993',
      amount: String(GREATEST),
    });
  });

  test('keep every text, whatever its characters', async () => {
    const texts = [
      '',
      ' ',
      '\\',
      '"',
      '{}',
      '{"a","b"}',
      'NULL',
      "'; --",
      '\n\r\t\b',
      'ü – 漢字 \u{1f600} \ufffd',
      '\\N',
      '$1',
    ];
    for (const [at, note] of texts.entries()) insertEntry({ note, reference: at % 2 ? null : `${at} ${note}` });
    expect((await copy()).replaced).toEqual([]);
    const rows = (await read('SELECT note, reference FROM entries ORDER BY seq')) as Record<string, string | null>[];
    expect(rows.map(({ note }) => note)).toEqual(texts);
    expect(rows.map(({ reference }) => reference)).toEqual(texts.map((note, at) => (at % 2 ? null : `${at} ${note}`)));
  });

  test('mark each character that PostgreSQL cannot store, and report its row', async () => {
    insertEntry({ note: 'kept' });
    insertEntry({ note: 'cut\0here', reference: 'a\0' });
    insert('accounts', { id: 7, created_at_ms: 1, document: '{"id":7,"name":"x\\u0000"}' });
    expect((await copy()).replaced).toEqual(['accounts 7: document', 'entries 2: reference', 'entries 2: note']);
    expect(await read('SELECT note, reference FROM entries ORDER BY seq')).toEqual([
      { note: 'kept', reference: null },
      { note: 'cut\ufffdhere', reference: 'a\ufffd' },
    ]);
    expect(await read("SELECT document::json ->> 'name' AS name FROM accounts")).toEqual([{ name: 'x\ufffd' }]);
  });

  test('store records in their months, years ago and in the future', async () => {
    const times = [0, Date.UTC(2024, 1, 29, 23, 59), Date.UTC(2024, 2, 1), Date.UTC(2031, 11, 31)];
    for (const [at, atMs] of times.entries()) insertUsage(at + 1, atMs);
    await copy();
    const rows = await read('SELECT tableoid::regclass::text AS place FROM usage_records ORDER BY seq');
    expect(rows.map(({ place }) => place)).toEqual(
      ['197001', '202402', '202403', '203112'].map((month) => `usage_records_${month}`),
    );
  });

  test('continue with the next row numbers', async () => {
    insertUsage(41, 1);
    insertEntry({ seq: 71n } as never);
    insert('answers', { seq: 11, request_id: 'req_41', at_ms: 1, bytes: 5, sealed: 'abc' });
    await copy();
    const [next] = await read(`SELECT nextval('usage_records_seq')::int AS record,
      nextval(pg_get_serial_sequence('entries', 'seq'))::int AS entry,
      nextval(pg_get_serial_sequence('answers', 'seq'))::int AS answer,
      nextval(pg_get_serial_sequence('audit_records', 'seq'))::int AS change`);
    expect(next).toEqual({ record: 42, entry: 72, answer: 12, change: 1 });
  });

  test('count stored responses as the ledger does, and are copied in batches, however large their rows', async () => {
    const sealed = 'x'.repeat(bounds.movedCharactersAtOnce - 100);
    for (const at of [1, 2, 3, 70])
      insert('answers', { seq: at, request_id: `req_${at}`, at_ms: 1, bytes: at, sealed, account_id: at, paid: 7 });
    const sizes = [...tableReads(file).pieces('answers')].map((rows) => rows.length);
    expect(sizes).toEqual([2, 2]);
    await copy();
    expect(await read('SELECT slot, bytes::int FROM answers_stored WHERE bytes > 0 ORDER BY slot')).toEqual([
      { slot: 1, bytes: 1 },
      { slot: 2, bytes: 2 },
      { slot: 3, bytes: 3 },
      { slot: 6, bytes: 70 },
    ]);
    expect(await read('SELECT account_id::int, bytes::int, paid::int FROM answer_shares ORDER BY account_id')).toEqual(
      [1, 2, 3, 70].map((at) => ({ account_id: at, bytes: at, paid: 7 })),
    );
  });

  test('are copied completely in batches of a fixed number of rows', async () => {
    const count = bounds.movedRowsAtOnce * 2 + 1;
    file.transaction(() => {
      for (let at = 0; at < count; at++) insertEntry();
    })();
    expect((await copy()).rows.entries).toBe(count);
    expect(await read('SELECT COUNT(*)::int AS count, MAX(seq)::int AS last FROM entries')).toEqual([
      { count, last: count },
    ]);
  });

  for (const [what, statement, words] of [
    ['a row that is lost', 'RETURN NULL', 'rows_in_all is 1, not 2'],
    ['a number that is another', 'NEW.amount := 5; RETURN NEW', 'amount_low is'],
    ['a text that is another', "NEW.note := 'other'; RETURN NEW", 'note_bytes is'],
    ['a text that is missing', 'NEW.note := NULL; RETURN NEW', 'note_values is'],
  ] as const)
    test(`are not committed with ${what}`, async () => {
      insertEntry({ note: 'first' });
      insertEntry({ note: 'second' });
      await read(`CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${statement}; END $$;
        CREATE TRIGGER spoil BEFORE INSERT ON entries FOR EACH ROW WHEN (NEW.seq = 2) EXECUTE FUNCTION spoil()`);
      expect(String(await failureOf(copy()))).toContain('entries was not copied correctly');
      expect(String(await failureOf(copy()))).toContain(words);
      expect(await read('SELECT COUNT(*)::int AS count FROM entries')).toEqual([{ count: 0 }]);
    });

  test('are committed only by a complete copy, never by a failed transaction', async () => {
    await using session = await openMoveSession(database.url);
    await fillDatabase(session, tableReads(file));
    await failureOf(session.ask('SELECT 1 / 0'));
    await failureOf(commitMove(session, 'copied'));
    expect(await read('SELECT * FROM installation')).toEqual([]);
  });
});
