// Notices when all targets of a provider fail, and when one of them answers again. Each node sees its own messages; the
// state is shared in the store, so that each change is reported once.

import { integerOf } from '../base/checked-number.ts';
import type { Clock } from '../base/clock.ts';
import type { EventStore, NewEvent } from '../events/events.ts';
import type { TargetHealth } from '../gateway/gateway.ts';
import { Outpaced } from '../ledger/ledger.ts';

export interface WatchParts {
  events: EventStore;
  /** States of the targets used by this node. */
  health(): readonly TargetHealth[];
  clock: Clock;
}

type State = { isFailing: false } | { isFailing: true; sinceMs: number };

export class ProviderWatch {
  readonly #parts: WatchParts;
  readonly #seen = new Map<string, boolean>();

  constructor(parts: WatchParts) {
    this.#parts = parts;
  }

  /** Throws store_unavailable; the change is noticed again in the next round. */
  async round(): Promise<void> {
    for (const [provider, state] of statesOf(this.#parts.health(), this.#parts.clock.nowMs())) {
      if (this.#seen.get(provider) === state.isFailing) continue;
      await this.#report(provider, state);
      this.#seen.set(provider, state.isFailing);
    }
  }

  async #report(provider: string, state: State): Promise<void> {
    const { events, clock } = this.#parts;
    const name = `provider_failing_since_ms:${provider}`;
    const before = await events.readFact(name);
    if (state.isFailing === (before !== '')) return; // another node has reported it, or nothing happened
    const atMs = clock.nowMs();
    const sinceMs = state.isFailing ? state.sinceMs : integerOf(before);
    const since = new Date(sinceMs).toISOString();
    const type = state.isFailing ? 'provider.failing' : 'provider.recovered';
    const event: NewEvent = { atMs, account: null, type, data: { provider, since }, dedupe: null };
    try {
      await events.changeFact({ name, from: before, to: state.isFailing ? String(sinceMs) : '' }, [event]);
    } catch (failure) {
      if (!(failure instanceof Outpaced)) throw failure; // else another node was first
    }
  }
}

/** By provider. It fails when every target that this node has used is open. Pure. */
export function statesOf(targets: readonly TargetHealth[], nowMs: number): Map<string, State> {
  const states = new Map<string, State>();
  for (const { provider, state, lastFailure } of targets) {
    const sinceMs = lastFailure?.atMs ?? nowMs;
    const before = states.get(provider);
    if (state !== 'open' && state !== 'half_open') states.set(provider, { isFailing: false });
    else if (before === undefined) states.set(provider, { isFailing: true, sinceMs });
    else if (before.isFailing) states.set(provider, { isFailing: true, sinceMs: Math.min(before.sinceMs, sinceMs) });
  }
  return states;
}
