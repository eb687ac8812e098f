// Version 20: whom messages are attributed to. Records of before have no tag set, and daily totals count them without provider,
// person and tags. A tag set is stored in each month in which an account uses it.
// In PostgreSQL, nodes of the previous release go on writing to daily_totals, whose primary key their upsert names: the totals of this
// release are in a table that inherits from it, so that a read of daily_totals has both.

import { forBoth } from './migration-part.ts';

const SUMS = `messages, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost, written_off, provider_cost,
    costed_messages, costed_revenue`;

export const attribution = forBoth(`
  CREATE TABLE tag_sets (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    month_ms bigint NOT NULL,
    tags text NOT NULL,
    PRIMARY KEY (account_id, id, month_ms)
  );
  CREATE INDEX tag_sets_of_month ON tag_sets (account_id, month_ms);
  ALTER TABLE usage_records ADD COLUMN person_id bigint;
@sqlite
  ALTER TABLE usage_records ADD COLUMN session TEXT;
  ALTER TABLE usage_records ADD COLUMN provider TEXT;
@postgres
  ALTER TABLE usage_records ADD COLUMN session text COLLATE "C";
  ALTER TABLE usage_records ADD COLUMN provider text COLLATE "C";
@both
  ALTER TABLE usage_records ADD COLUMN tag_set bigint;
  CREATE INDEX usage_of_session ON usage_records (session, at_ms, seq) WHERE session IS NOT NULL;
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
    PRIMARY KEY (day_ms, account_id, key_id, model, provider, person_id, tag_set)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO daily_totals
    SELECT day_ms, account_id, key_id, model, ${SUMS}, '', 0, 0 FROM earlier_totals;
  DROP TABLE earlier_totals;
@postgres
  ALTER TABLE daily_totals ADD COLUMN provider text COLLATE "C" NOT NULL DEFAULT '';
  ALTER TABLE daily_totals ADD COLUMN person_id bigint NOT NULL DEFAULT 0;
  ALTER TABLE daily_totals ADD COLUMN tag_set bigint NOT NULL DEFAULT 0;
  CREATE TABLE attributed_totals (PRIMARY KEY (day_ms, account_id, key_id, model, provider, person_id, tag_set))
    INHERITS (daily_totals) WITH (fillfactor = 40);
  CREATE INDEX attributed_totals_of_account ON attributed_totals
    (account_id, day_ms, key_id, model, provider, person_id, tag_set);
  CREATE INDEX attributed_totals_of_key ON attributed_totals (key_id, day_ms, model, provider, person_id, tag_set);
  DROP INDEX totals_of_account;
  DROP INDEX totals_of_key;
@both
  CREATE INDEX totals_of_account ON daily_totals (account_id, day_ms, key_id, model, provider, person_id, tag_set);
  CREATE INDEX totals_of_key ON daily_totals (key_id, day_ms, model, provider, person_id, tag_set);
`);
