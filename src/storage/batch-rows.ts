// Rows of batches and of their results: their statements and their reads, the same for both databases.

import type {
  Batch,
  BatchPart,
  BatchStatus,
  BatchStore,
  BegunMessage,
  ItemCounts,
  ItemOutcome,
  ItemResult,
} from '../batches/batches.ts';
import { TurnpikeError } from '../errors.ts';
import type { LedgerGate } from '../ledger/ledger.ts';
import { submit } from './account-writes.ts';
import type { CoCommittedRow, CoCommittedStatement } from './co-committed.ts';
import { prepareCount, prepareOne, readPage, readRows } from './readable-rows.ts';
import { Bindings, columnsAs, LAST, type SqlReader } from './sql-reader.ts';
import { type BatchDocument, documents, type PartDocument, readStored } from './stored-documents.ts';

export type BatchRow =
  | { table: 'batches'; created: Batch }
  /** Refused as Outpaced unless the stored status is `from`. */
  | { table: 'batches'; changed: Batch; from: BatchStatus }
  /** Only one that has ended. */
  | { table: 'batches'; removed: number }
  /** Once for each place. */
  | { table: 'batch_results'; batchId: number; result: ItemResult }
  /** All of a batch. */
  | { table: 'batch_results'; forgotten: number }
  /** Refused as Outpaced if there is one with its number. */
  | { table: 'batch_parts'; batchId: number; added: BatchPart }
  | { table: 'batch_parts'; batchId: number; changed: BatchPart }
  | { table: 'batch_parts'; batchId: number; removed: number }
  /** All of a batch. */
  | { table: 'batch_parts'; forgotten: number };

