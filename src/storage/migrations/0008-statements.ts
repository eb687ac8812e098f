// What an account's statement is made of: by how much the entries of each month changed its balance, and the ways to the
// entries that are not what a message took as it ended. Those are nearly all, and pay for none of it.

import type { Migration } from './migration.ts';

export const statements: Migration = {
  version: 8,
  name: 'statements',
  // Who does not know of months begins a new one without a word of what the one before had changed.
  leastKnown: 8,
  sqlite: `
    ALTER TABLE account_meters ADD COLUMN month_start_ms INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE account_meters ADD COLUMN month_opening INTEGER NOT NULL DEFAULT 0;
    -- Beside the month that stands in the account's meters, of which it has what is not to be seen there.
    CREATE TABLE month_changes (
      account_id INTEGER NOT NULL,
      month_ms INTEGER NOT NULL,
      change INTEGER NOT NULL,
      PRIMARY KEY (account_id, month_ms)
    ) STRICT, WITHOUT ROWID;
    -- By days first, which are numbers: what a month is takes long to find out.
    INSERT INTO month_changes (account_id, month_ms, change)
      SELECT account_id, CAST(strftime('%s', day * 86400, 'unixepoch', 'start of month') AS INTEGER) * 1000 AS month_ms,
        SUM(change) FROM (
          SELECT account_id, at_ms / 86400000 AS day,
            SUM(CASE WHEN credit = account_id THEN amount WHEN debit = account_id THEN -amount ELSE 0 END) AS change
          FROM entries GROUP BY account_id, day)
      WHERE account_id IN (SELECT id FROM account_meters)
      GROUP BY account_id, month_ms HAVING SUM(change) <> 0;
    UPDATE account_meters SET month_opening = balance;

    CREATE INDEX entries_of_kind ON entries (account_id, kind, at_ms) WHERE kind <> 'usage';
    -- Written so that nearly every entry fails the first test.
    CREATE INDEX entries_of_message ON entries (reference, kind, at_ms)
      WHERE kind <> 'usage' AND kind <> 'write_off' AND (kind = 'correction' OR kind = 'refund');
  `,
  postgres: `
    ALTER TABLE account_meters ADD COLUMN month_start_ms bigint NOT NULL DEFAULT 0;
    ALTER TABLE account_meters ADD COLUMN month_opening bigint NOT NULL DEFAULT 0;
    CREATE TABLE month_changes (
      account_id bigint NOT NULL,
      month_ms bigint NOT NULL,
      change bigint NOT NULL,
      PRIMARY KEY (account_id, month_ms)
    );
    INSERT INTO month_changes (account_id, month_ms, change)
      SELECT account_id,
        extract(epoch FROM date_trunc('month', to_timestamp(day * 86400) AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')::bigint
          * 1000 AS month_ms,
        SUM(change) FROM (
          SELECT account_id, at_ms / 86400000 AS day,
            SUM(CASE WHEN credit = account_id THEN amount WHEN debit = account_id THEN -amount ELSE 0 END) AS change
          FROM entries GROUP BY account_id, at_ms / 86400000) days
      WHERE account_id IN (SELECT id FROM account_meters)
      GROUP BY 1, 2 HAVING SUM(change) <> 0;
    -- Of the present month: nodes of the version before go on meanwhile, and change balances without a word of months.
    UPDATE account_meters SET month_opening = balance, month_start_ms =
      extract(epoch FROM date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')::bigint * 1000;

    CREATE INDEX entries_of_kind ON entries (account_id, kind, at_ms, seq) WHERE kind <> 'usage';
    CREATE INDEX entries_of_message ON entries (reference, kind, at_ms, seq)
      WHERE kind <> 'usage' AND kind <> 'write_off' AND (kind = 'correction' OR kind = 'refund');
  `,
};
