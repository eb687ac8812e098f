// Whether what nodes did at once could have been done one after the other: each decision is made once more over the store in memory,
// in the order of the history, and must come to the same answers and the same changes.

import { isDeepStrictEqual } from 'node:util';
import { bounds } from '../../../../src/config/config.ts';
import { applyBatch, type HoldRow, type LeaseRow, RESERVED, type Rows } from '../../../../src/ledger/ledger.ts';
import { MemoryLedgerStore } from '../../../support/memory-store/memory-store.ts';
import { findUnlike, findUnlikeRows } from '../replay.ts';
import { memoryRows, type StoredRows } from '../stored-rows.ts';
import type { Decision } from './history.ts';

/** A lease as it was once, and the decision that made it so. */
interface LeaseVersion {
  lease: LeaseRow | undefined;
  ended: number;
}

export class Judge {
  readonly #store = new MemoryLedgerStore({ nowMs: () => 0 }); // each decision has its own time
  readonly #leases = new Map<string, LeaseVersion[]>();
  /** When it was known that a message had been admitted. */
  readonly #admitted = new Map<string, number>();
  readonly #latest = new Map<number, number>();

  /** Null, or what is wrong with the next decision. Those that were not made have changed nothing. */
  next(decision: Decision): string | null {
    if (!decision.isMade) return null;
    const isOfLeases = decision.bundles.some(({ operations }) => operations.some(changesLeases));
    const fault =
      this.#findWrongTime(decision) ??
      (isOfLeases ? this.#findWrongLeases(decision) : this.#findPastLeases(decision)) ??
      this.#repeat(decision, isOfLeases);
    for (const lease of decision.changes.leases.values())
      this.#versions(lease.node).push({ lease, ended: decision.ended });
    for (const requestId of decision.changes.holds.keys())
      if (!this.#admitted.has(requestId)) this.#admitted.set(requestId, decision.ended);
    return fault;
  }

  /** Null, or what of the rows is not as the history has it. Rows that are numbered come in any order. */
  compareRows(stored: StoredRows): string | null {
    const inOrder = (rows: StoredRows): StoredRows => ({
      ...rows,
      entries: sortByText(rows.entries, ({ account, atMs, debit, credit, amount, kind, reference, note }) =>
        [account, atMs, debit, credit, amount, kind, reference, note].join(),
      ),
      endings: sortByText(rows.endings, ({ record }) => record.requestId),
    });
    return findUnlikeRows(inOrder(memoryRows(this.#store.tables)), inOrder(stored));
  }

  /** Null, or why not all of it is the same once more. */
  #repeat(decision: Decision, isOfLeases: boolean): string | null {
    let fault: string | null = null;
    this.#store.transact(decision.bundles, (stored) => {
      const rows = rowsOf(stored, decision);
      fault = isOfLeases ? this.#findForgotten(stored, decision) : null;
      const decided = applyBatch(rows, decision.bundles);
      fault ??= findUnlike(decided, decision);
      return decided.changes;
    });
    return fault;
  }

  /** The time of an account's rows never goes back. */
  #findWrongTime({ nowMs, changes }: Decision): string | null {
    for (const account of changes.accounts.keys()) {
      const before = this.#latest.get(account) ?? 0;
      if (nowMs < before) return `at ${nowMs} ${account} is changed, which was changed at ${before}`;
      this.#latest.set(account, nowMs);
    }
    return null;
  }

  /** Who changes leases has locked all of them, but for those of nodes that were new meanwhile. */
  #findWrongLeases({ leases, begun }: Decision): string | null {
    const seen = new Map(leases.map((lease) => [lease.node, lease]));
    for (const [node, lease] of this.#store.tables.leases) {
      const isNew = (this.#versions(node)[1]?.ended ?? Infinity) > begun;
      if (!isDeepStrictEqual(seen.get(node), lease) && !(isNew && !seen.has(node)))
        return `${JSON.stringify(seen.get(node))} was seen, and ${JSON.stringify(lease)} stands`;
    }
    return null;
  }

  /** An admission sees each lease as it was at the beginning, or as it became since. */
  #findPastLeases({ bundles, leases, begun }: Decision): string | null {
    if (!bundles.some(({ operations }) => operations.some(({ kind }) => kind === 'admit'))) return null;
    for (const [node, versions] of this.#leases) {
      const seen = leases.find((lease) => lease.node === node);
      const last = versions.findLastIndex(({ ended }) => ended < begun);
      if (!versions.slice(Math.max(0, last)).some(({ lease }) => isDeepStrictEqual(lease, seen)))
        return `${JSON.stringify(seen)} was seen, which ${node} had no more when that was begun`;
    }
    return null;
  }

  /**
   * Lapsed holds remain if they were made, or lapsed, after the pass began, and the next pass ends them; so do those
   * of accounts that are locked by others for longer than the lock timeout.
   */
  #findForgotten(stored: Rows, decision: Decision): string | null {
    const { bundles, nowMs, holds, begun, begunAtMs, decidedAtMs } = decision;
    if (!bundles.some(({ operations }) => operations.some(({ kind }) => kind === 'expire'))) return null;
    if (decidedAtMs - begunAtMs >= bounds.lockedTryMsMax) return null;
    const seen = new Set(holds.map(({ requestId }) => requestId));
    const isLapsed = ({ owner }: HoldRow, atMs: number) => {
      const lease = stored.lease(owner.node);
      return lease?.epoch !== owner.epoch || lease.expiresAtMs <= atMs;
    };
    for (const hold of stored.holds()) {
      const { requestId, owner } = hold;
      if (owner.node === RESERVED.node) continue; // has no lease
      const isNew = (this.#admitted.get(requestId) ?? Infinity) > begun;
      const isLate = !isLapsed(hold, begunAtMs);
      if (isLapsed(hold, nowMs) && !seen.has(requestId) && !isNew && !isLate)
        return `${requestId} of ${owner.node} had lapsed, and was not found`;
    }
    return null;
  }

  #versions(node: string): LeaseVersion[] {
    let versions = this.#leases.get(node);
    if (versions === undefined) {
      versions = [{ lease: undefined, ended: 0 }];
      this.#leases.set(node, versions);
    }
    return versions;
  }
}

/** As memory has them, but for leases, which were looked at before, and for which holds have lapsed. */
function rowsOf(stored: Rows, { nowMs, leases, holds }: Decision): Rows {
  const seen = new Map(leases.map((lease) => [lease.node, lease]));
  const named = new Set(holds.map(({ requestId }) => requestId));
  return {
    ...stored,
    nowMs,
    lease: (node) => seen.get(node),
    leases: () => leases,
    holds: () => [...stored.holds()].filter(({ requestId }) => named.has(requestId)),
  };
}

function changesLeases({ kind }: { kind: string }): boolean {
  return kind === 'renew' || kind === 'expire';
}

function sortByText<Row>(rows: readonly Row[], textOf: (row: Row) => string): Row[] {
  return [...rows].sort((one, other) => (textOf(one) < textOf(other) ? -1 : 1));
}
