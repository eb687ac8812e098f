// What it takes for any number of nodes to hear of each other's changes, and for their changes not to undo one another.
// SQLite has one process, which hears of what it does itself.

import type { Migration } from './migration.ts';

export const changes: Migration = {
  version: 6,
  name: 'changes',
  // Who does not know of the epoch changes without raising it, and no other node would hear of that.
  leastKnown: 6,
  sqlite: `
    -- Nothing is needed; a text without a statement is refused.
    SELECT 1;
  `,
  postgres: `
    -- One row, raised last in a transaction, so that epochs come in the order of commits: who reads one has not missed any before it.
    CREATE TABLE change_epoch (
      is_only smallint PRIMARY KEY CHECK (is_only = 1),
      epoch bigint NOT NULL,
      -- All that changed after this one is kept.
      kept_after bigint NOT NULL
    );
    INSERT INTO change_epoch VALUES (1, 0, 0);
    CREATE TABLE changes (
      epoch bigint NOT NULL,
      kind text COLLATE "C" NOT NULL,
      object_id bigint NOT NULL,
      -- Whose changes are decided by it: 0, those of all; null, those of nobody.
      account_id bigint,
      at_ms bigint NOT NULL,
      PRIMARY KEY (epoch, kind, object_id)
    );
  `,
};
