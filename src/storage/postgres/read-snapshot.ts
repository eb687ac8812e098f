// Reads of one moment, over a connection of its own that ends with them: for what looks at all rows, such as a check of the ledger.

import { bounds } from '../../config.ts';
import { openClient, type Reader, type ReadValue } from './read-pool.ts';

// What looks at all rows is planned as the server sees fit.
const SETTINGS = {
  application_name: 'turnpike check',
  statement_timeout: bounds.snapshotStatementMsMax,
  timezone: 'UTC',
};

/** Reads in one snapshot, while others write or not. Throws what the driver throws. */
export async function readSnapshot<Value>(url: string, read: (reader: Reader) => Promise<Value>): Promise<Value> {
  const client = openClient(url, SETTINGS);
  try {
    // Reserved: a client goes on over another connection when it loses one, in the midst of a transaction and outside of it.
    const reserved = await client.reserve();
    await reserved.unsafe('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    return await read({
      read: async <Row>(text: string, ...values: readonly ReadValue[]) =>
        [...(await reserved.unsafe(text, [...values]))] as Row[],
    });
  } finally {
    await client.close({ timeout: 0 });
  }
}
