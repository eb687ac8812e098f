// Preloaded into services of tests over PostgreSQL: what a killed node held ends with its lease, and tests that wait for that
// should not take a quarter of a minute each. Nothing but the two lengths is another.

import { bounds } from '../../src/config.ts';

const lengths = bounds as { leaseMs: number; leaseRenewMs: number };
lengths.leaseMs = 3_000;
lengths.leaseRenewMs = 1_000;
