// Version 36: parts of batches that providers run.

import { forBoth } from './migration-part.ts';

export const batchParts = forBoth(`
  CREATE TABLE batch_parts (
    batch_id bigint NOT NULL,
    part bigint NOT NULL,
    status text COLLATE "C" NOT NULL,
    document text NOT NULL,
    PRIMARY KEY (batch_id, part)
  );
`);
