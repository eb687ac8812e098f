// Lists of journal entries, newest first. Each statement names the index that leads to its rows: those of an account, those of a
// kind that is seldom, those that came of a message after its end.

import type { Database } from 'bun:sqlite';
import { type Entry, type EntryPage, type LedgerReader, newestFirst } from '../../ledger/ledger.ts';
import { givenBackKinds, OF_MESSAGE_LATER } from '../entry-rows.ts';
import { IN_PAGE, pageBounds } from './page-order.ts';
import { prepareText } from './statements.ts';

export const ENTRY_COLUMNS = 'seq, at_ms, debit, credit, amount, kind, reference, note';

export type EntryTable = Omit<Entry, 'atMs'> & { at_ms: number };

export function entryReads(database: Database): Pick<LedgerReader, 'listEntries'> {
  const boundsOf = pageBounds(database, 'entries');
  const prepareList = (index: string, where: string) =>
    prepareText(database, `SELECT ${ENTRY_COLUMNS} FROM entries INDEXED BY ${index} WHERE ${where} AND ${IN_PAGE}`);
  const ofAccount = prepareList('entries_of_account', 'account_id = $5');
  const ofKind = prepareList('entries_of_kind', "account_id = $5 AND kind = $6 AND kind <> 'usage'");
  const ofMessage = prepareList('entries_of_message', `reference = $5 AND kind = $6 AND ${OF_MESSAGE_LATER}`);
  // Few entries of one account are of one millisecond, and fewer of one message.
  const atEnd = prepareText(
    database,
    `SELECT ${ENTRY_COLUMNS} FROM entries INDEXED BY entries_of_account
     WHERE account_id = $1 AND at_ms = $2 AND reference = $3 AND (kind = 'usage' OR kind = 'write_off') LIMIT 2`,
  );
  const list = (page: EntryPage): EntryTable[] => {
    const within = boundsOf(page);
    const { account, kinds, message } = page;
    if (kinds !== undefined) return kinds.flatMap((kind) => ofKind.all(...within, account, kind) as EntryTable[]);
    if (message === undefined) return ofAccount.all(...within, account) as EntryTable[];
    const [sinceMs, atMs, seq] = within;
    const isInPage = (row: EntryTable) =>
      row.at_ms >= sinceMs && (row.at_ms < atMs || (row.at_ms === atMs && row.seq < seq));
    const ended = atEnd.all(account, message.endedAtMs, message.requestId) as EntryTable[];
    const later = givenBackKinds.flatMap((kind) => ofMessage.all(...within, message.requestId, kind) as EntryTable[]);
    return [...ended.filter(isInPage), ...later];
  };
  return {
    async listEntries(page) {
      return list(page).map(readEntry).sort(newestFirst).slice(0, page.limit);
    },
  };
}

export function readEntry({ at_ms: atMs, ...entry }: EntryTable): Entry {
  return { atMs, ...entry };
}
