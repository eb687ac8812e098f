// A node's way to the ledger in PostgreSQL: lanes for accounts and one for leases, each with one batch at a time. Which lane a bundle
// takes is for speed alone: what is exact is so by the locks of rows, whatever the lanes.

import { type Clock, systemClock } from '../../base/clock.ts';
import { machineTimers, within } from '../../base/timers.ts';
import { bounds } from '../../config.ts';
import { type Answer, type BatchFacts, type Bundle, GroupCommit, type LedgerGate } from '../../ledger/ledger.ts';
import { type LaneOptions, PostgresLedgerStore } from './ledger-store.ts';
import { accountOf } from './load-rows.ts';

export interface GateOptions extends LaneOptions {
  lanes?: number;
}

interface Lane {
  store: PostgresLedgerStore;
  commit: GroupCommit;
  /** Its batches at the last lease operation. */
  batchesSeen: number;
}

export class PostgresGate implements LedgerGate {
  /** Called for each batch, before its answers are delivered. */
  onCommitted: (facts: BatchFacts) => void = () => {};
  /** The database's time as of the last batch. */
  readonly clock: Clock;
  readonly #accountLanes: readonly Lane[];
  readonly #leaseLane: Lane;
  /** Accounts of running messages, because some operations name only the message. The oldest are evicted first. */
  readonly #accountByMessage = new Map<string, number>();
  #aheadMs = 0;

  /** Connects at the first operation. Requires existing tables (`prepareDatabase`). */
  constructor(url: string, { lanes = bounds.ledgerLanes, ...options }: GateOptions = {}) {
    this.clock = options.clock ?? systemClock(() => Date.now() + this.#aheadMs);
    this.#accountLanes = Array.from({ length: lanes }, () => this.#openLane(url, options));
    this.#leaseLane = this.#openLane(url, options);
  }

  batches(): number {
    return this.#lanes().reduce((sum, { commit }) => sum + commit.batches(), 0);
  }

  async submit(bundle: Bundle): Promise<Answer[]> {
    if (isOfLeases(bundle)) return await this.#submitOfLeases(bundle);
    return await this.#laneOf(bundle).commit.submit(bundle);
  }

  /** Waits for pending operations and closes the connections. */
  async close(): Promise<void> {
    const used = this.#lanes().filter(({ commit }) => commit.batches() > 0);
    const inProgress = used.map(({ commit }) => commit.submit({ operations: [] })); // after everything before it
    const late = () => new Error('the database does not answer');
    await within(machineTimers, bounds.commitOutcomeWaitMsMax, Promise.allSettled(inProgress), late).catch(() => {});
    await Promise.all(this.#lanes().map(({ store }) => store.close()));
  }

  /** Ends a bounded number of lapsed holds per operation; repeats while there may be more. */
  async #submitOfLeases(bundle: Bundle): Promise<Answer[]> {
    this.#wakeLanes();
    const answers = await this.#leaseLane.commit.submit(bundle);
    const at = answers.findIndex((answer) => answer.ok && answer.kind === 'expired');
    let holds = 0;
    let last = answers[at];
    while (last?.ok && last.kind === 'expired') {
      holds += last.holds;
      answers[at] = { ...last, holds };
      if (last.holds < bounds.holdsExpiredAtOnce) break;
      [last] = await this.#leaseLane.commit.submit({ operations: [{ kind: 'expire' }] });
    }
    return answers;
  }

  /**
   * An idle connection may have been lost silently since the last renewal, or not be open yet: no message should find
   * that out.
   */
  #wakeLanes(): void {
    for (const lane of this.#accountLanes) {
      const isRested = lane.commit.batches() === lane.batchesSeen;
      if (isRested) lane.commit.submit({ operations: [] }).catch(() => {}); // the next message gets the error
      lane.batchesSeen = lane.commit.batches();
    }
  }

  #laneOf(bundle: Bundle): Lane {
    const account = accountOf(bundle) ?? this.#recallAccount(bundle) ?? 0;
    this.#rememberAccounts(bundle);
    return this.#accountLanes[account % this.#accountLanes.length] as Lane;
  }

  #recallAccount({ operations }: Bundle): number | undefined {
    const [operation] = operations;
    return operation !== undefined && 'requestId' in operation
      ? this.#accountByMessage.get(operation.requestId)
      : undefined;
  }

  #rememberAccounts({ operations }: Bundle): void {
    for (const operation of operations) {
      if (operation.kind === 'admit') this.#accountByMessage.set(operation.requestId, operation.account);
      else if ('record' in operation) this.#accountByMessage.delete(operation.requestId);
    }
    if (this.#accountByMessage.size > bounds.messagesRoutedMax)
      this.#accountByMessage.delete(this.#accountByMessage.keys().next().value as string);
  }

  #openLane(url: string, options: LaneOptions): Lane {
    const store = new PostgresLedgerStore(url, options);
    store.onTime = (nowMs) => {
      this.#aheadMs = nowMs - Date.now();
    };
    return { store, commit: new GroupCommit(store, (facts) => this.onCommitted(facts)), batchesSeen: 0 };
  }

  #lanes(): Lane[] {
    return [...this.#accountLanes, this.#leaseLane];
  }
}

function isOfLeases({ operations }: Bundle): boolean {
  return operations.some(({ kind }) => kind === 'renew' || kind === 'expire');
}
