// Notifications of changes to cached objects: each change writes one in its own transaction, and other nodes read
// them.

import type { DecidedAt } from '../../audit/audit.ts';
import { bounds } from '../../config/config.ts';
import { type Changes, type NewEntry, type Operation, Outpaced } from '../../ledger/ledger.ts';
import type { CoCommittedRow } from '../co-committed.ts';
import { guardReads } from '../stores.ts';
import type { CheckedAsk } from './co-committed.ts';
import { arrayOf, asNumbers } from './columns.ts';
import { ReadPool } from './read-pool.ts';

export type Change =
  /** Terms, groups or credit: everything cached for the account and its keys. */
  | { kind: 'account'; id: number }
  | { kind: 'key'; id: number }
  | { kind: 'person'; id: number }
  | { kind: 'catalog' }
  /** Every node ends the running messages of this key. */
  | { kind: 'cut'; id: number };

/** Changes in order, and the epoch of the last one. There may be later changes. */
export interface ChangesSince {
  epoch: number;
  changes: Change[];
}

const READ_EPOCH = `SELECT ${asNumbers('e', 'epoch')} FROM change_epoch e WHERE e.is_only = $1`;
/** Returns at least one row. The changes of one transaction are never split between two pages. */
const READ_CHANGES = `
  SELECT ${asNumbers('e', 'epoch', 'kept_after')}, ${asNumbers('c', 'object_id')}, c.kind, c.epoch::float8 AS changed_at
  FROM change_epoch e LEFT JOIN LATERAL (
    SELECT * FROM changes WHERE epoch > $1 ORDER BY epoch FETCH FIRST $2 ROWS WITH TIES) c ON true
  WHERE e.is_only = 1 ORDER BY c.epoch`;

interface ChangesTable {
  epoch: number;
  kept_after: number;
  kind: Change['kind'] | 'credit' | 'token' | null;
  object_id: number;
  changed_at: number;
}

export class ChangeFeed {
  /** A connection of its own, so that notifications never wait for a list. */
  readonly #pool: ReadPool;
  readonly #reads: Pick<ChangeFeed, 'readEpoch' | 'readSince'>;

  /** Connects at the first read, and reconnects after a lost connection. */
  constructor(url: string) {
    this.#pool = new ReadPool(url, { connections: 1, statementMsMax: bounds.changesStatementMsMax });
    this.#reads = guardReads({
      readEpoch: () => this.#readEpoch(),
      readSince: (epoch: number) => this.#readSince(epoch),
    });
  }

  /** The epoch of the last committed change. Later reads see it and all changes before it. Throws store_unavailable. */
  readEpoch(): Promise<number> {
    return this.#reads.readEpoch();
  }

  /**
   * Changes after `epoch`. null if that is unknown: some were dropped, or the store is an older one, restored in
   * place of a lost one. Throws store_unavailable.
   */
  readSince(epoch: number): Promise<ChangesSince | null> {
    return this.#reads.readSince(epoch);
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  async #readEpoch(): Promise<number> {
    const [row] = await this.#pool.read<{ epoch: number }>(READ_EPOCH, 1);
    if (row === undefined) throw new Error('the database has no change epoch');
    return row.epoch;
  }

  /** Reads only the epoch when nothing has changed, which is the usual case. */
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
  if (kind === null || kind === 'token') return []; // not cached by any node
  if (kind === 'catalog') return [{ kind }];
  return [{ kind: kind === 'credit' ? 'account' : kind, id: object_id }];
}

/** One notification. */
interface ChangeNotice {
  kind: 'account' | 'key' | 'token' | 'person' | 'catalog' | 'credit' | 'cut';
  object: number;
  /**
   * The account whose changes outpace others; 0: the installation. null: no decision outside the ledger depends on
   * it.
   */
  account: number | null;
}

const INSTALLATION = 0;
const CREDITS: ReadonlySet<NewEntry['kind']> = new Set([
  'payment',
  'promotion',
  'adjustment',
  'debt_write_off',
  'refund',
]);

/**
 * Its lock on the epoch's row is the last that a transaction takes. What is too old goes at the same time, from the first epoch on,
 * as much as can be looked at in passing: where nobody changes anything, nothing more comes.
 */
const RAISE = `
  WITH oldest AS (SELECT c.epoch, c.at_ms FROM changes c ORDER BY c.epoch LIMIT ${bounds.rowsDroppedAtOnce}),
  raised AS (
    UPDATE change_epoch SET epoch = epoch + 1,
      kept_after = greatest(kept_after, (SELECT max(o.epoch) FROM oldest o WHERE o.at_ms < $1::bigint))
    WHERE is_only = 1 RETURNING epoch),
  dropped AS (DELETE FROM changes WHERE epoch <= (SELECT max(o.epoch) FROM oldest o WHERE o.at_ms < $1::bigint))
  INSERT INTO changes (epoch, at_ms, kind, object_id, account_id)
  SELECT raised.epoch, $2::bigint, given.kind, given.object_id, given.account_id
  FROM raised, unnest($3::text::text[], $4::text::bigint[], $5::text::bigint[]) AS given (kind, object_id, account_id)`;

