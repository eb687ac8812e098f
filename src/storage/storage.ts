// The door of what both databases share: row shapes, and writes in one transaction.

export { auditRows, type SecretChange, spreadCut, writeFirstAccount, writeSecretChange } from './account-writes.ts';
export { DocumentUnreadable } from './document-shape.ts';
export type { OutboxReads } from './event-reads.ts';
export { makeOutbox, takeLead } from './event-writes.ts';
export { makeExportJobStore } from './export-rows.ts';
export type { SignInDatabase, Throttle } from './sign-in-database.ts';
export type { HoldsOfNodes, StoreSurvey } from './store-survey.ts';
export type { MaintenanceResult, Stores } from './stores.ts';
