// The tables of the in-memory store.

import type {
  AccessToken,
  Account,
  DirectoryGroup,
  Key,
  MailedLink,
  Person,
  SavedView,
  SignUp,
  TagSet,
} from '../../../src/accounts/accounts.ts';
import type { AgentGrant, DeviceCode } from '../../../src/agents/agents.ts';
import type { AuditRecord, RememberedCreation } from '../../../src/audit/audit.ts';
import type { Batch, BatchPart, ItemResult } from '../../../src/batches/batches.ts';
import type { BillSource, StoredBill } from '../../../src/bills/bills.ts';
import type { CatalogDocument } from '../../../src/catalog/catalog.ts';
import type { Delivery, Destination, QueuedMail } from '../../../src/delivery/delivery.ts';
import type { StoredEvent } from '../../../src/events/events.ts';
import type { ExportRun, ExportSchedule } from '../../../src/exports/exports.ts';
import type { StoredFile } from '../../../src/files/files.ts';
import type { Incident } from '../../../src/incidents/incidents.ts';
import type {
  AccountRow,
  DailyTotal,
  Ending,
  HoldRow,
  IdempotencyRow,
  KeyRow,
  LeaseRow,
  MonthChange,
  NewEntry,
  PersonRow,
  StoredAnswer,
  UnitTotal,
} from '../../../src/ledger/ledger.ts';
import type { CodeBatch, StoredCode } from '../../../src/payments/payments.ts';
import type { RefusalCount, RouteHour, StoredRefusal } from '../../../src/traffic/traffic.ts';
import type { PaymentTables } from './payments.ts';
import type { ScimTables } from './scim.ts';

export type OwnedAnswer = StoredAnswer & { account: number };

/** All tables. Rows are values and never altered. */
export interface MemoryTables extends PaymentTables, ScimTables {
  accountMeters: Map<number, AccountRow>;
  keyMeters: Map<number, KeyRow>;
  personMeters: Map<number, PersonRow>;
  holds: Map<string, HoldRow>;
  leases: Map<string, LeaseRow>;
  /** By key and name. */
  claims: Map<string, IdempotencyRow>;
  entries: NewEntry[];
  /** In the order they ended. */
  endings: Map<string, Ending>;
  totals: Map<string, DailyTotal>;
  unitTotals: Map<string, UnitTotal>;
  /** By account and month. */
  monthChanges: Map<string, MonthChange>;
  accounts: Map<number, Account>;
  keys: Map<number, Key>;
  /** By the hash of the secret. */
  keySecrets: Map<string, { keyId: number; expiresAtMs: number | null }>;
  tokens: Map<number, { token: AccessToken; secretHash: string }>;
  people: Map<number, { person: Person; linkHash: string | null }>;
  directoryGroups: Map<number, DirectoryGroup>;
  /** In the order they were made. */
  audit: AuditRecord[];
  creations: Map<string, RememberedCreation>;
  catalog: Map<string, CatalogDocument>;
  /** Bounds by name, so that a test can lower them. */
  bounds: Map<string, number>;
  /** By request id, the oldest first. */
  answers: Map<string, OwnedAnswer>;
  /** Amounts that accounts paid for their responses, and the day of the last one. */
  answerShares: Map<number, { paid: number; day: number }>;
  /** Credits whose entries were dropped, by account and reference. */
  carriedCredits: Map<string, number>;
  /** By model. */
  learned: Map<string, unknown>;
  installation: Map<string, string>;
  codeBatches: Map<number, CodeBatch>;
  /** By the hash of the code. */
  codes: Map<string, StoredCode>;
  agentGrants: Map<number, AgentGrant>;
  savedViews: Map<number, SavedView>;
  /** By person and client. */
  agentKeys: Map<string, number>;
  /** By the hash of the code. */
  deviceCodes: Map<string, DeviceCode>;
  /** In the order they were stored. */
  events: Map<number, StoredEvent & { dedupe: string | null }>;
  destinations: Map<number, Destination>;
  exports: Map<number, ExportSchedule>;
  exportRuns: Map<string, ExportRun>;
  deliveries: Map<number, Delivery>;
  mails: Map<number, QueuedMail>;
  /** By the hash of the secret. */
  mailedLinks: Map<string, MailedLink>;
  /** In the order they were made. */
  signUps: SignUp[];
  /** By seq. */
  refusals: Map<number, StoredRefusal & Pick<RefusalCount, 'scope'>>;
  /** By hour, route and source. */
  routeHours: Map<string, RouteHour>;
  /** By provider. */
  billSources: Map<string, BillSource>;
  /** By provider and day. */
  bills: Map<string, StoredBill>;
  /** By seq. */
  incidents: Map<number, Incident>;
  /** By id. */
  files: Map<number, StoredFile>;
  batches: Map<number, Batch>;
  /** By batch and place. */
  batchResults: Map<number, Map<number, ItemResult>>;
  batchParts: Map<number, Map<number, BatchPart>>;
  tagSets: TagSet[];
}