export function batchStatement(row: BatchRow): CoCommittedStatement {
  if (row.table === 'batch_parts') return partStatement(row);
  if (row.table === 'batch_results') {
    if ('forgotten' in row) return { text: 'DELETE FROM batch_results WHERE batch_id = $1', values: [row.forgotten] };
    const { position, outcome, sealed, cost } = row.result;
    return {
      text: `INSERT INTO batch_results (batch_id, place, outcome, sealed, cost) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (batch_id, place) DO NOTHING`,
      values: [row.batchId, position, outcome, sealed, cost],
    };
  }
  if ('created' in row) {
    const { id, accountId, companyId, keyId, form, status, createdAtMs, dueAtMs } = row.created;
    return {
      text: `INSERT INTO batches (id, account_id, company_id, key_id, form, status, created_at_ms, due_at_ms, document)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      values: [id, accountId, companyId, keyId, form, status, createdAtMs, dueAtMs, documentOf(row.created)],
    };
  }
  if ('changed' in row) {
    const { id, status, dueAtMs } = row.changed;
    return {
      text: 'UPDATE batches SET status = $3, due_at_ms = $4, document = $5 WHERE id = $1 AND status = $2',
      values: [id, row.from, status, dueAtMs, documentOf(row.changed)],
      race: 'the batch has changed since it was read',
    };
  }
  return { text: `DELETE FROM batches WHERE id = $1 AND status = 'ended'`, values: [row.removed] };
}

function partStatement(row: Extract<BatchRow, { table: 'batch_parts' }>): CoCommittedStatement {
  if ('forgotten' in row) return { text: 'DELETE FROM batch_parts WHERE batch_id = $1', values: [row.forgotten] };
  if ('removed' in row)
    return { text: 'DELETE FROM batch_parts WHERE batch_id = $1 AND part = $2', values: [row.batchId, row.removed] };
  const { part, status, ...document } = 'added' in row ? row.added : row.changed;
  const values = [row.batchId, part, status, JSON.stringify(document satisfies PartDocument)];
  if ('changed' in row)
    return { text: 'UPDATE batch_parts SET status = $3, document = $4 WHERE batch_id = $1 AND part = $2', values };
  return {
    text: `INSERT INTO batch_parts (batch_id, part, status, document) VALUES ($1, $2, $3, $4)
      ON CONFLICT (batch_id, part) DO NOTHING`,
    values,
    race: 'another node has sent a part of the batch',
  };
}

function documentOf(batch: Batch): string {
  const {
    id: _id,
    accountId: _account,
    companyId: _company,
    keyId: _key,
    form: _form,
    status: _status,
    ...rest
  } = batch;
  const { createdAtMs: _at, dueAtMs: _due, ...document } = rest;
  return JSON.stringify(document satisfies BatchDocument);
}

type BatchWrites = Pick<
  BatchStore,
  'createBatch' | 'addResults' | 'addPart' | 'changePart' | 'removePart' | 'cancelBatch' | 'endBatch' | 'removeBatch'
>;

export function batchWrites(gate: LedgerGate): BatchWrites {
  return {
    async createBatch(created, reserves) {
      const row: CoCommittedRow = { table: 'batches', created };
      for (const answer of await gate.submit({ operations: [...reserves], coCommitted: [row] })) {
        if (answer.ok || answer.reason === 'bundle_refused') continue;
        if ('meter' in answer) return answer;
        throw new TurnpikeError('key_invalid', 'This key does not exist.');
      }
      return null;
    },
    addResults: (batchId, results) =>
      submit(
        gate,
        [],
        results.map((result) => ({ table: 'batch_results', batchId, result })),
      ),
    addPart: (batchId, added) => submit(gate, [], [{ table: 'batch_parts', batchId, added }]),
    changePart: (batchId, changed) => submit(gate, [], [{ table: 'batch_parts', batchId, changed }]),
    removePart: (batchId, removed) => submit(gate, [], [{ table: 'batch_parts', batchId, removed }]),
    cancelBatch: (changed, auditContext) =>
      submit(gate, [], [{ table: 'batches', changed, from: 'running' }], auditContext),
    endBatch: (changed, from, returns, event) =>
      submit(
        gate,
        [...returns],
        [
          { table: 'batches', changed, from },
          { table: 'batch_results', forgotten: changed.id },
          { table: 'batch_parts', forgotten: changed.id },
          { table: 'events', event },
        ],
      ),
    removeBatch: (removed) => submit(gate, [], [{ table: 'batches', removed }]),
  };
}

type BatchTable = Omit<Batch, keyof BatchDocument> & { document: string };
export type BatchReads = Omit<BatchStore, keyof BatchWrites>;

export function batchReads(on: SqlReader): BatchReads {
  const numbers = ['id', 'accountId', 'companyId', 'keyId', 'createdAtMs', 'dueAtMs'];
  const columns = columnsAs(on, 'r', numbers, ['form', 'status', 'document']);
  const rows = (rest: string) => on.prepare<BatchTable>(`SELECT ${columns} FROM batches r ${rest}`);
  const page = (comparison: '<' | '>', direction: 'DESC' | 'ASC') =>
    rows(`WHERE r.key_id = $1 AND r.form = $2 AND (r.created_at_ms, r.id) ${comparison} ($3, $4)
      ORDER BY r.created_at_ms ${direction}, r.id ${direction} LIMIT $5 OFFSET $6`);
  const pages = { asc: page('>', 'ASC'), desc: page('<', 'DESC') };
  const running = on.prepare<BatchTable>(`SELECT ${columns}
    FROM (SELECT *, row_number() OVER (PARTITION BY company_id ORDER BY id) AS turn FROM batches WHERE status <> 'ended') r
    ORDER BY r.turn, r.company_id LIMIT $1`);
  const due = rows(`WHERE r.status = 'ended' AND r.due_at_ms <= $1 ORDER BY r.due_at_ms LIMIT $2`);
  const sums = on.prepare<{ outcome: ItemOutcome; count: number; cost: number }>(
    `SELECT r.outcome, ${on.number('count(*)')} AS count, ${on.number('sum(r.cost)')} AS cost
      FROM batch_results r WHERE r.batch_id = $1 GROUP BY r.outcome`,
  );
  const begun =
    on.prepare<BegunMessage>(`SELECT c.request_id AS "requestId", CASE WHEN c.is_answered <> 0 THEN 'answered'
      WHEN EXISTS (SELECT 1 FROM holds h WHERE h.request_id = c.request_id) THEN 'running' ELSE 'failed' END AS state
    FROM claims c WHERE c.key_id = $1 AND c.name = $2`);
  const inOrder = 'FROM batch_results r WHERE r.batch_id = $1 AND r.place > $2 ORDER BY r.place LIMIT $3';
  const position = `${on.number('r.place')} AS position`;
  const results = on.prepare<ItemResult>(
    `SELECT ${position}, r.outcome, r.sealed, ${on.number('r.cost')} AS cost ${inOrder}`,
  );
  const done = on.prepare<{ position: number }>(`SELECT ${position} ${inOrder}`);
  const parts = on.prepare<Pick<BatchPart, 'part' | 'status'> & { document: string }>(
    `SELECT ${on.number('r.part')} AS part, r.status, r.document FROM batch_parts r WHERE r.batch_id = $1 ORDER BY r.part`,
  );
  const read = async (reading: Promise<BatchTable[]>) => readRows(on, await reading, ({ id }) => id, batchOf);
  return {
    getBatch: prepareOne(on, `SELECT ${columns} FROM batches r WHERE r.id = $1`, batchOf),
    listBatches: ({ keyId, form, order, after, limit }) => {
      const beginning = order === 'desc' ? LAST : -1;
      const { createdAtMs, id } = after ?? { createdAtMs: beginning, id: beginning };
      const ask = (skipped: number) => pages[order](keyId, form, createdAtMs, id, limit, skipped);
      return readPage(on, limit, ask, (row) => row.id, batchOf);
    },
    listShownBatches: makeShownList(on, columns),
    listRunningBatches: (limit) => read(running(limit)),
    countRunningBatches: prepareCount(on, 'batches', "company_id = $1 AND status <> 'ended'"),
    listDueBatches: (nowMs, limit) => read(due(nowMs, limit)),
    findBegun: async (keyId, claim) => (await begun(keyId, claim))[0] ?? null,
    async sumResults(batchId) {
      const found = await sums(batchId);
      const counts: ItemCounts = { succeeded: 0, errored: 0, canceled: 0, expired: 0 };
      for (const { outcome, count } of found) counts[outcome] = count;
      return { counts, cost: found.reduce((sum, { cost }) => sum + cost, 0) };
    },
    listResults: ({ batchId, after, limit }) => results(batchId, after, limit),
    listParts: async (batchId) =>
      (await parts(batchId)).map(({ document, ...row }) => ({ ...row, ...readStored(documents.batchPart, document) })),
    listDone: async ({ batchId, after, limit }) => (await done(batchId, after, limit)).map(({ position }) => position),
  };
}

function batchOf({ document, ...row }: BatchTable): Batch {
  return { ...row, ...readStored(documents.batch, document) };
}

function makeShownList(on: SqlReader, columns: string): BatchStore['listShownBatches'] {
  return async ({ accountId, keyIds, status, sinceMs, untilMs, after, limit }) => {
    if (keyIds?.length === 0) return [];
    const bindings = new Bindings();
    const conditions = [
      ...(accountId === null ? [] : [`r.account_id = ${bindings.add(accountId)}`]),
      ...(keyIds === null ? [] : [`r.key_id IN (${keyIds.map((key) => bindings.add(key)).join(', ')})`]),
      ...(status === null ? [] : [`(r.status || '') = ${bindings.add(status)}`]), // no index of it has the order
      ...(status === null || status === 'ended' ? [] : [`r.status <> 'ended'`]), // as the index of them says
      ...(sinceMs === null ? [] : [`r.created_at_ms >= ${bindings.add(sinceMs)}`]),
      ...(untilMs === null ? [] : [`r.created_at_ms <= ${bindings.add(untilMs)}`]),
      ...(after === null
        ? []
        : [`(r.created_at_ms, r.id) < (${bindings.add(after.createdAtMs)}, ${bindings.add(after.id)})`]),
    ];
    const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
    const text = `SELECT ${columns} FROM batches r ${where} ORDER BY r.created_at_ms DESC, r.id DESC`;
    const ask = (skipped: number) =>
      on.read<BatchTable>(`${text} LIMIT ${limit} OFFSET ${skipped}`, ...bindings.values);
    return readPage(on, limit, ask, ({ id }) => id, batchOf);
  };
}
