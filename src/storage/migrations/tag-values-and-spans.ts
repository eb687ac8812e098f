// Version 35: totals of the values of tags of closed days; totals of seven and of 28 days by all columns, and by all but sets of tags.
// All days are rolled up anew.

import { filled } from './further-totals.ts';
import { forBoth } from './migration-part.ts';
import { ADDED_UP, SUMS } from './rolled-totals.ts';
import { addedKeys, completed, postgresFunction, sqliteTrigger } from './spans-of-totals.ts';

const UNTAGGED = 'account_id, key_id, model, provider, group_name, person_id';
const SPANS = [
  { of: 'untagged_totals', weeks: 'untagged_weeks', fourWeeks: 'untagged_four_weeks', key: UNTAGGED },
  { of: 'daily_totals', weeks: 'total_weeks', fourWeeks: 'total_four_weeks', key: `${UNTAGGED}, tag_set` },
];

const typed = (key: string) =>
  key.replaceAll(/\w+/g, (name) =>
    /^(?:model|provider|group_name)$/.test(name) ? `${name} text COLLATE "C" NOT NULL` : `${name} bigint NOT NULL`,
  );

const created = SPANS.flatMap(({ weeks, fourWeeks, key }) =>
  [weeks, fourWeeks].map(
    (table) => `CREATE TABLE ${table} (${typed(`day_ms, ${key}`)}, ${SUMS}, PRIMARY KEY (day_ms, ${key}));
    CREATE INDEX ${table}_of_account ON ${table} (account_id, day_ms, ${key.replace('account_id, ', '')});
    CREATE INDEX ${table}_of_key ON ${table} (key_id, day_ms, ${key.replace('account_id, key_id, ', '')});`,
  ),
).join('\n');

const WEEK_MS = 7 * 86_400_000;

/** The days of a week, and the weeks of four: one that is complete comes after all of its weeks. */
const added = SPANS.flatMap(({ of, weeks, fourWeeks, key }) =>
  [
    { table: weeks, days: 7, from: of },
    { table: fourWeeks, days: 28, from: weeks },
  ].map(
    ({ table, days, from }) => `DELETE FROM ${table} WHERE day_ms = new.day_ms AND new.days = ${days};
    INSERT INTO ${table} SELECT new.day_ms, ${key}, ${ADDED_UP} FROM ${from}
      WHERE new.days = ${days} AND day_ms >= new.day_ms AND day_ms < new.day_ms + ${(days * WEEK_MS) / 7} GROUP BY ${key};`,
  ),
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
