// Lists of journal entries, newest first: those of an account, those of a kind that is seldom, those that came of a message. Each by
// the one index that has its order.

import { type Entry, type LedgerReader, newestFirst } from '../../ledger/ledger.ts';
import { givenBackKinds, OF_MESSAGE_LATER } from '../entry-rows.ts';
import { inPage, pageBounds } from './page-order.ts';
import type { Reader } from './read-pool.ts';
import { asNumbers } from './row-columns.ts';

export const ENTRY_COLUMNS = `${asNumbers('r', 'seq', 'at_ms', 'debit', 'credit', 'amount')}, r.kind, r.reference, r.note`;

export type EntryTable = Omit<Entry, 'atMs'> & { at_ms: number };

const SELECT = `SELECT ${ENTRY_COLUMNS} FROM entries r WHERE`;
const OF_ACCOUNT = `${SELECT} ${inPage([['account_id', '$5']])}`;
const OF_KIND = `${SELECT} r.kind <> 'usage' AND ${inPage([
  ['account_id', '$5'],
  ['kind', '$6'],
])}`;
const OF_MESSAGE = `${SELECT} ${OF_MESSAGE_LATER} AND ${inPage([
  ['reference', '$5'],
  ['kind', '$6'],
])}`;
// Few entries of one account are of one millisecond, and fewer of one message.
const AT_END = `
  ${SELECT} r.account_id = $1 AND r.at_ms = $2 AND r.reference = $3 AND (r.kind = 'usage' OR r.kind = 'write_off')
  LIMIT 2`;

export function entryReads(reader: Reader): Pick<LedgerReader, 'listEntries'> {
  const boundsOf = pageBounds(reader, 'entries');
  const ask = (text: string, ...values: (string | number)[]) => reader.read<EntryTable>(text, ...values);
  return {
    async listEntries(page) {
      const within = await boundsOf(page);
      const { account, kinds, message, limit } = page;
      const rows: EntryTable[] = [];
      if (kinds !== undefined) for (const kind of kinds) rows.push(...(await ask(OF_KIND, ...within, account, kind)));
      else if (message === undefined) rows.push(...(await ask(OF_ACCOUNT, ...within, account)));
      else {
        const [sinceMs, atMs, seq] = within;
        const isInPage = (row: EntryTable) =>
          row.at_ms >= sinceMs && (row.at_ms < atMs || (row.at_ms === atMs && row.seq < seq));
        rows.push(...(await ask(AT_END, account, message.endedAtMs, message.requestId)).filter(isInPage));
        for (const kind of givenBackKinds) rows.push(...(await ask(OF_MESSAGE, ...within, message.requestId, kind)));
      }
      return rows.map(readEntry).sort(newestFirst).slice(0, limit);
    },
  };
}

export function readEntry({ at_ms: atMs, ...entry }: EntryTable): Entry {
  return { atMs, ...entry };
}
