// Open holds of one account. All that are open are looked at, in the order of their ids: there are only as many as messages run,
// and an index of accounts would cost each of these.

import type { LedgerReader } from '../../ledger/ledger.ts';
import { openHoldOf, readHoldRow } from '../row-codec.ts';
import type { Reader } from './read-pool.ts';

const OF_ACCOUNT = `
  SELECT h.document FROM holds h WHERE h.request_id > $1 AND h.account_id = $2 ORDER BY h.request_id LIMIT $3`;

export function holdReads(reader: Reader): Pick<LedgerReader, 'listHolds'> {
  return {
    async listHolds({ account, after, limit }) {
      const rows = await reader.read<{ document: string }>(OF_ACCOUNT, after ?? '', account, limit);
      return rows.map(readHoldRow).map(openHoldOf);
    },
  };
}
