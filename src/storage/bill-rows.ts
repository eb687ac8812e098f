// Rows of provider bills and their sources: their statements and their reads, the same for both databases.

import type { BillPage, BillSource, BillStore, ListedBill, StoredBill } from '../bills/bills.ts';
import { bounds } from '../config/config.ts';
import type { LedgerGate } from '../ledger/ledger.ts';
import { submit } from './account-writes.ts';
import { eventRows } from './change-events.ts';
import type { CoCommittedStatement } from './co-committed.ts';
import { prepareDocument, prepareOne, readPage, readRows } from './readable-rows.ts';
import { LAST, type SqlReader } from './sql-reader.ts';
import { documents, readStored } from './stored-documents.ts';

export type BillRow =
  | { table: 'provider_bill_sources'; source: BillSource }
  /** Replaces that of the same day. */
  | { table: 'provider_bills'; bill: StoredBill };

export function billStatement(row: BillRow): CoCommittedStatement {
  if (row.table === 'provider_bill_sources')
    return {
      text: `INSERT INTO provider_bill_sources (provider, document) VALUES ($1, $2)
         ON CONFLICT (provider) DO UPDATE SET document = excluded.document`,
      values: [row.source.provider, JSON.stringify(row.source)],
    };
  const { models, ...bill } = row.bill;
  return {
    text: `INSERT INTO provider_bills (provider, day_ms, document, models) VALUES ($1, $2, $3, $4)
       ON CONFLICT (provider, day_ms) DO UPDATE SET document = excluded.document, models = excluded.models`,
    values: [bill.provider, bill.dayMs, JSON.stringify(bill), JSON.stringify(models)],
  };
}

type BillWrites = Pick<BillStore, 'putBillSource' | 'putBills'>;

export function billWrites(gate: LedgerGate): BillWrites {
  return {
    putBillSource: (source, auditContext) =>
      submit(gate, [], [{ table: 'provider_bill_sources', source }], auditContext),
    putBills: (bills, events, auditContext) =>
      submit(
        gate,
        [],
        [...bills.map((bill) => ({ table: 'provider_bills' as const, bill })), ...eventRows(events)],
        auditContext,
      ),
  };
}

export type BillReads = Omit<BillStore, keyof BillWrites>;

export function billReads(on: SqlReader): BillReads {
  const sources = on.prepare<{ provider: string; document: string }>(
    'SELECT r.provider, r.document FROM provider_bill_sources r ORDER BY r.provider LIMIT $1',
  );
  const source = 'SELECT r.document FROM provider_bill_sources r WHERE r.provider = $1';
  const one = 'SELECT r.document, r.models FROM provider_bills r WHERE r.provider = $1 AND r.day_ms = $2';
  return {
    getBillSource: prepareDocument(on, documents.billSource, source),
    listBillSources: async () =>
      readRows(
        on,
        await sources(bounds.billSourcesMax),
        ({ provider }) => provider,
        ({ document }) => readStored(documents.billSource, document),
      ),
    getBill: prepareOne(on, one, ({ document, models }: { document: string; models: string }) => ({
      ...readStored(documents.providerBill, document),
      models: readStored(documents.billedModels, models),
    })),
    listBills: listBills(on),
  };
}

function listBills(on: SqlReader): BillStore['listBills'] {
  const text = (where: string) =>
    `SELECT r.provider, ${on.number('r.day_ms')} AS "dayMs", r.document FROM provider_bills r
     WHERE (r.day_ms < $1 OR (r.day_ms = $1 AND r.provider > $2)) AND r.day_ms <= $3 AND r.day_ms >= $4 ${where}
     ORDER BY r.day_ms DESC, r.provider LIMIT $5 OFFSET $6`;
  interface Row {
    provider: string;
    dayMs: number;
    document: string;
  }
  const all = on.prepare<Row>(text(''));
  const ofProvider = on.prepare<Row>(text('AND r.provider = $7'));
  return ({ provider, sinceMs, untilMs, before, limit }: BillPage) => {
    const range = [before?.dayMs ?? LAST, before?.provider ?? '', untilMs ?? LAST, sinceMs ?? 0, limit] as const;
    const ask = (skipped: number) =>
      provider === null ? all(...range, skipped) : ofProvider(...range, skipped, provider);
    const keyOf = (row: Row) => `${row.provider} ${row.dayMs}`;
    return readPage(on, limit, ask, keyOf, ({ document }): ListedBill => readStored(documents.providerBill, document));
  };
}
