// Version 14: how much each account stores of the responses for retries, and what it paid lately for such responses.
// Responses of earlier versions have no account (0) and count as paid for, so that they are kept like those of an account
// with the largest share.

import type { MigrationPart } from './migration-part.ts';

const NANO_OF_EARLIER = 1_000_000_000;

// The amount paid counts as at least 0.01 and at most 1 USD: in nanodollars, the divisor in millionths. With each day (UTC) half
// of it is forgotten.
const SQLITE_BYTES_PER_USD = 'bytes * 1000000 / MIN(MAX(paid / 1000, 10000), 1000000)';
const POSTGRES_BYTES_PER_USD = 'bytes * 1000000 / LEAST(GREATEST(paid / 1000, 10000), 1000000)';

export const answerShares: MigrationPart = {
  sqlite: `
    ALTER TABLE answers ADD COLUMN account_id INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE answers ADD COLUMN paid INTEGER NOT NULL DEFAULT ${NANO_OF_EARLIER};
    CREATE INDEX answers_of_account ON answers (account_id, seq);
    CREATE TABLE answer_shares (
      account_id INTEGER PRIMARY KEY,
      bytes INTEGER NOT NULL,
      paid INTEGER NOT NULL,
      day INTEGER NOT NULL,
      bytes_per_usd INTEGER NOT NULL GENERATED ALWAYS AS (${SQLITE_BYTES_PER_USD}) STORED
    ) STRICT;
    CREATE INDEX answer_shares_in_order ON answer_shares (bytes_per_usd DESC, account_id);
    INSERT INTO answer_shares (account_id, bytes, paid, day)
      SELECT account_id, SUM(bytes), SUM(paid), MAX(at_ms) / 86400000 FROM answers GROUP BY account_id;
    DROP TRIGGER answers_added;
    CREATE TRIGGER answers_added AFTER INSERT ON answers BEGIN
      UPDATE answers_stored SET bytes = bytes + new.bytes;
      INSERT INTO answer_shares (account_id, bytes, paid, day)
        VALUES (new.account_id, new.bytes, new.paid, new.at_ms / 86400000)
        ON CONFLICT (account_id) DO UPDATE SET bytes = bytes + excluded.bytes,
          paid = (paid >> MIN(MAX(excluded.day - day, 0), 62)) + excluded.paid, day = MAX(day, excluded.day);
    END;
    DROP TRIGGER answers_removed;
    CREATE TRIGGER answers_removed AFTER DELETE ON answers BEGIN
      UPDATE answers_stored SET bytes = bytes - old.bytes;
      UPDATE answer_shares SET bytes = bytes - old.bytes WHERE account_id = old.account_id;
    END;
  `,
  postgres: `
    ALTER TABLE answers ADD COLUMN account_id bigint NOT NULL DEFAULT 0,
      ADD COLUMN paid bigint NOT NULL DEFAULT ${NANO_OF_EARLIER};
    CREATE INDEX answers_of_account ON answers (account_id, seq);
    CREATE TABLE answer_shares (
      account_id bigint PRIMARY KEY,
      bytes bigint NOT NULL,
      paid bigint NOT NULL,
      day int NOT NULL,
      bytes_per_usd bigint NOT NULL GENERATED ALWAYS AS (${POSTGRES_BYTES_PER_USD}) STORED
    ) WITH (fillfactor = 70);
    CREATE INDEX answer_shares_in_order ON answer_shares (bytes_per_usd DESC, account_id);
    INSERT INTO answer_shares (account_id, bytes, paid, day)
      SELECT account_id, SUM(bytes), SUM(paid), MAX(at_ms) / 86400000 FROM answers GROUP BY account_id;
    -- Shares are changed only with the slots of their rows locked: a transaction that holds all slots sees shares that stay as they are.
    CREATE OR REPLACE FUNCTION count_answers_added() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      PERFORM 1 FROM answers_stored WHERE slot IN (SELECT slot FROM added) ORDER BY slot FOR NO KEY UPDATE;
      UPDATE answers_stored AS stored SET bytes = stored.bytes + sums.bytes
        FROM (SELECT slot, SUM(bytes) AS bytes FROM added GROUP BY slot) AS sums WHERE sums.slot = stored.slot;
      INSERT INTO answer_shares AS share (account_id, bytes, paid, day)
        SELECT account_id, SUM(bytes), SUM(paid), MAX(at_ms) / 86400000 FROM added GROUP BY account_id ORDER BY account_id
        ON CONFLICT (account_id) DO UPDATE SET bytes = share.bytes + excluded.bytes,
          paid = (share.paid >> LEAST(GREATEST(excluded.day - share.day, 0), 62)) + excluded.paid,
          day = GREATEST(share.day, excluded.day);
      RETURN NULL;
    END $$;
    CREATE OR REPLACE FUNCTION count_answers_removed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      PERFORM 1 FROM answers_stored WHERE slot IN (SELECT slot FROM removed) ORDER BY slot FOR NO KEY UPDATE;
      UPDATE answers_stored AS stored SET bytes = stored.bytes - sums.bytes
        FROM (SELECT slot, SUM(bytes) AS bytes FROM removed GROUP BY slot) AS sums WHERE sums.slot = stored.slot;
      PERFORM 1 FROM answer_shares WHERE account_id IN (SELECT account_id FROM removed) ORDER BY account_id FOR UPDATE;
      UPDATE answer_shares AS share SET bytes = share.bytes - sums.bytes
        FROM (SELECT account_id, SUM(bytes) AS bytes FROM removed GROUP BY account_id) AS sums
        WHERE sums.account_id = share.account_id;
      RETURN NULL;
    END $$;
  `,
};
