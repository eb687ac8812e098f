// For tests that write to stores without the admin API.

import type { AuditContext } from '../../src/audit/audit.ts';

/** An audit context that writes nothing. */
export const noAuditContext: AuditContext = { audit: [], creation: null };
