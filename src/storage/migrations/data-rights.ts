// Version 18: what nodes did to tables of PostgreSQL as their owner is done by functions, which run with the owner's rights. So a role
// with rights on rows alone can be a node's. Only roles that `turnpike migrate --grant` names may call them.

import type { MigrationPart } from './migration-part.ts';

const FUNCTIONS = ['make_usage_month(int)', 'drop_usage_month(int)', 'carry_entries(bigint, bigint, int)'] as const;

/** Also of the months 1 to 12 only, and with four digits of a year: the name of a partition has nothing else. */
const PARTITION = "'usage_records_' || lpad(wanted::text, 6, '0')";

export const dataRights: MigrationPart = {
  sqlite: 'SELECT 1', // nothing
  postgres: `
    -- Created separately and then attached, which does not wait for writers.
    CREATE FUNCTION make_usage_month(wanted int) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
    DECLARE
      partition text := ${PARTITION};
    BEGIN
      IF wanted NOT BETWEEN 1 AND 999999 THEN RAISE EXCEPTION 'a month has the form YYYYMM'; END IF;
      PERFORM pg_advisory_xact_lock(7416, 1);
      IF to_regclass(format('%I.%I', current_schema(), partition)) IS NULL THEN
        EXECUTE format('CREATE TABLE %I (LIKE usage_records INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES)', partition);
        EXECUTE format('ALTER TABLE usage_records ATTACH PARTITION %I FOR VALUES IN (%s)', partition, wanted);
      END IF;
    END $$;

    -- Only if the whole month is past retention. Waits a short time for its locks, because writers queue behind them.
    CREATE FUNCTION drop_usage_month(wanted int) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET lock_timeout = '200ms' AS $$
    DECLARE
      next_month timestamp;
    BEGIN
      IF wanted NOT BETWEEN 1 AND 999999 OR wanted % 100 NOT BETWEEN 1 AND 12 THEN RETURN; END IF;
      next_month := make_timestamp(wanted / 100, wanted % 100, 1, 0, 0, 0) + interval '1 month';
      PERFORM pg_advisory_xact_lock(7416, 1);
      IF extract(epoch FROM next_month) * 1000 <=
        (SELECT value::numeric FROM installation WHERE name = 'usage_kept_since_ms')
      THEN EXECUTE format('DROP TABLE IF EXISTS %I', ${PARTITION});
      END IF;
    END $$;

    -- The entries of this month and the last stay, whatever a node writes into the installation: retention keeps two months or more.
    CREATE FUNCTION carried_before_ms() RETURNS bigint LANGUAGE sql STABLE AS $$
      SELECT (extract(epoch FROM date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') - interval '1 month') * 1000)::bigint
    $$;

    -- Replaces the oldest entries of an account before that time, and earlier carried-forward entries of all sides, by entries with
    -- their sums. A trigger refuses to delete an entry that retention keeps. System sums may exceed what one entry can hold, so an
    -- entry of half the maximum stays and a new one begins. System accounts take part in every call, so calls run one at a time.
    CREATE FUNCTION carry_entries(of_account bigint, before_ms bigint, entries_max int) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
      IF before_ms > carried_before_ms() THEN
        RAISE EXCEPTION 'entries of this month and the last are never carried forward' USING ERRCODE = 'restrict_violation';
      END IF;
      PERFORM pg_advisory_xact_lock(7416, 2);
      INSERT INTO carried_entries SELECT seq FROM entries
        WHERE account_id = of_account AND at_ms < before_ms AND kind <> 'carried_forward'
        ORDER BY at_ms, seq LIMIT entries_max;
      IF NOT FOUND THEN RETURN; END IF;
      INSERT INTO carried_entries SELECT seq FROM entries
        WHERE kind = 'carried_forward' AND amount < 4611686018427387904 AND account_id = ANY(ARRAY(
          SELECT of_account
          UNION SELECT debit FROM entries WHERE seq IN (SELECT seq FROM carried_entries)
          UNION SELECT credit FROM entries WHERE seq IN (SELECT seq FROM carried_entries)));
      INSERT INTO carried_credits (account_id, reference, amount)
        SELECT account_id, reference, CASE WHEN credit = account_id THEN amount ELSE -amount END FROM entries
        WHERE seq IN (SELECT seq FROM carried_entries) AND reference IS NOT NULL
          AND kind IN ('payment', 'promotion', 'adjustment', 'debt_write_off');
      WITH sides AS (
        SELECT credit AS side, amount AS change FROM entries WHERE seq IN (SELECT seq FROM carried_entries)
        UNION ALL SELECT debit, -amount FROM entries WHERE seq IN (SELECT seq FROM carried_entries)
        UNION ALL SELECT of_account, 0),
      sums AS (SELECT side, SUM(change) AS change FROM sides WHERE side <> 6 GROUP BY side)
      INSERT INTO entries (account_id, at_ms, debit, credit, amount, kind)
        SELECT side, before_ms - 1, CASE WHEN change < 0 THEN side ELSE 6 END, CASE WHEN change < 0 THEN 6 ELSE side END,
          abs(change), 'carried_forward' FROM sums;
      DELETE FROM entries WHERE seq IN (SELECT seq FROM carried_entries);
      DELETE FROM carried_entries;
    END $$;

    -- No object of another schema, and no temporary one, takes the place of what the functions name.
    DO $$ BEGIN
      ${FUNCTIONS.map(
        (signature) =>
          `EXECUTE format('ALTER FUNCTION ${signature} SET search_path = %I, pg_temp', current_schema());
           EXECUTE 'REVOKE ALL ON FUNCTION ${signature} FROM PUBLIC';`,
      ).join('\n      ')}
    END $$;
  `,
};
