// Version 40: coarser totals of units: of closed days by model, and of seven and of 28 days by all columns. Triggers of their own add them
// up when a day, or a span of days, is rolled up. All days are rolled up anew.

import { forBoth } from './migration-part.ts';
import { postgresTrigger, sqliteTrigger } from './spans-of-totals.ts';

const DAY_MS = 86_400_000;
const BY_MODEL = 'day_ms, model, provider, group_name, unit';
const BY_ALL = 'account_id, key_id, model, provider, group_name, person_id, tag_set, unit';
/** A week that is complete comes before its four weeks. */
const SPANS = [
  { table: 'unit_weeks', days: 7, of: 'unit_totals' },
  { table: 'unit_four_weeks', days: 28, of: 'unit_weeks' },
];
const ADDED_UP = 'SUM(quantity), SUM(cost)';

const tableOf = (name: string, key: string) => {
  const columns = key.replaceAll(/\w+/g, (column) =>
    /^(?:model|provider|group_name|unit)$/.test(column)
      ? `${column} text COLLATE "C" NOT NULL`
      : `${column} bigint NOT NULL`,
  );
  return `CREATE TABLE ${name} (${columns}, quantity bigint NOT NULL, cost bigint NOT NULL, PRIMARY KEY (${key}));`;
};

const created = SPANS.map(
  ({ table }) => `${tableOf(table, `day_ms, ${BY_ALL}`)}
    CREATE INDEX ${table}_of_account ON ${table} (account_id, day_ms, ${BY_ALL.replace('account_id, ', '')});`,
).join('\n');

const ofDay = `DELETE FROM model_unit_totals WHERE day_ms = new.day_ms;
    INSERT INTO model_unit_totals SELECT ${BY_MODEL}, ${ADDED_UP} FROM unit_totals WHERE day_ms = new.day_ms GROUP BY ${BY_MODEL};`;

const ofSpan = SPANS.map(
  ({ table, days, of }) => `DELETE FROM ${table} WHERE day_ms = new.day_ms AND new.days = ${days};
    INSERT INTO ${table} SELECT new.day_ms, ${BY_ALL}, ${ADDED_UP} FROM ${of}
      WHERE new.days = ${days} AND day_ms >= new.day_ms AND day_ms < new.day_ms + ${days * DAY_MS} GROUP BY ${BY_ALL};`,
).join('\n');

export const rolledUnits = forBoth(`
  DELETE FROM rolled_days;
  ${tableOf('model_unit_totals', BY_MODEL)}
  ${created}
@sqlite
  ${sqliteTrigger('units_rolled_up', 'INSERT ON rolled_days', ofDay)}
  ${sqliteTrigger('unit_spans_rolled_up', 'INSERT ON rolled_spans', ofSpan)}
@postgres
  ${postgresTrigger('units_rolled_up', 'INSERT ON rolled_days', ofDay)}
  ${postgresTrigger('unit_spans_rolled_up', 'INSERT ON rolled_spans', ofSpan)}
`);
