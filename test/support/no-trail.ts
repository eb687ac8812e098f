// For tests that write to stores without an admin API before them. No tests of its own.

import type { Trail } from '../../src/audit/audit.ts';

/** Leaves nothing beside a change. */
export const noTrail: Trail = { audit: [], creation: null };
