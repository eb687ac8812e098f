// The prepared statements of a batch, each for any number of rows. Arrays are passed as text and cast.

import { parseDigits } from '../../base/checked-number.ts';
import { RESERVED } from '../../ledger/ledger.ts';
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
  readText,
  TOTAL_NAMES,
  totalColumns,
  UNIT_NAMES,
  unitColumns,
} from '../tables.ts';
import {
  ACCOUNT_COLUMNS,
  accountMeterColumns,
  asFloat,
  asNumbers,
  JSON_SEPARATOR,
  KEY_COLUMNS,
  keyMeterColumns,
  PERSON_COLUMNS,
  partitionedUsageColumns,
  personMeterColumns,
  sharedHoldColumns,
  USAGE_COLUMNS,
} from './columns.ts';
import type { Statement } from './connection.ts';

const BIGINTS = (at: number) => `$${at}::text::bigint[]`;
const TEXTS = (at: number) => `$${at}::text::text[]`;
const JSON_TEXTS = (at: number) => `string_to_array($${at}::text, '${JSON_SEPARATOR}')`;
const CLAIM_COLUMNS = readText('c', claimColumns, asFloat);
const LEASE_COLUMNS = readText('l', leaseColumns, asFloat);
/** The database's time, or a test's. */
const NOW_MS = (at: number) => `coalesce($${at}::float8, floor(extract(epoch FROM clock_timestamp()) * 1000))`;

// Locks come first, in the order of ids. Later statements see everything that was committed before the locks were acquired.
export const LOCK_ACCOUNTS = `
  SELECT ${ACCOUNT_COLUMNS} FROM account_meters m WHERE m.id = ANY(${BIGINTS(1)}) ORDER BY m.id FOR NO KEY UPDATE`;
export const READ_PEOPLE = `SELECT ${PERSON_COLUMNS} FROM person_meters m WHERE m.id = ANY(${BIGINTS(1)})`;
export const READ_KEYS = `SELECT ${KEY_COLUMNS} FROM key_meters m WHERE m.id = ANY(${BIGINTS(1)})`;

/** Locks the accounts that are not locked, without waiting. */
export const LOCK_FREE_ACCOUNTS = `
  SELECT m.id::float8 AS id FROM account_meters m WHERE m.id = ANY(${BIGINTS(1)}) FOR NO KEY UPDATE SKIP LOCKED`;

/** The `id` of messages $2 known only by id. Their accounts never change. */
const ofStrays = (column: 'account_id' | 'key_id') => `ARRAY(
    SELECT named.id FROM unnest(${BIGINTS(1)}) AS named (id)
    UNION SELECT h.${column} FROM holds h WHERE h.request_id = ANY(${TEXTS(2)})
    UNION SELECT r.${column} FROM usage_records r WHERE r.request_id = ANY(${TEXTS(2)}) AND r.month >= $3::int)`;
/** As above, with the accounts and keys of messages known only by id. */
export const LOCK_ACCOUNTS_OF_STRAYS = `
  SELECT ${ACCOUNT_COLUMNS} FROM account_meters m WHERE m.id = ANY(${ofStrays('account_id')})
  ORDER BY m.id FOR NO KEY UPDATE`;
export const READ_KEYS_OF_STRAYS = `SELECT ${KEY_COLUMNS} FROM key_meters m WHERE m.id = ANY(${ofStrays('key_id')})`;

const HOLD_COLUMNS = (of: string) => readText(of, holdColumns, asFloat);
export const READ_HOLDS = `SELECT ${HOLD_COLUMNS('h')} FROM holds h WHERE h.request_id = ANY(${TEXTS(1)})`;
/** Not in the months ahead, which are empty. */
export const READ_ENDINGS = `
  SELECT ${USAGE_COLUMNS} FROM usage_records r WHERE r.request_id = ANY(${TEXTS(1)}) AND r.month >= $2::int
    AND r.month <= to_char(coalesce(to_timestamp($3::float8 / 1000), now()) + interval '2 days', 'YYYYMM')::int`;
/** Idempotency records by name, with the hold of a running message. */
export const READ_CLAIMS = `
  SELECT ${CLAIM_COLUMNS}, ${asNumbers('h', 'account_id', 'amount')}, h.document FROM unnest(${BIGINTS(1)}, ${TEXTS(2)}) AS named (key_id, name)
  JOIN claims c USING (key_id, name) LEFT JOIN holds h ON h.request_id = c.request_id`;
/** And how they ended. */
export const READ_ENDINGS_OF_CLAIMS = `
  SELECT ${USAGE_COLUMNS} FROM unnest(${BIGINTS(1)}, ${TEXTS(2)}) AS named (key_id, name)
  JOIN claims c USING (key_id, name) JOIN usage_records r ON r.request_id = c.request_id`;
/** Idempotency records of open messages. */
export const READ_CLAIMS_OF_HOLDS = `
  SELECT ${CLAIM_COLUMNS} FROM holds h JOIN claims c ON c.key_id = h.key_id AND c.name = h.claim
  WHERE h.request_id = ANY(${TEXTS(1)})`;
