// The tables of redemption codes.

import type { MigrationPart } from './payments.ts';

export const codesPart: MigrationPart = {
  sqlite: `
  CREATE TABLE code_batches (
    id INTEGER PRIMARY KEY,
    created_at_ms INTEGER NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount > 0),
    count INTEGER NOT NULL,
    redeemed INTEGER NOT NULL CHECK (redeemed BETWEEN 0 AND count),
    expires_at_ms INTEGER,
    once_per_account INTEGER NOT NULL,
    note TEXT,
    status TEXT NOT NULL,
    made_by TEXT NOT NULL
  ) STRICT;
  CREATE INDEX code_batches_in_order ON code_batches (created_at_ms, id);
  CREATE TABLE codes (
    batch_id INTEGER NOT NULL REFERENCES code_batches (id),
    number INTEGER NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    account_id INTEGER,
    redeemed_by TEXT,
    redeemed_at_ms INTEGER,
    once_account_id INTEGER,
    PRIMARY KEY (batch_id, number)
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX codes_once_per_account ON codes (batch_id, once_account_id) WHERE once_account_id IS NOT NULL;
`,
  postgres: `
  CREATE TABLE code_batches (
    id bigint PRIMARY KEY,
    created_at_ms bigint NOT NULL,
    name text NOT NULL,
    kind text NOT NULL,
    amount bigint NOT NULL CHECK (amount > 0),
    count bigint NOT NULL,
    redeemed bigint NOT NULL CHECK (redeemed BETWEEN 0 AND count),
    expires_at_ms bigint,
    once_per_account smallint NOT NULL,
    note text,
    status text NOT NULL,
    made_by text NOT NULL
  );
  CREATE INDEX code_batches_in_order ON code_batches (created_at_ms, id);
  CREATE TABLE codes (
    batch_id bigint NOT NULL REFERENCES code_batches (id),
    number bigint NOT NULL,
    hash text COLLATE "C" NOT NULL UNIQUE,
    account_id bigint,
    redeemed_by text,
    redeemed_at_ms bigint,
    once_account_id bigint,
    PRIMARY KEY (batch_id, number)
  );
  CREATE UNIQUE INDEX codes_once_per_account ON codes (batch_id, once_account_id) WHERE once_account_id IS NOT NULL;
`,
};
