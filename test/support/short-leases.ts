// Preloaded into services that tests run over PostgreSQL: shortens leases, so that holds of a killed node end soon.
// Changes only these two durations.

import { bounds } from '../../src/config/config.ts';

const lengths = bounds as { leaseMs: number; leaseRenewMs: number };
lengths.leaseMs = 3_000;
lengths.leaseRenewMs = 1_000;
