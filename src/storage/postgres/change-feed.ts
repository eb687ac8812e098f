// What nodes tell one another through the store: which of what they remember was changed, by whichever of them. It only reads;
// what is told is written with each change (raise-epoch.ts).

import { bounds } from '../../config.ts';
import { guardReads } from '../guard-reads.ts';
import { ReadPool } from './read-pool.ts';
import { asNumbers } from './row-columns.ts';

export type Change =
  /** Terms, groups, credit: whatever is remembered of the account or any of its keys. */
  | { kind: 'account'; id: number }
  | { kind: 'key'; id: number }
  | { kind: 'catalog' }
  /** The running messages of this key are to be ended, on every node. */
  | { kind: 'cut'; id: number };

/** What changed, in order, and the epoch that this leads to: where there is more, it is not yet the last one. */
export interface ChangesSince {
  epoch: number;
  changes: Change[];
}

const READ_EPOCH = `SELECT ${asNumbers('e', 'epoch')} FROM change_epoch e WHERE e.is_only = $1`;
/** One row at least, of one moment. What one transaction changed is told together: a piece ends where one does. */
const READ_CHANGES = `
  SELECT ${asNumbers('e', 'epoch', 'kept_after')}, ${asNumbers('c', 'object_id')}, c.kind, c.epoch::float8 AS changed_at
  FROM change_epoch e LEFT JOIN LATERAL (
    SELECT * FROM changes WHERE epoch > $1 ORDER BY epoch FETCH FIRST $2 ROWS WITH TIES) c ON true
  WHERE e.is_only = 1 ORDER BY c.epoch`;

interface ChangesTable {
  epoch: number;
  kept_after: number;
  kind: Change['kind'] | 'credit' | 'token' | 'person' | null;
  object_id: number;
  changed_at: number;
}

export class ChangeFeed {
  /** One connection of its own, so that what is told never waits for a list. */
  readonly #pool: ReadPool;
  readonly #reads: Pick<ChangeFeed, 'readEpoch' | 'readSince'>;

  /** Connects when it is asked first, and again when the connection was lost. */
  constructor(url: string) {
    this.#pool = new ReadPool(url, { connections: 1, statementMsMax: bounds.changesStatementMsMax });
    this.#reads = guardReads({
      readEpoch: () => this.#readEpoch(),
      readSince: (epoch: number) => this.#readSince(epoch),
    });
  }

  /** The last committed change: whoever reads anything afterwards sees it, and all before it. Throws store_unavailable. */
  readEpoch(): Promise<number> {
    return this.#reads.readEpoch();
  }

  /**
   * What changed after `epoch`. Null where that cannot be told: some of it is not kept any more, or the store has not come so far,
   * being another one that took the place of one that was lost. Throws store_unavailable.
   */
  readSince(epoch: number): Promise<ChangesSince | null> {
    return this.#reads.readSince(epoch);
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  async #readEpoch(): Promise<number> {
    const [row] = await this.#pool.read<{ epoch: number }>(READ_EPOCH, 1);
    if (row === undefined) throw new Error('the database has no epoch of changes');
    return row.epoch;
  }

  /** Mostly nothing has changed: then only the epoch is asked for. */
  async #readSince(epoch: number): Promise<ChangesSince | null> {
    if ((await this.#readEpoch()) === epoch) return { epoch, changes: [] };
    const rows = await this.#pool.read<ChangesTable>(READ_CHANGES, epoch, bounds.pageItemsMax);
    const [first] = rows;
    if (first === undefined || first.kept_after > epoch || first.epoch < epoch) return null;
    const last = rows.at(-1) as ChangesTable;
    return {
      epoch: rows.length < bounds.pageItemsMax ? first.epoch : last.changed_at,
      changes: rows.flatMap(readChange),
    };
  }
}

function readChange({ kind, object_id }: ChangesTable): Change[] {
  if (kind === null || kind === 'token' || kind === 'person') return []; // no node remembers them
  if (kind === 'catalog') return [{ kind }];
  return [{ kind: kind === 'credit' ? 'account' : kind, id: object_id }];
}
