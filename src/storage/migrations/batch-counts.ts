// Version 38: an index that has all that is counted of the results of a batch, which are long, and which clients ask for again and again.

import { forBoth } from './migration-part.ts';

export const batchCounts = forBoth(`
  CREATE INDEX batch_results_counted ON batch_results (batch_id, outcome, cost);
`);
