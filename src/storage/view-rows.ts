// Rows of saved views: their statements and their reads, the same for both databases.

import type { SavedView, SavedViewStore } from '../accounts/accounts.ts';
import type { AuditContext } from '../audit/audit.ts';
import type { LedgerGate } from '../ledger/ledger.ts';
import { submit } from './account-writes.ts';
import type { CoCommittedStatement } from './co-committed.ts';
import { prepareCount, prepareOne } from './readable-rows.ts';
import { columnsAs, type SqlReader } from './sql-reader.ts';

/** A view that was created or changed, or the id of one to delete. */
export interface ViewRow {
  table: 'saved_views';
  view: SavedView | number;
}

/** In place of an account, because it is a part of an index. */
const INSTALLATION = 0;

export function viewStatement({ view }: ViewRow): CoCommittedStatement {
  if (typeof view === 'number') return { text: 'DELETE FROM saved_views WHERE id = $1', values: [view] };
  const { id, accountId, owner, page, name, search, isShared, createdAtMs } = view;
  return {
    text: `INSERT INTO saved_views (id, account_id, owner, page, name, search, shared, created_at_ms)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
       ON CONFLICT (id) DO UPDATE SET page = excluded.page, name = excluded.name, search = excluded.search,
         shared = excluded.shared`,
    values: [id, accountId ?? INSTALLATION, owner, page, name, search, isShared ? 1 : 0, createdAtMs],
  };
}

type ViewWrites = Pick<SavedViewStore, 'putSavedView' | 'deleteSavedView'>;
export type ViewReads = Omit<SavedViewStore, keyof ViewWrites>;

export function viewWrites(gate: LedgerGate): ViewWrites {
  const write = (view: ViewRow['view'], auditContext: AuditContext) =>
    submit(gate, [], [{ table: 'saved_views', view }], auditContext);
  return { putSavedView: write, deleteSavedView: write };
}

interface Row extends Omit<SavedView, 'accountId' | 'isShared'> {
  accountId: number;
  shared: number;
}

export function viewReads(on: SqlReader): ViewReads {
  const columns = columnsAs(on, 'r', ['id', 'accountId', 'shared', 'createdAtMs'], ['owner', 'page', 'name', 'search']);
  const list = on.prepare<Row>(
    `SELECT ${columns} FROM saved_views r
     WHERE r.account_id = $1 AND r.id > $2 AND (r.owner = $3 OR r.shared = 1) ORDER BY r.id LIMIT $4`,
  );
  const count = prepareCount(on, 'saved_views', 'account_id = $1 AND owner = $2');
  return {
    getSavedView: prepareOne(on, `SELECT ${columns} FROM saved_views r WHERE r.id = $1`, viewOf),
    async listSavedViews({ accountId, owner, after, limit }) {
      return (await list(accountId ?? INSTALLATION, after ?? 0, owner, limit)).map(viewOf);
    },
    countSavedViews: ({ accountId, owner }) => count(accountId ?? INSTALLATION, owner),
  };
}

function viewOf({ shared, accountId, ...view }: Row): SavedView {
  return { ...view, accountId: accountId === INSTALLATION ? null : accountId, isShared: shared === 1 };
}
