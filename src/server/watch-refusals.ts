// Notices keys whose requests are refused again and again for one reason. Runs on the node that leads. Bounded however
// many requests are refused: an account is reported once an hour, one code of it once a day, and few accounts an hour.

import { type Clock, DAY_MS } from '../base/clock.ts';
import { formatId } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import type { NewEvent } from '../events/events.ts';
import type { Stores } from '../storage/storage.ts';
import type { RefusalTotal } from '../traffic/traffic.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

interface WatchParts {
  stores: { traffic: Pick<Stores['traffic'], 'listFrequentRefusals'>; events: Pick<Stores['events'], 'emit'> };
  clock: Clock;
}

export class RefusalWatch {
  readonly #parts: WatchParts;
  #hourMs = 0;
  /** Accounts that were reported in this hour; null: requests without a known key. */
  readonly #reported = new Set<number | null>();

  constructor(parts: WatchParts) {
    this.#parts = parts;
  }

  /** Throws store_unavailable. */
  async round(): Promise<void> {
    const { stores, clock } = this.#parts;
    const nowMs = clock.nowMs();
    if (nowMs >= this.#hourMs + HOUR_MS) {
      this.#hourMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS;
      this.#reported.clear();
    }
    const sinceMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS - bounds.rejectedWatchedMs;
    const question = { sinceMs, least: bounds.rejectedNoticeLeast, limit: bounds.rejectedReadMax };
    for (const total of await stores.traffic.listFrequentRefusals(question)) {
      if (this.#reported.has(total.account)) continue;
      // Requests without a known key belong to no account, so they take no place of one.
      if (total.account !== null && this.#reported.size >= bounds.rejectedNoticesPerHourMax) continue;
      await stores.events.emit([eventOf(total, nowMs)]);
      this.#reported.add(total.account);
    }
  }
}

function eventOf({ account, key, code, count }: RefusalTotal, nowMs: number): NewEvent {
  const day = Math.floor(nowMs / DAY_MS);
  const data = {
    key: key === null ? null : formatId('key', key),
    code: code ?? '',
    count,
    minutes: bounds.rejectedWatchedMs / MINUTE_MS,
  };
  return {
    atMs: nowMs,
    account,
    type: 'requests.rejected',
    data,
    dedupe: `requests.rejected:${account}:${code}:${day}`,
  };
}
