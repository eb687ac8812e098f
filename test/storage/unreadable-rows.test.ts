// Rows that cannot be read: each is reported and passed over, so that it stops neither lists nor jobs of the others.

import { expect, test } from 'bun:test';
import { bounds } from '../../src/config/config.ts';
import { isEventType } from '../../src/events/events.ts';
import { DocumentUnreadable } from '../../src/storage/document-shape.ts';
import { outboxReads } from '../../src/storage/event-reads.ts';
import { readPage } from '../../src/storage/readable-rows.ts';
import { searchReads } from '../../src/storage/search-reads.ts';
import { shortReads } from '../../src/storage/short-reads.ts';
import { sqliteReader } from '../../src/storage/sqlite/reader.ts';
import { manualClock } from '../support/manual-clock.ts';
import { openSqlite } from './open-sqlite.ts';
import { readRecorded } from './stored-shapes/shapes.ts';

const recorded = readRecorded();

/** A document of the present version, as the table has it. */
function sample(table: string, more: object = {}, name = 'document'): string {
  return JSON.stringify({ ...(recorded[table]?.[name]?.at(-1)?.samples[0]?.stored as object), ...more });
}

/** A database with an unreadable row between others, in each table. */
function openDamaged() {
  const opened = openSqlite(manualClock(Date.UTC(2026, 10, 20)));
  const { database } = opened;
  const reports: string[] = [];
  const on = sqliteReader(database, (key, reason) => reports.push(`${key} ${reason}`));
  const insert = (table: string, columns: Record<string, string | number | null>) => {
    const names = Object.keys(columns);
    const places = names.map(() => '?').join(', ');
    database.query(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${places})`).run(...Object.values(columns));
  };
  /** Rows 1 to 4, of which 2 is unreadable. */
  const four = (table: string, columns: (id: number) => Record<string, string | number | null>) => {
    for (const id of [1, 2, 3, 4])
      insert(table, { ...columns(id), document: id === 2 ? '{"name":"two"}' : sample(table, { id, name: 'two' }) });
  };
  return { opened, reports, reads: shortReads(on), outbox: outboxReads(on), names: searchReads(on), insert, four };
}

const page = { after: null, limit: 2 };
const idsOf = (rows: readonly { id: number }[]) => rows.map(({ id }) => id);

test('lists of accounts, keys, tokens and people have full pages of the others', async () => {
  const { opened, reports, reads, names, four } = openDamaged();
  four('accounts', (id) => ({ id, created_at_ms: id }));
  four('keys', (id) => ({ id, account_id: 1, made_by: 'local', created_at_ms: id }));
  four('tokens', (id) => ({ id, account_id: 1, secret_hash: `t${id}`, created_at_ms: id }));
  four('people', (id) => ({ id, account_id: 1, role: 'owner', status: 'enabled', created_at_ms: id }));
  expect(idsOf(await reads.listAccounts(page))).toEqual([1, 3]);
  for (const narrowed of [{}, { madeBy: 'local' }, { accountId: 1 }, { accountId: 1, madeBy: 'local' }])
    expect(idsOf(await reads.listKeys({ accountId: null, madeBy: null, ...page, ...narrowed }))).toEqual([1, 3]);
  for (const accountId of [null, 1]) {
    expect(idsOf(await reads.listTokens({ accountId, ...page }))).toEqual([1, 3]);
    expect(idsOf(await reads.listPeople({ accountId, ...page }))).toEqual([1, 3]);
  }
  expect(idsOf(await reads.listAccounts({ after: 3, limit: 2 }))).toEqual([4]);
  const search = { text: 'two', accountId: null, madeBy: null, limit: 10 };
  expect(idsOf(await names.searchAccountNames(search)).sort()).toEqual([1, 3, 4]);
  expect(new Set(reports).size).toBe(4);
  expect(reports).toContain('2 accounts.document: id is missing');
  expect([await reads.getAccount(2), await reads.getKey(2), await reads.getPerson(2)]).toEqual([null, null, null]);
  await expect(reads.findTokenBySecretHash(['t2'])).rejects.toThrow('tokens.document: id is missing');
  expect((await reads.getAccount(3))?.id).toBe(3);
  opened.close();
});

test('payments, mails, destinations and samples that can be read are found behind those that cannot', async () => {
  const { opened, reports, reads, insert, four } = openDamaged();
  four('accounts', (id) => ({ id, created_at_ms: id }));
  const payment = { account_id: 1, kind: 'checkout', status: 'paid', version: 1 };
  four('payments', (id) => ({ id, ...payment, created_at_ms: id, check_at_ms: id }));
  four('mails', (id) => ({ id, created_at_ms: id, next_at_ms: id, tries: 0 }));
  four('destinations', (id) => ({ id, account_id: 1, created_at_ms: id, status: 'enabled', version: 1 }));
  expect(idsOf(await reads.listDuePayments(9, 2))).toEqual([1, 3]);
  expect(idsOf(await reads.listPaymentsInRange({ sinceMs: 0, untilMs: 9 }, null, 2))).toEqual([1, 3]);
  const all = { accountId: null, status: null, kind: null, sinceMs: null, untilMs: null };
  expect(idsOf(await reads.listPayments({ ...all, ...page, limit: 3 }))).toEqual([4, 3, 1]);
  expect(idsOf(await reads.listDueMails(9, 2))).toEqual([1, 3]);
  expect(idsOf(await reads.listDestinations({ accountId: 1, ...page }))).toEqual([1, 3]);
  insert('learned', { model: 'a', document: '{"version":2}' });
  insert('learned', { model: 'b', document: '{"version":2,"accounts":[]}' });
  expect(await reads.loadSamples()).toEqual([['b', { version: 2, accounts: [] }]]);
  expect(reports).toContain('a learned.document: accounts is missing');
  opened.close();
});

test('batches that can be read are listed and run behind those that cannot', async () => {
  const { opened, reports, reads, four } = openDamaged();
  const batch = { account_id: 1, company_id: 1, key_id: 1, form: 'openai', status: 'running' };
  four('batches', (id) => ({ id, ...batch, created_at_ms: id, due_at_ms: id }));
  expect(idsOf(await reads.listRunningBatches(9))).toEqual([1, 3, 4]);
  const listed = { keyId: 1, form: 'openai', order: 'asc', ...page } as const;
  expect(idsOf(await reads.listBatches(listed))).toEqual([1, 3]);
  expect(reports.filter((report) => report.startsWith('2 batches.document: '))).not.toEqual([]);
  opened.close();
});

test('secrets that are sealed anew are never passed over', async () => {
  const { opened, reads, insert, four } = openDamaged();
  four('mails', (id) => ({ id, created_at_ms: id, next_at_ms: id, tries: 0, secret_sealed: 'sealed' }));
  await expect(reads.listSealedMails()).rejects.toThrow('mails.document: to is missing');
  insert('destinations', { id: 1, created_at_ms: 1, status: 'enabled', version: 1, document: '{}' });
  await expect(reads.listSealedDestinations()).rejects.toThrow('destinations.document: kind is missing');
  opened.close();
});

test('events of a later release wait for it, and others are spread; what is unreadable is sent as such', async () => {
  const { opened, reports, outbox, reads, insert } = openDamaged();
  const event = { at_ms: 1, account_id: null, document: '{}' };
  insert('events', { ...event, seq: 1, type: 'thing.invented' });
  insert('events', { ...event, seq: 2, type: 'backup.failed', document: '[]' });
  insert('events', { ...event, seq: 3, type: 'backup.failed' });
  const unspread = await outbox.listUnspread(1, isEventType);
  expect(unspread).toMatchObject([{ seq: 2, data: { unreadable: 'events.document: it is not an object' } }]);
  expect((await outbox.listUnspread(9, isEventType)).map(({ seq }) => seq)).toEqual([2, 3]);
  expect(reports).toContain('1 events.type: a later release wrote "thing.invented"');
  expect(await reads.getEvent(1)).toMatchObject({ type: 'thing.invented' });
  opened.close();
});

test('a delivery waits while its destination cannot be read, and others are sent', async () => {
  const { opened, outbox, insert, four } = openDamaged();
  four('accounts', (id) => ({ id, created_at_ms: id }));
  four('destinations', (id) => ({ id, account_id: 1, created_at_ms: id, status: 'enabled', version: 1 }));
  insert('events', { seq: 1, at_ms: 1, account_id: 1, type: 'balance.low', document: '{}' });
  for (const id of [1, 2, 3])
    insert('deliveries', {
      event_seq: 1,
      destination_id: id,
      lane: 1,
      created_at_ms: 1,
      status: 'pending',
      tries: 0,
      next_at_ms: id,
      attempts: id === 3 ? '{}' : '[]',
    });
  const due = await outbox.listDue({ nowMs: 9, isFailing: false, after: null, limit: 2 });
  expect(due.map(({ destination, delivery }) => [destination.id, delivery.attempts])).toEqual([
    [1, []],
    [3, []],
  ]);
  expect(idsOf(await outbox.listReceivers(1))).toEqual([1, 3, 4]);
  opened.close();
});

test('a page passes over a bounded number of rows', async () => {
  const asked: number[] = [];
  const ask = async (skipped: number) => {
    asked.push(skipped);
    return [1, 2];
  };
  const read = (): number => {
    throw new DocumentUnreadable('never');
  };
  expect(await readPage({ onUnreadable: () => {} }, 2, ask, String, read)).toEqual([]);
  expect(asked.at(-1)).toBe(bounds.unreadableRowsPassedMax);
});

test('a mistake in a reader is no unreadable row', async () => {
  const read = (): number => {
    throw new TypeError('a mistake');
  };
  const page = readPage({ onUnreadable: () => {} }, 2, async () => [1], String, read);
  await expect(page).rejects.toThrow('a mistake');
});
