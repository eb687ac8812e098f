// Version 26: daily totals by the group that sold the message. Totals of before have no group, and so has what they count of a record
// without `group_in_totals`.
// In PostgreSQL, nodes of the previous release go on writing to attributed_totals, whose primary key their upsert names: the totals of
// this release are in one more table that inherits from daily_totals. All of them have indexes in the order of this release's reads.

import { forBoth } from './migration-part.ts';

export const groupsInTotals = forBoth(`
  ALTER TABLE usage_records ADD COLUMN group_in_totals smallint;
@sqlite
  ALTER TABLE daily_totals RENAME TO earlier_totals;
  DROP INDEX totals_of_account;
  DROP INDEX totals_of_key;
  CREATE TABLE daily_totals (
    day_ms INTEGER NOT NULL,
    account_id INTEGER NOT NULL,
    key_id INTEGER NOT NULL,
    model TEXT NOT NULL,
    messages INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    written_off INTEGER NOT NULL,
    provider_cost INTEGER NOT NULL,
    costed_messages INTEGER NOT NULL DEFAULT 0,
    costed_revenue INTEGER NOT NULL DEFAULT 0,
    provider TEXT NOT NULL DEFAULT '',
    person_id INTEGER NOT NULL DEFAULT 0,
    tag_set INTEGER NOT NULL DEFAULT 0,
    group_name TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (day_ms, account_id, key_id, model, provider, group_name, person_id, tag_set)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO daily_totals SELECT *, '' FROM earlier_totals;
  DROP TABLE earlier_totals;
@postgres
  ALTER TABLE daily_totals ADD COLUMN group_name text COLLATE "C" NOT NULL DEFAULT '';
  CREATE TABLE grouped_totals (PRIMARY KEY (day_ms, account_id, key_id, model, provider, group_name, person_id, tag_set))
    INHERITS (daily_totals) WITH (fillfactor = 40);
  DROP INDEX totals_of_account;
  DROP INDEX totals_of_key;
  DROP INDEX attributed_totals_of_account;
  DROP INDEX attributed_totals_of_key;
  CREATE INDEX totals_in_order ON daily_totals
    (day_ms, account_id, key_id, model, provider, group_name, person_id, tag_set);
  CREATE INDEX attributed_totals_in_order ON attributed_totals
    (day_ms, account_id, key_id, model, provider, group_name, person_id, tag_set);
  CREATE INDEX attributed_totals_of_account ON attributed_totals
    (account_id, day_ms, key_id, model, provider, group_name, person_id, tag_set);
  CREATE INDEX attributed_totals_of_key ON attributed_totals
    (key_id, day_ms, model, provider, group_name, person_id, tag_set);
  CREATE INDEX grouped_totals_of_account ON grouped_totals
    (account_id, day_ms, key_id, model, provider, group_name, person_id, tag_set);
  CREATE INDEX grouped_totals_of_key ON grouped_totals
    (key_id, day_ms, model, provider, group_name, person_id, tag_set);
@both
  CREATE INDEX totals_of_account ON daily_totals
    (account_id, day_ms, key_id, model, provider, group_name, person_id, tag_set);
  CREATE INDEX totals_of_key ON daily_totals
    (key_id, day_ms, model, provider, group_name, person_id, tag_set);
`);
