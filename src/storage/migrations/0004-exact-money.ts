// Claims of callers (their idempotency keys) and the sealed answers to them, with how much these are together, so that
// nobody has to add them up to bound them; what was learned of each
// model, by which its messages are estimated. A message may be refunded more than once.

import type { Migration } from './migration.ts';

export const exactMoney: Migration = {
  version: 4,
  name: 'exact-money',
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
};