/**
 * A row if something changed between the epoch $1 and the one just raised: the account $2, the installation, or, with $3, any
 * account. A separate statement, because only a statement that begins while the lock is held sees everything committed before it.
 */
const FIND_OUTPACING = `
  SELECT e.epoch FROM change_epoch e WHERE e.is_only = 1 AND (e.kept_after > $1::bigint OR EXISTS (
    SELECT 1 FROM changes c WHERE c.epoch > $1::bigint AND c.epoch < e.epoch
      AND (c.account_id = ${INSTALLATION} OR c.account_id = $2::bigint OR ($3::int = 1 AND c.account_id IS NOT NULL))))`;

/**
 * The statements that notify of a batch; none if nothing relevant changed. `operations` are the relevant ones,
 * decided or refused. Throws Outpaced, as the statements' checks do.
 */
export function raiseEpoch(operations: readonly Operation[], changes: Changes, nowMs: number): CheckedAsk[] {
  const coCommitted = changes.coCommitted as readonly CoCommittedRow[];
  const told = [...operationsTold(operations, changes), ...coCommitted.flatMap(rowTold)];
  const [decidedAt, ...others] = coCommitted.flatMap((row) => ('since' in row ? [row.since] : []));
  if (told.length === 0 && decidedAt === undefined) return [];
  if (others.length > 0) throw new Outpaced('another change in the batch was decided without this one');
  return [raise(told, nowMs), ...(decidedAt === undefined ? [] : [refuseOutpaced(decidedAt)])];
}

function raise(told: readonly ChangeNotice[], nowMs: number): CheckedAsk {
  const distinct = [...new Map(told.map((one) => [`${one.kind} ${one.object}`, one])).values()];
  const values = [
    nowMs - bounds.changesKeptMs,
    nowMs,
    arrayOf(distinct.map(({ kind }) => kind)),
    arrayOf(distinct.map(({ object }) => object)),
    arrayOf(distinct.map(({ account }) => account)),
  ];
  return { text: RAISE, values };
}

function refuseOutpaced({ epoch, account }: DecidedAt): CheckedAsk {
  return {
    text: FIND_OUTPACING,
    values: account === 'any' ? [epoch, null, 1] : [epoch, account, 0],
    check(found) {
      if (found.length > 0) throw new Outpaced('the rows that the change was decided by have changed since');
    },
  };
}

/** A refused operation changed nothing. */
function operationsTold(
  operations: readonly Operation[],
  { accounts, keys, people, entries }: Changes,
): ChangeNotice[] {
  if (operations.length === 0) return [];
  const terms = operations.flatMap((operation): ChangeNotice[] => {
    const isOfAccount =
      operation.kind === 'set-account' || operation.kind === 'set-plan' || operation.kind === 'change-plan';
    if (isOfAccount && accounts.has(operation.account)) return [ofAccount(operation.account)];
    if (operation.kind === 'set-key' && keys.has(operation.key)) return [ofKey(operation.key, operation.account)];
    if (operation.kind === 'set-person' && people.has(operation.person))
      return [{ kind: 'person', object: operation.person, account: INSTALLATION }];
    return [];
  });
  const credits = entries.filter(({ kind }) => CREDITS.has(kind));
  return [
    ...terms,
    ...credits.map((entry): ChangeNotice => ({ kind: 'credit', object: entry.account, account: null })),
  ];
}

/** A key's new secret comes with the key's own row. */
function rowTold(row: CoCommittedRow): ChangeNotice[] {
  if ('cut' in row) return [{ kind: 'cut', object: row.cut, account: null }];
  if ('account' in row) return [ofAccount(row.account.id)];
  if ('key' in row) return [ofKey(row.key.id, row.key.accountId)];
  if ('token' in row) return [{ kind: 'token', object: row.token.id, account: row.token.accountId ?? INSTALLATION }];
  // E-mails are unique across accounts: no decision may rely on the list of people while one is added.
  if ('person' in row) return [{ kind: 'person', object: row.person.id, account: INSTALLATION }];
  if (row.table === 'catalog') return [{ kind: 'catalog', object: 0, account: INSTALLATION }];
  return [];
}

function ofAccount(id: number): ChangeNotice {
  return { kind: 'account', object: id, account: id };
}

function ofKey(id: number, account: number): ChangeNotice {
  return { kind: 'key', object: id, account };
}
