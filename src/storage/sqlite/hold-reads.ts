// Open holds of one account. All that are open are looked at, in the order of their ids: there are only as many as messages run,
// and an index of accounts would cost each of these.

import type { Database } from 'bun:sqlite';
import type { LedgerReader } from '../../ledger/ledger.ts';
import { openHoldOf, readHoldRow } from '../row-codec.ts';
import { prepareText } from './statements.ts';

export function holdReads(database: Database): Pick<LedgerReader, 'listHolds'> {
  const ofAccount = prepareText(
    database,
    'SELECT document FROM holds WHERE request_id > $1 AND account_id = $2 ORDER BY request_id LIMIT $3',
  );
  return {
    async listHolds({ account, after, limit }) {
      const rows = ofAccount.all(after ?? '', account, limit) as { document: string }[];
      return rows.map(readHoldRow).map(openHoldOf);
    },
  };
}
