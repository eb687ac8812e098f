// The conformance suite on the in-memory store.

import { memoryStores, sumMemory } from '../support/memory-store/memory-store.ts';
import { describeStore } from './store-conformance.ts';

describeStore(
  'memory',
  (clock) => {
    const stores = memoryStores(clock);
    return { stores, sums: () => sumMemory(stores.tables), close: () => {} };
  },
  { followsClock: true },
);
