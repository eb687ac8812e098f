// The partitions of usage records, one a month: made ahead, made by whoever finds one missing, and dropped when all of it is
// older than what is kept.

import { assert } from '../../base/assert.ts';
import { keptSinceNames } from '../../ledger/ledger.ts';

/** Only this is locked with it: months are made by one after the other. */
const LOCK = 'pg_advisory_xact_lock(7416, 1)';
const DROP_LOCK_TIMEOUT = '200ms'; // who writes waits behind who waits for this lock

/** Makes a month's partition where there is none. Made beside the table and attached, it waits for nobody who writes. */
export function makeMonthText(month: number): string {
  const name = partitionName(month);
  return `DO $$ BEGIN
    PERFORM ${LOCK};
    IF to_regclass('${name}') IS NULL THEN
      CREATE TABLE ${name} (LIKE usage_records INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES);
      ALTER TABLE usage_records ATTACH PARTITION ${name} FOR VALUES IN (${month});
    END IF;
  END $$`;
}

/**
 * Drops a month's partition, where all of it is marked as not kept. Fails where others use the table all the while: to be tried
 * again a while later.
 */
export function dropMonthText(month: number): string {
  return `DO $$ BEGIN
    SET LOCAL lock_timeout = '${DROP_LOCK_TIMEOUT}';
    PERFORM ${LOCK};
    IF ${endOfMonthMs(month)} <= (SELECT value::numeric FROM installation WHERE name = '${keptSinceNames.usage}') THEN
      DROP TABLE IF EXISTS ${partitionName(month)};
    END IF;
  END $$`;
}

/** Gives the months that have a partition, as `month`. */
export const LIST_MONTHS = `
  SELECT right(c.relname::text, 6)::int AS month FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = 'usage_records'::regclass ORDER BY 1`;

/** The month after another. */
export function nextMonth(month: number): number {
  return month % 100 === 12 ? month + 89 : month + 1;
}

/** The first moment after it, UTC. */
function endOfMonthMs(month: number): number {
  const next = nextMonth(month);
  return Date.UTC(Math.floor(next / 100), (next % 100) - 1, 1);
}

function partitionName(month: number): string {
  assert(Number.isInteger(month) && month > 0 && month < 1_000_000, 'a month is a year and a month in digits');
  return `usage_records_${String(month).padStart(6, '0')}`;
}
