// Reads of one moment, over a connection of its own that ends with them: for what looks at all rows, such as a check of the ledger.

import { machineTimers, within } from '../../base/timers.ts';
import { bounds } from '../../config.ts';
import { openClient, type Reader, type ReadValue } from './read-pool.ts';

// What looks at all rows is planned as the server sees fit.
const SETTINGS = { application_name: 'turnpike check', timezone: 'UTC' };

/** Reads in one snapshot, while others write or not. Throws what the driver throws, and where a statement takes longer than is allowed. */
export async function readSnapshot<Value>(
  url: string,
  read: (reader: Reader) => Promise<Value>,
  statementMsMax: number = bounds.snapshotStatementMsMax,
): Promise<Value> {
  const client = openClient(url, { ...SETTINGS, statement_timeout: statementMsMax });
  const silentMs = statementMsMax + bounds.storeSilenceMsMax;
  const inTime = <Answer>(answer: Promise<Answer>) =>
    within(machineTimers, silentMs, answer, () => new Error('the database does not answer'));
  try {
    // Reserved: a client goes on over another connection when it loses one, in the midst of a transaction and outside of it.
    const reserved = await client.reserve();
    await inTime(reserved.unsafe('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'));
    return await read({
      read: async <Row>(text: string, ...values: readonly ReadValue[]) =>
        [...(await inTime(reserved.unsafe(text, [...values])))] as Row[],
    });
  } finally {
    await client.close({ timeout: 0 });
  }
}
