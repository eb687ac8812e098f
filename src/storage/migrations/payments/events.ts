// Events, the destinations that they are sent to, and their deliveries.

import { forBoth } from '../migration-part.ts';

export const eventsPart = forBoth(`
  CREATE TABLE events (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at_ms bigint NOT NULL,
    account_id bigint,
    type text COLLATE "C" NOT NULL,
    dedupe text COLLATE "C" UNIQUE,
    document text NOT NULL,
    spread bigint NOT NULL DEFAULT 0
  );
  CREATE INDEX events_in_order ON events (at_ms, seq);
  CREATE INDEX events_of_account ON events (account_id, at_ms, seq);
  CREATE INDEX events_not_spread ON events (seq) WHERE spread = 0;

  CREATE TABLE destinations (
    id bigint PRIMARY KEY,
    account_id bigint REFERENCES accounts (id),
    created_at_ms bigint NOT NULL,
    status text NOT NULL,
    disabled_reason text,
    version bigint NOT NULL,
    failing_since_ms bigint,
    delivered_at_ms bigint,
    document text NOT NULL
  );
  CREATE INDEX destinations_in_order ON destinations (created_at_ms, id);
  CREATE INDEX destinations_of_account ON destinations (account_id, created_at_ms, id);

  CREATE TABLE deliveries (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_seq bigint NOT NULL,
    destination_id bigint NOT NULL,
    account_id bigint,
    lane bigint NOT NULL,
    created_at_ms bigint NOT NULL,
    status text COLLATE "C" NOT NULL,
    tries bigint NOT NULL,
    next_at_ms bigint,
    done_at_ms bigint,
    attempts text NOT NULL,
    UNIQUE (event_seq, destination_id)
  );
  CREATE INDEX deliveries_in_order ON deliveries (created_at_ms, seq);
  CREATE INDEX deliveries_of_account ON deliveries (account_id, seq);
  CREATE INDEX deliveries_of_destination ON deliveries (destination_id, seq);
  CREATE INDEX deliveries_due ON deliveries (next_at_ms, seq) WHERE next_at_ms IS NOT NULL;
  CREATE INDEX deliveries_waiting ON deliveries (destination_id, lane, event_seq) WHERE status = 'pending';
  CREATE INDEX key_meters_that_end ON key_meters (expires_at_ms, id) WHERE expires_at_ms IS NOT NULL;
`);
