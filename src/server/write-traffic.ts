// Stores the counts of refused requests every few seconds, and before they are read here: a few rows per transaction, so
// that no message waits for them. What a crash loses is bounded by the interval.

import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import { describeFailure, type LogWriter } from '../observability/observability.ts';
import type { Stores } from '../storage/storage.ts';
import type { RefusalCounts } from '../traffic/traffic.ts';

export interface CountedTraffic {
  refusals: Pick<RefusalCounts, 'take' | 'putBack'>;
  log: Pick<LogWriter, 'writeEvent'>;
}

export class TrafficWriter {
  readonly #counted: CountedTraffic;
  readonly #store: Stores['traffic'];
  #last: Promise<void> = Promise.resolve();

  constructor(counted: CountedTraffic, store: Stores['traffic']) {
    this.#counted = counted;
    this.#store = store;
  }

  /** Begins to store the counts. The returned function stores what is left, and resolves within a bounded time. */
  start(): () => Promise<void> {
    const timer = setInterval(() => void this.write(), bounds.trafficWriteMs);
    timer.unref();
    return async () => {
      clearInterval(timer);
      await Promise.race([this.write(), Bun.sleep(bounds.trafficLastWriteMsMax)]);
    };
  }

  /** Stores all counts, one write after another. What the store does not take is stored later. Never rejects. */
  write(): Promise<void> {
    this.#last = this.#last.then(() => this.#writeRefusals());
    return this.#last;
  }

  /** The same store, whose reads have what this node has counted. */
  get store(): Stores['traffic'] {
    const store = this.#store;
    return {
      ...store,
      listRefusals: async (page, requester) => {
        await this.write();
        return store.listRefusals(page, requester);
      },
      totalRefusals: async (question, requester) => {
        await this.write();
        return store.totalRefusals(question, requester);
      },
    };
  }

  async #writeRefusals(): Promise<void> {
    const { refusals, log } = this.#counted;
    const counts = refusals.take();
    for (let at = 0; at < counts.length; at += bounds.trafficRowsAtOnce)
      try {
        await this.#store.addRefusals(counts.slice(at, at + bounds.trafficRowsAtOnce));
      } catch (failure) {
        refusals.putBack(counts.slice(at));
        // The ledger reports an unavailable store already.
        const isKnown = failure instanceof TurnpikeError;
        if (!isKnown) log.writeEvent('traffic_not_stored', { cause: describeFailure(failure) });
        return;
      }
  }
}
