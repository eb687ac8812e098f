// Version 32: views that people save. The account 0 is the installation.

import { forBoth } from './migration-part.ts';

export const savedViewTables = forBoth(`
  CREATE TABLE saved_views (
    id bigint PRIMARY KEY,
    account_id bigint NOT NULL,
    owner text COLLATE "C" NOT NULL,
    page text COLLATE "C" NOT NULL,
    name text NOT NULL,
    search text NOT NULL,
    shared bigint NOT NULL,
    created_at_ms bigint NOT NULL
  );
  CREATE INDEX saved_views_of_account ON saved_views (account_id, id);
  CREATE INDEX saved_views_of_owner ON saved_views (account_id, owner);
`);
