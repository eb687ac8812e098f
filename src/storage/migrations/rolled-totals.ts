// Version 28: coarser totals of closed days. A day is in rolled_days while its coarser totals are the sums of its daily totals: a change of
// one of these takes it out in the same transaction, by triggers, which see what nodes of earlier versions write, too.
// In PostgreSQL, roll_up_day waits for transactions that changed a day of before, and they wait for it: a day is taken for one of before an
// hour after its end, and is rolled up no earlier than six hours after it.

import { forBoth } from './migration-part.ts';

export const SUMS = `messages bigint NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cache_read_tokens bigint NOT NULL,
    cache_write_tokens bigint NOT NULL,
    cost bigint NOT NULL,
    written_off bigint NOT NULL,
    provider_cost bigint NOT NULL,
    costed_messages bigint NOT NULL,
    costed_revenue bigint NOT NULL`;

export const ADDED_UP = `SUM(messages), SUM(input_tokens), SUM(output_tokens), SUM(cache_read_tokens), SUM(cache_write_tokens), SUM(cost), SUM(written_off),
        SUM(provider_cost), SUM(costed_messages), SUM(costed_revenue)`;
const ADDED = `${ADDED_UP} FROM daily_totals WHERE day_ms = wanted`;

const takesOut = (event: string) => `
  CREATE TRIGGER day_changed_by_${event.toLowerCase()} AFTER ${event} ON daily_totals
  WHEN EXISTS (SELECT 1 FROM rolled_days WHERE day_ms = new.day_ms) BEGIN
    DELETE FROM rolled_days WHERE day_ms = new.day_ms;
  END;`;

const changedTrigger = (table: string) => `
  CREATE TRIGGER day_changed AFTER INSERT OR UPDATE ON ${table} FOR EACH ROW
    WHEN (new.day_ms < (extract(epoch FROM statement_timestamp()) * 1000)::bigint - 90000000) EXECUTE FUNCTION day_changed();`;

export const rolledTotals = forBoth(`
  CREATE TABLE rolled_days (day_ms bigint PRIMARY KEY);
  CREATE TABLE untagged_totals (
    day_ms bigint NOT NULL,
    account_id bigint NOT NULL,
    key_id bigint NOT NULL,
    model text COLLATE "C" NOT NULL,
    provider text COLLATE "C" NOT NULL,
    group_name text COLLATE "C" NOT NULL,
    person_id bigint NOT NULL,
    ${SUMS},
    PRIMARY KEY (day_ms, account_id, key_id, model, provider, group_name, person_id)
  );
  CREATE INDEX untagged_totals_of_account ON untagged_totals (account_id, day_ms, key_id, model, provider, group_name, person_id);
  CREATE INDEX untagged_totals_of_key ON untagged_totals (key_id, day_ms, model, provider, group_name, person_id);
  CREATE TABLE tag_totals (
    day_ms bigint NOT NULL,
    account_id bigint NOT NULL,
    tag_set bigint NOT NULL,
    ${SUMS},
    PRIMARY KEY (day_ms, account_id, tag_set)
  );
  CREATE INDEX tag_totals_of_account ON tag_totals (account_id, day_ms, tag_set);
@sqlite
  ${takesOut('INSERT')}
  ${takesOut('UPDATE')}
@postgres
  CREATE FUNCTION day_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
  BEGIN
    PERFORM pg_advisory_xact_lock_shared(7416, 6);
    DELETE FROM rolled_days WHERE day_ms = new.day_ms;
    RETURN NULL;
  END $$;
  ${['daily_totals', 'attributed_totals', 'grouped_totals'].map(changedTrigger).join('')}
  CREATE FUNCTION roll_up_day(wanted bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
  BEGIN
    IF wanted % 86400000 <> 0 OR wanted + 108000000 > extract(epoch FROM clock_timestamp()) * 1000 THEN RETURN; END IF;
    PERFORM pg_advisory_xact_lock(7416, 6);
    IF EXISTS (SELECT 1 FROM rolled_days WHERE day_ms = wanted) THEN RETURN; END IF;
    DELETE FROM untagged_totals WHERE day_ms = wanted;
    INSERT INTO untagged_totals
      SELECT day_ms, account_id, key_id, model, provider, group_name, person_id, ${ADDED}
      GROUP BY day_ms, account_id, key_id, model, provider, group_name, person_id;
    DELETE FROM tag_totals WHERE day_ms = wanted;
    INSERT INTO tag_totals SELECT day_ms, account_id, tag_set, ${ADDED} GROUP BY day_ms, account_id, tag_set;
    INSERT INTO rolled_days VALUES (wanted);
  END $$;
  DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION day_changed() SET search_path = %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION roll_up_day(bigint) SET search_path = %I, pg_temp', current_schema());
    EXECUTE 'REVOKE ALL ON FUNCTION roll_up_day(bigint) FROM PUBLIC';
  END $$;
`);
