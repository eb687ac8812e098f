// Version 27: incidents. At most one of a name is open, on whatever node it was found.

import { forBoth } from './migration-part.ts';

export const incidentTables = forBoth(`
  CREATE TABLE incidents (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    account_id bigint,
    began_at_ms bigint NOT NULL,
    seen_at_ms bigint NOT NULL,
    ended_at_ms bigint,
    document text NOT NULL
  );
  CREATE UNIQUE INDEX incidents_open ON incidents (name) WHERE ended_at_ms IS NULL;
  CREATE INDEX incidents_ended ON incidents (ended_at_ms, seq);
`);
