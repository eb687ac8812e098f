// A node's way to the ledger in PostgreSQL: a lane for messages and changes, and one for leases, each with one batch at a time.
// A batch costs much more than one bundle more in it, so a node has no more lanes. Rows are exact by their locks, not by lanes.

import { type Clock, systemClock } from '../../base/clock.ts';
import { machineTimers, within } from '../../base/timers.ts';
import { bounds } from '../../config/config.ts';
import {
  type Answer,
  type BatchFacts,
  type Bundle,
  type Expire,
  GroupCommit,
  type LedgerGate,
  type StuckHold,
} from '../../ledger/ledger.ts';
import { type LaneOptions, PostgresLedgerStore } from './ledger-store.ts';

interface Lane {
  store: PostgresLedgerStore;
  commit: GroupCommit;
}

export class PostgresGate implements LedgerGate {
  /** Called for each batch, before its answers are delivered. */
  onCommitted: (facts: BatchFacts) => void = () => {};
  /** The database's time as of the last batch. */
  readonly clock: Clock;
  readonly #lane: Lane;
  readonly #leaseLane: Lane;
  /** Batches of `#lane` at the last lease operation. */
  #batchesSeen = 0;
  #aheadMs = 0;

  /** Connects at the first operation. Requires existing tables (`prepareDatabase`). */
  constructor(url: string, options: LaneOptions = {}) {
    this.clock = options.clock ?? systemClock(() => Date.now() + this.#aheadMs);
    this.#lane = this.#openLane(url, options);
    this.#leaseLane = this.#openLane(url, options);
  }

  batches(): number {
    return this.#lane.commit.batches() + this.#leaseLane.commit.batches();
  }

  submit(bundle: Bundle): Promise<Answer[]> {
    return isOfLeases(bundle) ? this.#submitOfLeases(bundle) : this.#lane.commit.submit(bundle);
  }

  /** Waits for pending operations and closes the connections. */
  async close(): Promise<void> {
    const lanes = [this.#lane, this.#leaseLane];
    const used = lanes.filter(({ commit }) => commit.batches() > 0);
    const inProgress = used.map(({ commit }) => commit.submit({ operations: [] })); // after everything before it
    const late = () => new Error('the database does not answer');
    await within(machineTimers, bounds.commitOutcomeWaitMsMax, Promise.allSettled(inProgress), late).catch(() => {});
    await Promise.all(lanes.map(({ store }) => store.close()));
  }

  /** Ends a bounded number of lapsed holds per operation; repeats while there may be more. */
  async #submitOfLeases(bundle: Bundle): Promise<Answer[]> {
    this.#wakeLane();
    const answers = await this.#leaseLane.commit.submit(bundle);
    const at = answers.findIndex((answer) => answer.ok && answer.kind === 'expired');
    const stuck: StuckHold[] = [];
    const except = bundle.operations.flatMap((operation) =>
      operation.kind === 'expire' ? (operation.except ?? []) : [],
    );
    let holds = 0;
    let last = answers[at];
    while (last?.ok && last.kind === 'expired') {
      holds += last.holds;
      stuck.push(...last.stuck);
      answers[at] = { ...last, holds, stuck };
      if (last.holds + last.stuck.length < bounds.holdsExpiredAtOnce) break;
      const expiry: Expire = { kind: 'expire', except: [...except, ...stuck.map(({ requestId }) => requestId)] };
      [last] = await this.#leaseLane.commit.submit({ operations: [expiry] });
    }
    return answers;
  }

  /**
   * An idle connection may have been lost silently since the last renewal, or not be open yet: no message should find
   * that out.
   */
  #wakeLane(): void {
    const { commit } = this.#lane;
    if (commit.batches() === this.#batchesSeen) commit.submit({ operations: [] }).catch(() => {}); // the next message gets the error
    this.#batchesSeen = commit.batches();
  }

  #openLane(url: string, options: LaneOptions): Lane {
    const store = new PostgresLedgerStore(url, options);
    store.onTime = (nowMs) => {
      this.#aheadMs = nowMs - Date.now();
    };
    return { store, commit: new GroupCommit(store, (facts) => this.onCommitted(facts)) };
  }
}

function isOfLeases({ operations }: Bundle): boolean {
  return operations.some(({ kind }) => kind === 'renew' || kind === 'expire');
}
