// Version 30: files of clients. Their bytes are elsewhere.

import { forBoth } from './migration-part.ts';

export const fileTables = forBoth(`
  CREATE TABLE files (
    id bigint PRIMARY KEY,
    account_id bigint NOT NULL,
    company_id bigint NOT NULL,
    key_id bigint NOT NULL,
    only_key_id bigint,
    status text COLLATE "C" NOT NULL,
    created_at_ms bigint NOT NULL,
    due_at_ms bigint,
    bytes bigint NOT NULL,
    name text NOT NULL,
    media_type text NOT NULL,
    purpose text COLLATE "C" NOT NULL,
    key_sealed text NOT NULL
  );
  CREATE INDEX files_of_account ON files (account_id, created_at_ms, id);
  CREATE INDEX files_of_company ON files (company_id, status, bytes);
  CREATE INDEX files_due ON files (due_at_ms) WHERE due_at_ms IS NOT NULL;
`);
