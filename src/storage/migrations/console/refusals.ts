// Counts of refused requests by minute, and of attempts at routes by hour. Rows without account or key have 0 there, so
// that the unique index finds them.

import type { MigrationPart } from '../payments/payments.ts';

const indexes = `
    CREATE UNIQUE INDEX refusals_once ON refusals (at_ms, key_id, account_id, code);
    CREATE INDEX refusals_in_order ON refusals (at_ms, seq);
    CREATE INDEX refusals_of_account ON refusals (account_id, at_ms, seq);
    CREATE INDEX refusals_of_key ON refusals (key_id, at_ms, seq);
`;

export const refusalsPart: MigrationPart = {
  sqlite: `
    CREATE TABLE refusals (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      at_ms INTEGER NOT NULL,
      account_id INTEGER NOT NULL,
      key_id INTEGER NOT NULL,
      code TEXT NOT NULL,
      status INTEGER NOT NULL,
      count INTEGER NOT NULL CHECK (count > 0),
      last_at_ms INTEGER NOT NULL,
      message TEXT NOT NULL
    ) STRICT;
    CREATE TABLE route_hours (
      at_ms INTEGER NOT NULL,
      model TEXT NOT NULL,
      provider TEXT NOT NULL,
      upstream_model TEXT NOT NULL,
      source TEXT NOT NULL,
      document TEXT NOT NULL,
      PRIMARY KEY (at_ms, model, provider, upstream_model, source)
    ) STRICT, WITHOUT ROWID;
    ${indexes}
  `,
  postgres: `
    CREATE TABLE refusals (
      seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      at_ms bigint NOT NULL,
      account_id bigint NOT NULL,
      key_id bigint NOT NULL,
      code text COLLATE "C" NOT NULL,
      status bigint NOT NULL,
      count bigint NOT NULL CHECK (count > 0),
      last_at_ms bigint NOT NULL,
      message text NOT NULL
    );
    CREATE TABLE route_hours (
      at_ms bigint NOT NULL,
      model text COLLATE "C" NOT NULL,
      provider text COLLATE "C" NOT NULL,
      upstream_model text COLLATE "C" NOT NULL,
      source text COLLATE "C" NOT NULL,
      document text NOT NULL,
      PRIMARY KEY (at_ms, model, provider, upstream_model, source)
    );
    ${indexes}
  `,
};
