// What a batch tells other nodes: that what they remember has changed, or what they may be deciding by. Written last in its
// transaction, so that the epoch's row, for which all such transactions wait, is had for the shortest time. What messages do is
// never told.

import type { DecidedAt } from '../../audit/audit.ts';
import { bounds } from '../../config.ts';
import { type Changes, type NewEntry, type Operation, Outpaced } from '../../ledger/ledger.ts';
import type { AlongsideRow } from '../alongside.ts';
import type { CheckedAsk } from './alongside.ts';
import { arrayOf } from './columns.ts';

/** One row of what is told. */
interface Told {
  kind: 'account' | 'key' | 'token' | 'person' | 'catalog' | 'credit' | 'cut';
  object: number;
  /** By whose changes it may outpace: 0 is the installation's own. Null: nothing is decided by it that is not the ledger's to decide. */
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
 * A row where something was changed between the epoch $1 and the one that was raised: of the account $2, of the installation, or,
 * with $3, of anybody. A statement of its own: only one that begins when the lock is had sees all that was committed before it.
 */
const FIND_OUTPACING = `
  SELECT e.epoch FROM change_epoch e WHERE e.is_only = 1 AND (e.kept_after > $1::bigint OR EXISTS (
    SELECT 1 FROM changes c WHERE c.epoch > $1::bigint AND c.epoch < e.epoch
      AND (c.account_id = ${INSTALLATION} OR c.account_id = $2::bigint OR ($3::int = 1 AND c.account_id IS NOT NULL))))`;

/**
 * What tells of a batch; nothing where it changes nothing that is told. `operations` are those of it that may be, decided or
 * refused. Throws Outpaced, as the statements' checks do.
 */
export function raiseEpoch(operations: readonly Operation[], changes: Changes, nowMs: number): CheckedAsk[] {
  const alongside = changes.alongside as readonly AlongsideRow[];
  const told = [...operationsTold(operations, changes), ...alongside.flatMap(rowTold)];
  const [decidedAt, ...others] = alongside.flatMap((row) => ('since' in row ? [row.since] : []));
  if (told.length === 0 && decidedAt === undefined) return [];
  if (others.length > 0) throw new Outpaced('of changes that come in one batch, each is decided without the others');
  return [raise(told, nowMs), ...(decidedAt === undefined ? [] : [refuseOutpaced(decidedAt)])];
}

function raise(told: readonly Told[], nowMs: number): CheckedAsk {
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
      if (found.length > 0) throw new Outpaced('what it was decided by has been changed since');
    },
  };
}

/** One that was refused changed nothing. */
function operationsTold(operations: readonly Operation[], { accounts, keys, entries }: Changes): Told[] {
  if (operations.length === 0) return [];
  const terms = operations.flatMap((operation): Told[] => {
    if (operation.kind === 'set-account' && accounts.has(operation.account)) return [ofAccount(operation.account)];
    if (operation.kind === 'set-key' && keys.has(operation.key)) return [ofKey(operation.key, operation.account)];
    return [];
  });
  const credits = entries.filter(({ kind }) => CREDITS.has(kind));
  return [...terms, ...credits.map((entry): Told => ({ kind: 'credit', object: entry.account, account: null }))];
}

/** A key's new secret comes with the key's own row. */
function rowTold(row: AlongsideRow): Told[] {
  if ('rehash' in row) return [];
  if ('cut' in row) return [{ kind: 'cut', object: row.cut, account: null }];
  if ('account' in row) return [ofAccount(row.account.id)];
  if ('key' in row) return [ofKey(row.key.id, row.key.accountId)];
  if ('token' in row) return [{ kind: 'token', object: row.token.id, account: row.token.accountId ?? INSTALLATION }];
  // An e-mail is one person's, of whichever account: nobody decides by who there is while somebody comes.
  if ('person' in row) return [{ kind: 'person', object: row.person.id, account: INSTALLATION }];
  if (row.table === 'catalog') return [{ kind: 'catalog', object: 0, account: INSTALLATION }];
  return [];
}

function ofAccount(id: number): Told {
  return { kind: 'account', object: id, account: id };
}

function ofKey(id: number, account: number): Told {
  return { kind: 'key', object: id, account };
}