/** And the records of their failed attempts. */
export const READ_FAILED_ATTEMPTS = `
  SELECT ${USAGE_COLUMNS} FROM holds h JOIN claims c ON c.key_id = h.key_id AND c.name = h.claim
  JOIN usage_records r ON r.request_id = ANY(string_to_array(c.failed_attempts, ' '))
  WHERE h.request_id = ANY(${TEXTS(1)}) AND c.failed_attempts <> ''`;
export const READ_CREDITS = `
  SELECT ${asNumbers('e', 'account_id')}, e.reference,
    (CASE WHEN e.credit = e.account_id THEN e.amount ELSE -e.amount END)::float8 AS change
  FROM unnest(${BIGINTS(1)}, ${TEXTS(2)}) AS named (account_id, reference) JOIN entries e USING (account_id, reference)
  WHERE e.kind <> 'usage' AND e.kind <> 'write_off' AND e.kind <> 'correction' AND e.kind <> 'refund'
    AND e.reference IS NOT NULL
  UNION ALL SELECT ${asNumbers('c', 'account_id')}, c.reference, c.amount::float8
  FROM unnest(${BIGINTS(1)}, ${TEXTS(2)}) AS named (account_id, reference)
  JOIN carried_credits c USING (account_id, reference)`;
/** Runs last, when the locks are held. */
export const READ_MOMENT = `SELECT ${NOW_MS(1)} AS now_ms, pg_current_xact_id()::text AS transaction`;
export const READ_LEASES = `SELECT ${LEASE_COLUMNS} FROM leases l`;
export const LOCK_LEASES = `${READ_LEASES} ORDER BY l.node FOR NO KEY UPDATE`;
/** The owners of open holds by a walk along the index, then holds of those that are not alive, or of the nodes $3, but the holds $4: never all holds. */
export const FIND_LAPSED = `
  WITH RECURSIVE owners AS (
    (SELECT h.node, h.epoch FROM holds h ORDER BY h.node, h.epoch LIMIT 1)
    UNION ALL SELECT next.node, next.epoch FROM owners o, LATERAL (
      SELECT h.node, h.epoch FROM holds h WHERE (h.node, h.epoch) > (o.node, o.epoch) ORDER BY h.node, h.epoch LIMIT 1) next)
  SELECT ${HOLD_COLUMNS('held')} FROM owners o LEFT JOIN leases l ON l.node = o.node
  JOIN LATERAL (
    SELECT h.* FROM holds h WHERE h.node = o.node AND h.epoch = o.epoch AND h.request_id <> ALL(${TEXTS(4)}) LIMIT $2::int) held ON true
  WHERE o.node <> '${RESERVED.node}' AND
    (l.node IS NULL OR l.epoch <> o.epoch OR l.expires_at_ms <= ${NOW_MS(1)} OR o.node = ANY(${TEXTS(3)}))
  LIMIT $2::int`;
export const READ_OUTCOME = 'SELECT pg_xact_status($1::text::xid8) AS outcome';

export const INSERT_ACCOUNTS = insertText('account_meters', accountColumns);
export const UPDATE_ACCOUNTS = updateText('account_meters', accountColumns, 1);
export const INSERT_KEYS = insertText('key_meters', keyColumns);
export const UPDATE_KEYS = updateText('key_meters', keyColumns, 1);
export const INSERT_PEOPLE = insertText('person_meters', personColumns);
export const UPDATE_PEOPLE = updateText('person_meters', personColumns, 1);
export const DELETE_HOLDS = `DELETE FROM holds WHERE request_id = ANY(${TEXTS(1)})`;
export const WRITE_HOLDS = `${insertText('holds', sharedHoldColumns)}
  ON CONFLICT (request_id) DO UPDATE SET amount = excluded.amount, document = excluded.document`;
export const WRITE_CLAIMS = `${insertText('claims', claimColumns)}
  ON CONFLICT (key_id, name) DO UPDATE SET request_id = excluded.request_id, request_hash = excluded.request_hash,
    at_ms = excluded.at_ms, is_answered = excluded.is_answered, failed_attempts = excluded.failed_attempts`;
export const INSERT_ENTRIES = insertText('entries', entryColumns);
export const INSERT_USAGE = insertText('usage_records', partitionedUsageColumns);
export const REPLACE_USAGE = updateText('usage_records', partitionedUsageColumns, 2);
export const ADD_TOTALS = `${insertText('grouped_totals AS stored', totalColumns)}
  ON CONFLICT (${namesOf(totalColumns.slice(0, TOTAL_NAMES))}) DO UPDATE SET
    ${totalColumns
      .slice(TOTAL_NAMES)
      .map(({ name }) => `${name} = stored.${name} + excluded.${name}`)
      .join(', ')}`;
