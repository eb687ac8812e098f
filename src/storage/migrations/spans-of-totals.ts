// Version 34: totals by key of seven and of 28 days, for reports of everything over months. A span is in rolled_spans while all of its
// days are in rolled_days: the last one adds them up, and the first one that is taken out takes it out, by triggers. All days are
// rolled up anew.

import { filled } from './further-totals.ts';
import { forBoth } from './migration-part.ts';
import { ADDED_UP, SUMS } from './rolled-totals.ts';

const SPANS = [
  { table: 'key_weeks', days: 7 },
  { table: 'key_four_weeks', days: 28 },
];
const KEY = 'day_ms, account_id, key_id, person_id';
const DAY_MS = 86_400_000;

const created = SPANS.map(
  ({
    table,
  }) => `CREATE TABLE ${table} (${KEY.replaceAll(/\w+/g, '$& bigint NOT NULL')}, ${SUMS}, PRIMARY KEY (${KEY}));
    CREATE INDEX ${table}_of_account ON ${table} (account_id, day_ms, key_id, person_id);
    CREATE INDEX ${table}_of_key ON ${table} (key_id, day_ms, person_id);`,
).join('\n');

/** The start of the span of a day. */
const startOf = (day: string, days: number) => `${day} - ${day} % ${days * DAY_MS}`;

/** A span is complete with its last day. */
export const completed = SPANS.map(
  ({
    days,
  }) => `INSERT INTO rolled_spans SELECT ${days}, ${startOf('new.day_ms', days)} WHERE ${days} = (SELECT COUNT(*) FROM rolled_days
      WHERE day_ms >= ${startOf('new.day_ms', days)} AND day_ms < ${startOf('new.day_ms', days)} + ${days * DAY_MS});`,
).join('\n');

const takenOut = SPANS.map(
  ({ days }) => `DELETE FROM rolled_spans WHERE days = ${days} AND day_ms = ${startOf('old.day_ms', days)};`,
).join('\n');

export const addedKeys = SPANS.map(
  ({ table, days }) => `DELETE FROM ${table} WHERE day_ms = new.day_ms AND new.days = ${days};
    INSERT INTO ${table} SELECT new.day_ms, account_id, key_id, person_id, ${ADDED_UP} FROM key_totals
      WHERE new.days = ${days} AND day_ms >= new.day_ms AND day_ms < new.day_ms + ${days * DAY_MS} GROUP BY account_id, key_id, person_id;`,
).join('\n');

/** A trigger after each row, on both stores. */
export const sqliteTrigger = (name: string, event: string, body: string) =>
  `CREATE TRIGGER ${name} AFTER ${event} BEGIN ${body} END;`;
export const postgresFunction = (name: string, body: string) => `
  CREATE OR REPLACE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} RETURN NULL; END $$;`;
export const postgresTrigger = (name: string, event: string, body: string) =>
  `${postgresFunction(name, body)} CREATE TRIGGER ${name} AFTER ${event} FOR EACH ROW EXECUTE FUNCTION ${name}();`;

export const spansOfTotals = forBoth(`
  DELETE FROM rolled_days;
  CREATE TABLE rolled_spans (days bigint NOT NULL, day_ms bigint NOT NULL, PRIMARY KEY (days, day_ms));
  ${created}
@sqlite
  DROP TRIGGER day_rolled_up;
  ${sqliteTrigger('day_rolled_up', 'INSERT ON rolled_days', `${filled} ${completed}`)}
  ${sqliteTrigger('day_taken_out', 'DELETE ON rolled_days', takenOut)}
  ${sqliteTrigger('span_rolled_up', 'INSERT ON rolled_spans', addedKeys)}
@postgres
  ${postgresFunction('day_rolled_up', `${filled} ${completed}`)}
  ${postgresTrigger('day_taken_out', 'DELETE ON rolled_days', takenOut)}
  ${postgresTrigger('span_rolled_up', 'INSERT ON rolled_spans', addedKeys)}
`);
