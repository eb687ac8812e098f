// Version 11: counts of refused requests by minute, and of attempts at routes by hour. Rows without account or key have 0 there, so
// that the unique index finds them.

import { forBoth } from './migration-part.ts';

export const refusalTables = forBoth(`
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
  CREATE UNIQUE INDEX refusals_once ON refusals (at_ms, key_id, account_id, code);
  CREATE INDEX refusals_in_order ON refusals (at_ms, seq);
  CREATE INDEX refusals_of_account ON refusals (account_id, at_ms, seq);
  CREATE INDEX refusals_of_key ON refusals (key_id, at_ms, seq);
`);
