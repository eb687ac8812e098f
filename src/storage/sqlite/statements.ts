// The prepared statements of the ledger's store. Parameters are numbered $1, $2 …

import type { Database, Statement } from 'bun:sqlite';
import { bounds } from '../../config/config.ts';
import {
  accountColumns,
  type Column,
  claimColumns,
  entryColumns,
  holdColumns,
  keyColumns,
  leaseColumns,
  monthColumns,
  namesOf,
  personColumns,
  TOTAL_NAMES,
  totalColumns,
  UNIT_NAMES,
  unitColumns,
  usageColumns,
} from '../tables.ts';

export type LedgerReads = ReturnType<typeof prepareLedgerReads>;
export type LedgerWrites = ReturnType<typeof prepareLedgerWrites>;

/** Prepares all of them on one connection. */
export function prepareLedgerWrites(database: Database) {
  return { ...prepareMeterWrites(database), ...prepareRecordWrites(database) };
}

export function prepareLedgerReads(database: Database) {
  return {
    readAccount: prepareText(database, 'SELECT * FROM account_meters WHERE id = $1'),
    readKey: prepareText(database, 'SELECT * FROM key_meters WHERE id = $1'),
    readPerson: prepareText(database, 'SELECT * FROM person_meters WHERE id = $1'),
    readUsage: prepareText(database, 'SELECT * FROM usage_records WHERE request_id = $1'),
    readHolds: prepareText(database, `SELECT ${namesOf(holdColumns)} FROM holds`),
    readLeases: prepareText(database, 'SELECT node, epoch, expires_at_ms FROM leases'),
    findCredit: prepareText(
      database,
      `SELECT CASE WHEN credit = account_id THEN amount ELSE -amount END AS change FROM entries
       WHERE account_id = $1 AND reference = $2
       AND kind <> 'usage' AND kind <> 'write_off' AND kind <> 'correction' AND kind <> 'refund'
       AND reference IS NOT NULL
       UNION ALL SELECT amount FROM carried_credits WHERE account_id = $1 AND reference = $2 LIMIT 1`,
    ),
    checkIdempotency: prepareText(database, 'SELECT * FROM claims WHERE key_id = $1 AND name = $2'),
  };
}

function prepareMeterWrites(database: Database) {
  const prepare = (text: string) => prepareText(database, text);
  return {
    writeAccount: prepare(upsertText('account_meters', accountColumns, 1)),
    writeKey: prepare(upsertText('key_meters', keyColumns, 1)),
    writePerson: prepare(upsertText('person_meters', personColumns, 1)),
    writeHold: prepare(
      `${insertText('holds', holdColumns)}
       ON CONFLICT (request_id) DO UPDATE SET amount = excluded.amount, document = excluded.document`,
    ),
    deleteHold: prepare('DELETE FROM holds WHERE request_id = $1'),
    writeClaim: prepare(upsertText('claims', claimColumns, 2)),
    writeLease: prepare(upsertText('leases', leaseColumns, 1)),
  };
}

function prepareRecordWrites(database: Database) {
  const prepare = (text: string) => prepareText(database, text);
  const isAdded = (name: string) => `${name} = ${name} + excluded.${name}`;
  const changed = usageColumns.slice(1).map(({ name }, at) => `${name} = $${at + 2}`);
  return {
    writeEntry: prepare(insertText('entries', entryColumns)),
    writeUsage: prepare(insertText('usage_records', usageColumns)),
    replaceUsage: prepare(`UPDATE usage_records SET ${changed.join(', ')} WHERE request_id = $1`),
    writeTotal: prepare(upsertText('daily_totals', totalColumns, TOTAL_NAMES, isAdded)),
    addUnits: prepare(upsertText('unit_totals', unitColumns, UNIT_NAMES, isAdded)),
    addMonthChange: prepare(upsertText('month_changes', monthColumns, 2, isAdded)),
  };
}

function insertText<Row>(table: string, columns: readonly Column<Row>[]): string {
  return `INSERT INTO ${table} (${namesOf(columns)}) VALUES (${columns.map((_, at) => `$${at + 1}`).join(', ')})`;
}

/** The first `named` columns identify the row. The others replace its values, unless `set` combines them. */
function upsertText<Row>(
  table: string,
  columns: readonly Column<Row>[],
  named: number,
  set = (name: string) => `${name} = excluded.${name}`,
): string {
  const sets = columns.slice(named).map(({ name }) => set(name));
  return `${insertText(table, columns)} ON CONFLICT (${namesOf(columns.slice(0, named))}) DO UPDATE SET ${sets.join(', ')}`;
}

/** The statements of a connection that were used last, each prepared once. */
export class PreparedStatements {
  readonly #database: Database;
  readonly #statements = new Map<string, Statement>();

  constructor(database: Database) {
    this.#database = database;
  }

  get size(): number {
    return this.#statements.size;
  }

  /** The statement is used before the next call, and then no more. */
  of(text: string): Statement {
    const known = this.#statements.get(text);
    if (known !== undefined) this.#statements.delete(text);
    else if (this.#statements.size >= bounds.statementsPreparedMax) this.#dropOldest();
    const statement = known ?? prepareText(this.#database, text);
    this.#statements.set(text, statement);
    return statement;
  }

  #dropOldest(): void {
    for (const [text, statement] of this.#statements) {
      this.#statements.delete(text);
      statement.finalize();
      return;
    }
  }
}

/** Prepares a statement with parameters $1, $2 …, in any order. */
export function prepareText(database: Database, text: string): Statement {
  return database.prepare(text.replace(/\$(\d+)/g, '?$1'));
}