/** Sums first, because one statement may not update a row twice. */
export const ADD_UNITS = `
  INSERT INTO unit_totals AS stored (${namesOf(unitColumns)})
  SELECT ${namesOf(unitColumns.slice(0, UNIT_NAMES))}, SUM(quantity), SUM(cost) FROM ${unnestText(unitColumns)}
  GROUP BY ${namesOf(unitColumns.slice(0, UNIT_NAMES))} ORDER BY ${namesOf(unitColumns.slice(0, UNIT_NAMES))}
  ON CONFLICT (${namesOf(unitColumns.slice(0, UNIT_NAMES))}) DO UPDATE SET
    quantity = stored.quantity + excluded.quantity, cost = stored.cost + excluded.cost`;
/** As above. */
export const ADD_MONTHS = `
  INSERT INTO month_changes AS stored (account_id, month_ms, change)
  SELECT account_id, month_ms, SUM(change) FROM ${unnestText(monthColumns)} GROUP BY account_id, month_ms
  ON CONFLICT (account_id, month_ms) DO UPDATE SET change = stored.change + excluded.change`;
export const INSERT_LEASES = insertText('leases', leaseColumns);
export const UPDATE_LEASES = updateText('leases', leaseColumns, 1);

/** All writes of ordinary messages as one statement. Its parameters are the columns of all parts, in order. */
export const WRITE_MESSAGES = joinTexts([
  [updateText('account_meters', accountMeterColumns, 1), accountMeterColumns.length],
  [updateText('key_meters', keyMeterColumns, 1), keyMeterColumns.length],
  [updateText('person_meters', personMeterColumns, 1), personMeterColumns.length],
  [DELETE_HOLDS, 1],
  [WRITE_HOLDS, sharedHoldColumns.length],
  [INSERT_ENTRIES, entryColumns.length],
  [INSERT_USAGE, partitionedUsageColumns.length],
  [ADD_TOTALS, totalColumns.length],
]);

/**
 * Each statement of messages with values that touch nothing. A new connection asks them all once: what is asked first is prepared by
 * a round trip of its own, which would be made while locks are held.
 */
export const warmUp: readonly Statement[] = [
  LOCK_ACCOUNTS,
  LOCK_ACCOUNTS_OF_STRAYS,
  READ_KEYS,
  READ_PEOPLE,
  READ_KEYS_OF_STRAYS,
  READ_HOLDS,
  READ_ENDINGS,
  READ_CLAIMS,
  READ_ENDINGS_OF_CLAIMS,
  READ_CLAIMS_OF_HOLDS,
  READ_MOMENT,
  READ_LEASES,
  INSERT_ACCOUNTS,
  UPDATE_ACCOUNTS,
  INSERT_KEYS,
  UPDATE_KEYS,
  INSERT_PEOPLE,
  UPDATE_PEOPLE,
  DELETE_HOLDS,
  WRITE_HOLDS,
  WRITE_CLAIMS,
  INSERT_ENTRIES,
  INSERT_USAGE,
  REPLACE_USAGE,
  ADD_TOTALS,
  ADD_UNITS,
  ADD_MONTHS,
  WRITE_MESSAGES,
].map((text) => ({ text, values: emptyValues(text) }));

function insertText<Row>(table: string, columns: readonly Column<Row>[]): string {
  return `INSERT INTO ${table} (${namesOf(columns)}) SELECT * FROM ${unnestText(columns)}`;
}

/** The first `named` columns identify the row. */
function updateText<Row>(table: string, columns: readonly Column<Row>[], named: number): string {
  const sets = columns.slice(named).map(({ name }) => `${name} = given.${name}`);
  const same = columns.slice(0, named).map(({ name }) => `stored.${name} = given.${name}`);
  return `UPDATE ${table} stored SET ${sets.join(', ')} FROM ${unnestText(columns)} WHERE ${same.join(' AND ')}`;
}

function unnestText<Row>(columns: readonly Column<Row>[]): string {
  const arrays = columns.map((column, at) => arrayText(column)(at + 1));
  return `unnest(${arrays.join(', ')}) AS given (${namesOf(columns)})`;
}

function arrayText({ type, isJson }: Pick<Column<never>, 'type' | 'isJson'>): (at: number) => string {
  if (isJson) return JSON_TEXTS;
  return type === 'text' ? TEXTS : BIGINTS;
}

function joinTexts(parts: readonly (readonly [text: string, values: number])[]): string {
  let before = 0;
  const renumbered = parts.map(([text, values], at) => {
    const from = before;
    before += values;
    return `part_${at} AS (${text.replace(/\$(\d+)/g, (_, number) => `$${parseDigits(number) + from}`)})`;
  });
  return `WITH ${renumbered.join(', ')} SELECT 1`;
}

function emptyValues(text: string): (string | null)[] {
  const count = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, number]) => parseDigits(number ?? '')));
  return Array.from({ length: count }, (_, at) => (text.includes(`$${at + 1}::text::`) ? '{}' : null));
}
