// Reports scheduled prices that have taken effect. Prices change by themselves on every node; this only says so, once.

import { type Clock, DAY_MS } from '../base/clock.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { EventStore, NewEvent } from '../events/events.ts';

interface WatchParts {
  stores: { events: Pick<EventStore, 'emit'> };
  catalog(): Catalog;
  clock: Clock;
}

export async function watchPrices({ stores, catalog, clock }: WatchParts): Promise<void> {
  const events = eventsOfPricesInForce(catalog(), clock.nowMs());
  if (events.length > 0) await stores.events.emit(events);
}

/** The events of prices in force that took effect within a day. Pure. */
export function eventsOfPricesInForce({ models, patterns }: Catalog, nowMs: number): NewEvent[] {
  const written = [...models.values(), ...patterns.values()].filter(({ entry }) => entry === null);
  return written.flatMap(({ name: model, price: { fromMs } }): NewEvent[] => {
    if (fromMs === 0 || fromMs > nowMs || fromMs <= nowMs - DAY_MS) return [];
    const data = { model, from: new Date(fromMs).toISOString() };
    return [{ atMs: nowMs, account: null, type: 'price.changed', data, dedupe: `price.changed:${model}:${fromMs}` }];
  });
}
