// Version 35: totals of the values of tags of closed days; totals of seven and of 28 days by all columns, and by all but sets of tags.
// All days are rolled up anew.

import { filled } from './further-totals.ts';
import { forBoth } from './migration-part.ts';
import { ADDED_UP, SUMS } from './rolled-totals.ts';
import { addedKeys, completed, postgresFunction, sqliteTrigger } from './spans-of-totals.ts';

const DAY_MS = 86_400_000;
const UNTAGGED = 'account_id, key_id, model, provider, group_name, person_id';
/** In this order: each is added up from a table that is as small as possible, and of the totals without sets in the order of the others. */
const SPANS = [
  { table: 'total_weeks', days: 7, of: 'daily_totals', key: `${UNTAGGED}, tag_set` },
  { table: 'untagged_weeks', days: 7, of: 'total_weeks', key: UNTAGGED },
  { table: 'total_four_weeks', days: 28, of: 'total_weeks', key: `${UNTAGGED}, tag_set` },
  { table: 'untagged_four_weeks', days: 28, of: 'total_four_weeks', key: UNTAGGED },
];

const typed = (key: string) =>
  key.replaceAll(/\w+/g, (name) =>
    /^(?:model|provider|group_name)$/.test(name) ? `${name} text COLLATE "C" NOT NULL` : `${name} bigint NOT NULL`,
  );

const created = SPANS.map(
  ({ table, key }) => `CREATE TABLE ${table} (${typed(`day_ms, ${key}`)}, ${SUMS}, PRIMARY KEY (day_ms, ${key}));
    CREATE INDEX ${table}_of_account ON ${table} (account_id, day_ms, ${key.replace('account_id, ', '')});`,
).join('\n');

/** A week that is complete comes before its four weeks. */
const added = SPANS.map(
  ({ table, days, of, key }) => `DELETE FROM ${table} WHERE day_ms = new.day_ms AND new.days = ${days};
    INSERT INTO ${table} SELECT new.day_ms, ${key}, ${ADDED_UP} FROM ${of}
      WHERE new.days = ${days} AND day_ms >= new.day_ms AND day_ms < new.day_ms + ${days * DAY_MS} GROUP BY ${key};`,
).join('\n');

/** Messages of a set that is not stored have the value "other" of every tag: they are added up without its name. */
const valued = (members: string) => `
  DELETE FROM tag_value_totals WHERE day_ms = new.day_ms;
  INSERT INTO tag_value_totals SELECT new.day_ms, t.account_id, e.key, e.value, ${ADDED_UP}
    FROM tag_totals t, tag_sets s, ${members}
    WHERE t.day_ms = new.day_ms AND s.account_id = t.account_id AND s.id = t.tag_set AND s.month_ms =
      (SELECT MIN(m.month_ms) FROM tag_sets m WHERE m.account_id = t.account_id AND m.id = t.tag_set)
    GROUP BY t.account_id, e.key, e.value;
  INSERT INTO tag_value_totals SELECT new.day_ms, t.account_id, '', 'other', ${ADDED_UP} FROM tag_totals t
    WHERE t.day_ms = new.day_ms AND t.tag_set <> 0
      AND NOT EXISTS (SELECT 1 FROM tag_sets s WHERE s.account_id = t.account_id AND s.id = t.tag_set)
    GROUP BY t.account_id;`;

export const tagValuesAndSpans = forBoth(`
  DELETE FROM rolled_days;
  ${created}
  CREATE TABLE tag_value_totals (day_ms bigint NOT NULL, account_id bigint NOT NULL, tag_name text COLLATE "C" NOT NULL, tag text COLLATE "C" NOT NULL,
    ${SUMS}, PRIMARY KEY (day_ms, account_id, tag_name, tag));
  CREATE INDEX tag_value_totals_of_account ON tag_value_totals (account_id, day_ms, tag_name, tag);
@sqlite
  DROP TRIGGER day_rolled_up;
  ${sqliteTrigger('day_rolled_up', 'INSERT ON rolled_days', `${filled} ${valued('json_each(CASE WHEN json_valid(s.tags) THEN s.tags END) e')} ${completed}`)}
  DROP TRIGGER span_rolled_up;
  ${sqliteTrigger('span_rolled_up', 'INSERT ON rolled_spans', `${addedKeys} ${added}`)}
@postgres
  ${postgresFunction('day_rolled_up', `${filled} ${valued('jsonb_each_text(s.tags::jsonb) e (key, value)')} ${completed}`)}
  ${postgresFunction('span_rolled_up', `${addedKeys} ${added}`)}
`);
