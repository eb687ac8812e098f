// Version 33: batches, and the results of those that run.

import { forBoth } from './migration-part.ts';

export const batchTables = forBoth(`
  CREATE TABLE batches (
    id bigint PRIMARY KEY,
    account_id bigint NOT NULL,
    company_id bigint NOT NULL,
    key_id bigint NOT NULL,
    form text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    created_at_ms bigint NOT NULL,
    due_at_ms bigint NOT NULL,
    document text NOT NULL
  );
  CREATE INDEX batches_of_key ON batches (key_id, form, created_at_ms, id);
  CREATE INDEX batches_running ON batches (company_id, id) WHERE status <> 'ended';
  CREATE INDEX batches_due ON batches (status, due_at_ms);

  CREATE TABLE batch_results (
    batch_id bigint NOT NULL,
    place bigint NOT NULL,
    outcome text COLLATE "C" NOT NULL,
    sealed text NOT NULL,
    PRIMARY KEY (batch_id, place)
  );
`);
