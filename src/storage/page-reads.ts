// Pages of journal entries and audit records, newest first, each by an index.

import type { AuditStore } from '../audit/audit.ts';
import type { Entry, EntryPage, LedgerReader } from '../ledger/ledger.ts';
import { newestFirst as newestEntryFirst } from '../ledger/ledger.ts';
import { Bindings, columnsAs, newestFirst, numbers, type Position, pageStarts, type SqlReader } from './sql-reader.ts';
import { type AuditTable, givenBackKinds, OF_MESSAGE_LATER, readAuditRow } from './tables.ts';

export function auditReads(on: SqlReader): Pick<AuditStore, 'listAudit'> {
  const startOf = pageStarts(on, 'audit_records');
  const texts = ['actor', 'role', 'address', 'requestId', 'action', 'object', 'before', 'after'];
  const columns = columnsAs(on, 'r', ['seq', 'atMs', 'account'], texts);
  return {
    async listAudit({ object, account, actor, ...page }) {
      const bindings = new Bindings();
      const ofPage = newestFirst(bindings, { sinceMs: page.sinceMs, start: await startOf(page) });
      const filters: [column: string, value: string][] = [];
      if (object !== null) filters.push(['object', bindings.add(object)]);
      if (actor !== null) filters.push(['actor', bindings.add(actor)]);
      if (account !== null) filters.push(['account_id', bindings.add(account)]);
      // Filters without an index are applied to the rows found: one object has few.
      const equal = object === null ? filters : filters.slice(0, 1);
      const where = filters.slice(equal.length).map(([column, value]) => `r.${column} = ${value}`);
      const names = equal.map(([column]) => column.replace('_id', ''));
      const index = names.length === 0 ? 'audit_in_order' : `audit_of_${names.join('_in_')}`;
      const range = on.range({ ...ofPage, table: 'audit_records', index, equal, where }, bindings);
      const text = `SELECT ${columns} ${range} LIMIT ${bindings.add(page.limit)}`;
      return (await on.read<AuditTable>(text, ...bindings.values)).map(readAuditRow);
    },
  };
}

export type EntryTable = Omit<Entry, 'atMs'> & { at_ms: number };

/** The columns of an EntryTable. */
export function entryColumnsOn(on: Pick<SqlReader, 'number'>): string {
  return `${numbers(on, 'seq', 'at_ms', 'debit', 'credit', 'amount')}, r.kind, r.reference, r.note`;
}

export function readEntry({ at_ms: atMs, ...entry }: EntryTable): Entry {
  return { atMs, ...entry };
}

/** The indexes of lists of entries: the columns that they begin with, and the condition of a partial one. */
const ENTRY_INDEXES = {
  entries_of_account: { columns: ['account_id'], where: [] },
  entries_of_kind: { columns: ['account_id', 'kind'], where: ["r.kind <> 'usage'"] },
  entries_of_message: { columns: ['reference', 'kind'], where: [OF_MESSAGE_LATER] },
};

export function entryReads(on: SqlReader): Pick<LedgerReader, 'listEntries'> {
  const startOf = pageStarts(on, 'entries');
  const columns = entryColumnsOn(on);
  // Few entries of an account share a millisecond, and fewer a message.
  const atEnd = on.prepare<EntryTable>(
    `SELECT ${columns} ${on.from('entries', 'entries_of_account')}
     WHERE r.account_id = $1 AND r.at_ms = $2 AND r.reference = $3 AND (r.kind = 'usage' OR r.kind = 'write_off') LIMIT 2`,
  );
  const list = (
    index: keyof typeof ENTRY_INDEXES,
    of: readonly (string | number)[],
    { sinceMs, limit }: EntryPage,
    start: Position,
  ) => {
    const bindings = new Bindings();
    const { columns: first, where } = ENTRY_INDEXES[index];
    const equal = first.map((column, at) => [column, bindings.add(of[at] ?? null)] as const);
    const ofPage = newestFirst(bindings, { sinceMs, start });
    const range = on.range({ ...ofPage, table: 'entries', index, equal, where }, bindings);
    return on.read<EntryTable>(`SELECT ${columns} ${range} LIMIT ${bindings.add(limit)}`, ...bindings.values);
  };
  const listOfMessage = async (
    { requestId, endedAtMs }: NonNullable<EntryPage['message']>,
    page: EntryPage,
    start: Position,
  ) => {
    const isInPage = ({ at_ms: atMs, seq }: EntryTable) =>
      atMs >= (page.sinceMs ?? 0) && (atMs < start[0] || (atMs === start[0] && seq < start[1]));
    const rows = (await atEnd(page.account, endedAtMs, requestId)).filter(isInPage);
    for (const kind of givenBackKinds) rows.push(...(await list('entries_of_message', [requestId, kind], page, start)));
    return rows;
  };
  return {
    async listEntries(page) {
      const start = await startOf(page);
      const { account, kinds, message } = page;
      const rows: EntryTable[] = [];
      if (kinds !== undefined)
        for (const kind of kinds) rows.push(...(await list('entries_of_kind', [account, kind], page, start)));
      else if (message !== undefined) rows.push(...(await listOfMessage(message, page, start)));
      else rows.push(...(await list('entries_of_account', [account], page, start)));
      return rows.map(readEntry).sort(newestEntryFirst).slice(0, page.limit);
    },
  };
}
