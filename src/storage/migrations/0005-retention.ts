// What it takes to drop old rows: of the journal behind entries that carry its sums forward, and nothing
// else of it. Which credits were given under a reference is remembered when their entries are gone.

import type { Migration } from './migration.ts';

export const retention: Migration = {
  version: 5,
  name: 'retention',
  leastKnown: 5,
  sqlite: `
    -- The entries that are dropped in this very transaction: it is empty whenever nothing is being carried forward.
    CREATE TABLE carried_entries (seq INTEGER PRIMARY KEY) STRICT;
    DROP TRIGGER entries_are_never_deleted;
    CREATE TRIGGER entries_are_never_deleted BEFORE DELETE ON entries
      WHEN NOT EXISTS (SELECT 1 FROM carried_entries WHERE seq = OLD.seq)
        OR OLD.at_ms >= COALESCE(
          (SELECT CAST(value AS INTEGER) FROM installation WHERE name = 'journal_kept_since_ms'), -9223372036854775807)
      BEGIN SELECT RAISE(ABORT, 'a journal entry is never deleted'); END;
    CREATE INDEX carried_forward ON entries (account_id) WHERE kind = 'carried_forward';
    CREATE TABLE carried_credits (
      account_id INTEGER NOT NULL,
      reference TEXT NOT NULL,
      amount INTEGER NOT NULL,
      PRIMARY KEY (account_id, reference)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX key_secrets_that_end ON key_secrets (expires_at_ms) WHERE expires_at_ms IS NOT NULL;
  `,
  postgres: `
    -- The entries that are dropped in this very transaction: it is empty for all others.
    CREATE TABLE carried_entries (seq bigint PRIMARY KEY);
    CREATE FUNCTION refuse_to_delete_entry() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF NOT EXISTS (SELECT 1 FROM carried_entries WHERE seq = OLD.seq)
        OR OLD.at_ms >= COALESCE(
          (SELECT value::bigint FROM installation WHERE name = 'journal_kept_since_ms'), -9223372036854775807)
      THEN RAISE EXCEPTION 'a journal entry is never deleted' USING ERRCODE = 'restrict_violation';
      END IF;
      RETURN OLD;
    END $$;
    CREATE TRIGGER entries_are_never_deleted BEFORE DELETE ON entries
      FOR EACH ROW EXECUTE FUNCTION refuse_to_delete_entry();
    CREATE INDEX carried_forward ON entries (account_id) WHERE kind = 'carried_forward';
    CREATE TABLE carried_credits (
      account_id bigint NOT NULL,
      reference text COLLATE "C" NOT NULL,
      amount bigint NOT NULL,
      PRIMARY KEY (account_id, reference)
    );
    CREATE INDEX key_secrets_that_end ON key_secrets (expires_at_ms) WHERE expires_at_ms IS NOT NULL;
  `,
};
