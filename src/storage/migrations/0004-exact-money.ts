// Claims of callers (their idempotency keys) and the sealed answers to them, with how much these are together, so that
// nobody has to add them up to bound them; what was learned of each
// model, by which its messages are estimated. A message may be refunded more than once.

import type { Migration } from './migration.ts';

export const exactMoney: Migration = {
  version: 4,
  name: 'exact-money',
  leastKnown: 4,
  sqlite: `
    DROP INDEX credits_once;
    CREATE UNIQUE INDEX credits_once ON entries (account_id, reference)
      WHERE kind <> 'usage' AND kind <> 'write_off' AND kind <> 'correction' AND kind <> 'refund'
      AND reference IS NOT NULL;

    CREATE TABLE claims (
      key_id INTEGER NOT NULL,
      name TEXT NOT NULL,
      request_id TEXT NOT NULL,
      request_hash TEXT NOT NULL,
      at_ms INTEGER NOT NULL,
      is_answered INTEGER NOT NULL,
      PRIMARY KEY (key_id, name)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX claims_in_order ON claims (at_ms);

    CREATE TABLE answers (
      seq INTEGER PRIMARY KEY,
      request_id TEXT NOT NULL UNIQUE,
      at_ms INTEGER NOT NULL,
      bytes INTEGER NOT NULL,
      sealed TEXT NOT NULL
    ) STRICT;
    CREATE INDEX answers_in_order ON answers (at_ms, bytes);
    CREATE TABLE answers_stored (
      is_only INTEGER PRIMARY KEY CHECK (is_only = 1),
      bytes INTEGER NOT NULL
    ) STRICT;
    INSERT INTO answers_stored VALUES (1, 0);
    CREATE TRIGGER answers_added AFTER INSERT ON answers BEGIN
      UPDATE answers_stored SET bytes = bytes + new.bytes;
    END;
    CREATE TRIGGER answers_removed AFTER DELETE ON answers BEGIN
      UPDATE answers_stored SET bytes = bytes - old.bytes;
    END;

    CREATE TABLE learned (
      model TEXT PRIMARY KEY,
      document TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
  `,
  postgres: `
    CREATE UNIQUE INDEX credits_once ON entries (account_id, reference)
      WHERE kind <> 'usage' AND kind <> 'write_off' AND kind <> 'correction' AND kind <> 'refund'
      AND reference IS NOT NULL;

    CREATE TABLE claims (
      key_id bigint NOT NULL,
      name text COLLATE "C" NOT NULL,
      request_id text COLLATE "C" NOT NULL,
      request_hash text NOT NULL,
      at_ms bigint NOT NULL,
      is_answered smallint NOT NULL,
      PRIMARY KEY (key_id, name)
    );
    CREATE INDEX claims_in_order ON claims (at_ms);

    -- How much they are together is counted in sixty-four rows: all nodes would wait for a single one.
    CREATE TABLE answers (
      seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      request_id text COLLATE "C" NOT NULL UNIQUE,
      at_ms bigint NOT NULL,
      bytes bigint NOT NULL,
      sealed text NOT NULL,
      slot smallint NOT NULL CHECK (slot >= 0 AND slot < 64)
    );
    CREATE INDEX answers_in_order ON answers (at_ms, bytes);
    CREATE TABLE answers_stored (
      slot smallint PRIMARY KEY,
      bytes bigint NOT NULL
    ) WITH (fillfactor = 40);
    INSERT INTO answers_stored SELECT slot, 0 FROM generate_series(0, 63) AS slots (slot);
    -- Slots are locked in their order, so that of two transactions the later waits and none stops the other.
    CREATE FUNCTION count_answers_added() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      PERFORM 1 FROM answers_stored WHERE slot IN (SELECT slot FROM added) ORDER BY slot FOR NO KEY UPDATE;
      UPDATE answers_stored AS stored SET bytes = stored.bytes + sums.bytes
        FROM (SELECT slot, SUM(bytes) AS bytes FROM added GROUP BY slot) AS sums WHERE sums.slot = stored.slot;
      RETURN NULL;
    END $$;
    CREATE FUNCTION count_answers_removed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      PERFORM 1 FROM answers_stored WHERE slot IN (SELECT slot FROM removed) ORDER BY slot FOR NO KEY UPDATE;
      UPDATE answers_stored AS stored SET bytes = stored.bytes - sums.bytes
        FROM (SELECT slot, SUM(bytes) AS bytes FROM removed GROUP BY slot) AS sums WHERE sums.slot = stored.slot;
      RETURN NULL;
    END $$;
    CREATE TRIGGER answers_added AFTER INSERT ON answers REFERENCING NEW TABLE AS added
      FOR EACH STATEMENT EXECUTE FUNCTION count_answers_added();
    CREATE TRIGGER answers_removed AFTER DELETE ON answers REFERENCING OLD TABLE AS removed
      FOR EACH STATEMENT EXECUTE FUNCTION count_answers_removed();

    CREATE TABLE learned (
      model text COLLATE "C" PRIMARY KEY,
      document text NOT NULL
    );
  `,
};
