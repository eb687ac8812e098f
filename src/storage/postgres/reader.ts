// The SQL of PostgreSQL. A statement cannot name an index: the columns that narrow a range are part of its order and its
// bounds, so that only one index provides that order.

import { bounds } from '../../config/config.ts';
import {
  Bindings,
  type IndexRange,
  type JsonPath,
  type ReadValue,
  type SqlReader,
  type UnitRows,
} from '../sql-reader.ts';
import { asFloat, earliestMonthOf, monthOf } from './columns.ts';
import type { Reader } from './read-pool.ts';

export function postgresReader(reader: Reader, onUnreadable: SqlReader['onUnreadable'] = () => {}): SqlReader {
  const read = <Row>(text: string, ...values: readonly ReadValue[]) => reader.read<Row>(text, ...values);
  return {
    read,
    prepare:
      <Row>(text: string) =>
      (...values: readonly ReadValue[]) =>
        read<Row>(text, ...values),
    async readEach<Row>(...[rows, write]: Parameters<SqlReader['readEach']>) {
      const [first] = rows;
      if (first === undefined) return [];
      const bindings = new Bindings();
      const names = first.map((_, at) => `c${at}`);
      const arrays = names.map(
        (_, at) => `${bindings.add(`{${rows.map((row) => row[at]).join(',')}}`)}::text::bigint[]`,
      );
      const members = names.map((name) => `k.${name}`);
      return read<Row>(
        `SELECT p.* FROM unnest(${arrays.join(', ')}) k (${names.join(', ')})
         CROSS JOIN LATERAL (${write(members, bindings)}) p`,
        ...bindings.values,
      );
    },
    async rest() {},
    onUnreadable,
    totalsRunRows: bounds.totalsRunRowsOfPostgres,
    taggedRunRows: bounds.totalsRunRowsOfPostgres,
    sortsGroups: false,
    number: asFloat,
    from: (table) => `FROM ${table} r`,
    range,
    isRecordOf: (requestId, bindings) =>
      `r.request_id = ${bindings.add(requestId)} AND r.month >= ${bindings.add(earliestMonthOf(requestId))}`,
    jsonNumber: (document, path) => `(${jsonText(document, path)})::float8`,
    jsonText,
    jsonHas: (document, member, text) => `(${document}::jsonb -> '${member}') ? ${text}`,
    unitsOf,
    lower: (text) => `lower(${text} COLLATE "C")`,
    contains: (text, part) => `strpos(${text}, ${part}) > 0`,
    jsonNumbers: (document, member) => `json_agg((${document}::json ->> '${member}')::float8)::text`,
  };
}

export function unitsOf(details: string): UnitRows {
  const at = (path: string) => `(${details})::json #>> ARRAY[${path}, e.key]`;
  return {
    from: `json_each_text((${details})::json -> 'unitCosts') e (key, value)`,
    quantity: `CAST(COALESCE(${at("'use', '1'")}, ${at("'units'")}) AS bigint)`,
    cost: 'CAST(e.value AS bigint)',
  };
}

function jsonText(document: string, path: JsonPath): string {
  return `(${document}::json #>> '{${path.join(',')}}')`;
}

/**
 * PostgreSQL drops a column that equals one value from the order, and may then use another index. The first such column is therefore
 * compared by IN with its value twice, and further ones are parts of a row. A row comparison ends a scan only by its first column, so
 * the time after a single equal column is also compared alone.
 */
function range(
  { table, equal, order, direction, after, upTo, where = [], times, isSum }: IndexRange,
  bindings: Bindings,
): string {
  const [first, ...further] = equal;
  const values = further.map(([, value]) => value);
  const columns = [...further.map(([column]) => column), ...order].map((column) => `r.${column}`);
  const compare = (operator: string, bound: readonly string[]) => {
    const members = [...values, ...bound];
    return members.length === 0 ? [] : [`${row(columns.slice(0, members.length))} ${operator} ${row(members)}`];
  };
  const isExclusive = after.length > 0;
  const [from, to] = direction === 'ASC' ? ['>', '<='] : ['<', '>='];
  const isOfTimes = first !== undefined && values.length === 0 && after.length > 1;
  const conditions = [
    ...(times === undefined
      ? []
      : [`r.month BETWEEN ${times.map((atMs) => bindings.add(monthOf(atMs))).join(' AND ')}`]),
    ...(first === undefined ? [] : [`r.${first[0]} IN (${first[1]}, ${first[1]})`]),
    ...where,
    ...(isOfTimes ? [`${columns[0]} ${from}= ${after[0]}`] : []),
    ...compare(isExclusive ? from : `${from}=`, after),
    ...compare(to, upTo),
  ];
  const inOrder = first === undefined ? columns : [`r.${first[0]}`, ...columns];
  const sorted = inOrder.map((column) => `${column} ${direction}`);
  const ordered = isSum === true ? '' : ` ORDER BY ${sorted.join(', ')}`;
  return `FROM ${table} r WHERE ${conditions.join(' AND ')}${ordered}`;
}

function row(members: readonly string[]): string {
  return `ROW(${members.join(', ')})`;
}
