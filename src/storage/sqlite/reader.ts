// The SQL of SQLite. Each statement names its index, so that one without its index fails.

import type { Database } from 'bun:sqlite';
import { bounds } from '../../config/config.ts';
import {
  Bindings,
  type IndexRange,
  type JsonPath,
  type ReadValue,
  type SqlReader,
  type UnitRows,
} from '../sql-reader.ts';
import { PreparedStatements } from './statements.ts';

/** Reads over one connection, each at once. */
export function sqliteReader(database: Database, onUnreadable: SqlReader['onUnreadable'] = () => {}): SqlReader {
  const statements = new PreparedStatements(database);
  const read = async <Row>(text: string, ...values: readonly ReadValue[]) =>
    statements.of(text).all(...values) as Row[];
  let restedAtMs = performance.now();
  /** Pauses after a while, so that the ledger can checkpoint its log: one read after another would let it grow. */
  const rest = async () => {
    if (performance.now() - restedAtMs < bounds.totalsStretchMs) return;
    await Bun.sleep(bounds.totalsRestMs);
    restedAtMs = performance.now();
  };
  return {
    read,
    // At its first use: each start would otherwise wait for all of them.
    prepare:
      <Row>(text: string) =>
      (...values) =>
        read<Row>(text, ...values),
    async readEach<Row>(...[rows, write]: Parameters<SqlReader['readEach']>) {
      const found: Row[] = [];
      for (const row of rows) {
        await rest();
        const bindings = new Bindings();
        const text = write(
          row.map((value) => bindings.add(value)),
          bindings,
        );
        found.push(...(await read<Row>(text, ...bindings.values)));
      }
      return found;
    },
    rest,
    onUnreadable,
    totalsRunRows: bounds.totalsRunRows,
    taggedRunRows: bounds.taggedRunRows,
    sortsGroups: true,
    number: (expression) => expression,
    from,
    range,
    isRecordOf: (requestId, bindings) => `r.request_id = ${bindings.add(requestId)}`,
    jsonNumber: jsonValue,
    jsonText: jsonValue,
    jsonHas: (document, member, text) =>
      `EXISTS (SELECT 1 FROM json_each(${document}, '$.${member}') e WHERE e.value = ${text})`,
    unitsOf,
    lower: (text) => `lower(${text})`,
    contains: (text, part) => `instr(${text}, ${part}) > 0`,
    jsonNumbers: (document, member) => `json_group_array(json_extract(${document}, '$.${member}'))`,
  };
}

export function unitsOf(details: string): UnitRows {
  const at = (path: string) => `json_extract(${details}, '$.${path}.' || e.key)`;
  return {
    from: `json_each(${details}, '$.unitCosts') e`,
    quantity: `COALESCE(${at('use[1]')}, ${at('units')})`,
    cost: 'e.value',
  };
}

function jsonValue(document: string, path: JsonPath): string {
  const steps = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`));
  return `json_extract(${document}, '$${steps.join('')}')`;
}

function from(table: string, index: string | null): string {
  return index === null ? `FROM ${table} r` : `FROM ${table} r INDEXED BY ${index}`;
}

function range({ table, index, equal, order, direction, after, upTo, where = [], isSum }: IndexRange): string {
  const columns = order.map((column) => `r.${column}`);
  const [beyond, within] = direction === 'ASC' ? ['>', '<='] : ['<', '>='];
  const conditions = [
    ...equal.map(([column, value]) => `r.${column} = ${value}`),
    ...where,
    ...(after.length === 0 ? [] : [`${row(columns.slice(0, after.length))} ${beyond} ${row(after)}`]),
    ...(upTo.length === 0 ? [] : [`${row(columns.slice(0, upTo.length))} ${within} ${row(upTo)}`]),
  ];
  const sorted = columns.map((column) => `${column} ${direction}`);
  const inOrder = isSum === true ? '' : ` ORDER BY ${sorted.join(', ')}`;
  return `${from(table, index)} WHERE ${conditions.join(' AND ')}${inOrder}`;
}

function row(members: readonly string[]): string {
  return members.length === 1 ? (members[0] as string) : `(${members.join(', ')})`;
}
