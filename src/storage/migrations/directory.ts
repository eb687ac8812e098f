// Version 21: the groups of a company's directory that give people their account and role, and the subject of an issuer that a person
// signs in as. `source` is empty for a group that counts from every source.

import { forBoth } from './migration-part.ts';

export const directoryTables = forBoth(`
  CREATE TABLE directory_groups (
    id bigint PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    created_at_ms bigint NOT NULL,
    document text NOT NULL
  );
  CREATE UNIQUE INDEX directory_groups_by_name ON directory_groups (name, source);
  CREATE INDEX directory_groups_in_order ON directory_groups (created_at_ms, id);
  ALTER TABLE people ADD COLUMN identity text COLLATE "C";
  CREATE UNIQUE INDEX people_by_identity ON people (identity);
`);
