// Version 24: exports that are sent at regular times, and their runs.

import { forBoth } from './migration-part.ts';

export const exportTables = forBoth(`
  CREATE TABLE exports (
    id bigint PRIMARY KEY,
    account_id bigint,
    created_at_ms bigint NOT NULL,
    status text COLLATE "C" NOT NULL,
    due_at_ms bigint NOT NULL,
    version bigint NOT NULL,
    document text NOT NULL
  );
  CREATE TABLE export_runs (
    export_id bigint NOT NULL,
    period_ms bigint NOT NULL,
    status text COLLATE "C" NOT NULL,
    next_at_ms bigint,
    version bigint NOT NULL,
    document text NOT NULL,
    PRIMARY KEY (export_id, period_ms)
  );
  CREATE INDEX exports_in_order ON exports (created_at_ms, id);
  CREATE INDEX exports_of_account ON exports (account_id, created_at_ms, id);
  CREATE INDEX exports_due ON exports (due_at_ms, id) WHERE status = 'enabled';
  CREATE INDEX export_runs_due ON export_runs (next_at_ms) WHERE next_at_ms IS NOT NULL;
`);
