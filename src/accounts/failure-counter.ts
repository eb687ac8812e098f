// Failed authentications by address and minute, so that guessing keys is slow. It only changes
// what a failure is answered with: a valid key never comes here.

import { subscriberNetwork } from '../base/address-range.ts';
import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';

const MINUTE_MS = 60_000;

interface Window {
  startMs: number;
  failures: number;
}

export class FailureCounter {
  /** Oldest window first. */
  readonly #windows = new Map<string, Window>();
  readonly #perMinuteMax: number;
  readonly #addressesMax: number;

  constructor(
    perMinuteMax: number = bounds.failedAuthenticationsPerMinuteMax,
    addressesMax: number = bounds.failureAddressesMax,
  ) {
    this.#perMinuteMax = perMinuteMax;
    this.#addressesMax = addressesMax;
  }

  /** Counts one failure from the address (IPv6: from its /64). Null, or what to answer once there were too many. */
  count(address: string, nowMs: number): TurnpikeError | null {
    const network = subscriberNetwork(address);
    const window = this.#windows.get(network);
    if (window === undefined || nowMs - window.startMs >= MINUTE_MS) {
      this.#open(network, nowMs);
      return null;
    }
    window.failures++;
    if (window.failures <= this.#perMinuteMax) return null;
    return new TurnpikeError('too_many_failures', 'Too many failed authentications from this address. Try later.', {
      retryAfterMs: window.startMs + MINUTE_MS - nowMs,
    });
  }

  #open(network: string, nowMs: number): void {
    this.#windows.delete(network);
    if (this.#windows.size >= this.#addressesMax) {
      const oldest = this.#windows.keys().next().value;
      if (oldest !== undefined) this.#windows.delete(oldest);
    }
    this.#windows.set(network, { startMs: nowMs, failures: 1 });
  }
}
