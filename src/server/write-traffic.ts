// Stores the counts of refused requests and of attempts at routes every few seconds, and before they are read here: a few rows per transaction, so
// that no message waits for them. What a crash loses is bounded by the interval.

import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { describeFailure, type LogWriter } from '../observability/observability.ts';
import type { Stores } from '../storage/storage.ts';
import type { RefusalCounts, RouteCounter } from '../traffic/traffic.ts';

export interface CountedTraffic {
  refusals: Pick<RefusalCounts, 'take' | 'putBack'>;
  routes: Pick<RouteCounter, 'take' | 'putBack'>;
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
    this.#last = this.#last.then(() => this.#writeAll());
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
      listRouteHours: async (sinceMs) => {
        await this.write();
        return store.listRouteHours(sinceMs);
      },
    };
  }

  async #writeAll(): Promise<void> {
    const { refusals, routes } = this.#counted;
    const store = this.#store;
    if (!(await this.#writeRows(refusals, (counts) => store.addRefusals(counts)))) return;
    await this.#writeRows(routes, (hours) => store.putRouteHours(hours));
  }

  /** Whether the store took all of them. */
  async #writeRows<Row>(
    counted: { take(): Row[]; putBack(rows: readonly Row[]): void },
    write: (rows: readonly Row[]) => Promise<void>,
  ): Promise<boolean> {
    const rows = counted.take();
    for (let at = 0; at < rows.length; at += bounds.trafficRowsAtOnce)
      try {
        await write(rows.slice(at, at + bounds.trafficRowsAtOnce));
      } catch (failure) {
        counted.putBack(rows.slice(at));
        // The ledger reports an unavailable store already.
        const isKnown = failure instanceof TurnpikeError;
        if (!isKnown) this.#counted.log.writeEvent('traffic_not_stored', { cause: describeFailure(failure) });
        return false;
      }
    return true;
  }
}
