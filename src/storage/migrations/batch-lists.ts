// Version 37: what each result of a batch has cost, and indexes for lists of batches by account and time.

import { forBoth } from './migration-part.ts';

export const batchLists = forBoth(`
  ALTER TABLE batch_results ADD COLUMN cost bigint NOT NULL DEFAULT 0;
  CREATE INDEX batches_of_account ON batches (account_id, created_at_ms, id);
  CREATE INDEX batches_by_time ON batches (created_at_ms, id);
  CREATE INDEX batches_open ON batches (created_at_ms, id) WHERE status <> 'ended';
`);
