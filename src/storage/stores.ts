// The stores that the modules declare, assembled from the reads of a database and the ledger's gate.

import type {
  AccountStore,
  DirectoryGroupStore,
  NameSearches,
  PersonStore,
  SavedViewStore,
  ScimStore,
  SignUpStore,
  TagSetStore,
  TokenStore,
} from '../accounts/accounts.ts';
import type { AgentStore } from '../agents/agents.ts';
import type { AuditStore } from '../audit/audit.ts';
import { integerOf } from '../base/checked-number.ts';
import type { BatchStore } from '../batches/batches.ts';
import type { BillStore } from '../bills/bills.ts';
import type { CatalogStore } from '../catalog/catalog.ts';
import type { DeliveryStore, DestinationStore, MailStore } from '../delivery/delivery.ts';
import { TurnpikeError } from '../errors.ts';
import type { EventStore } from '../events/events.ts';
import type { ExportStore } from '../exports/exports.ts';
import type { FileStore } from '../files/files.ts';
import type { IncidentStore } from '../incidents/incidents.ts';
import {
  type AnswerStore,
  type LedgerGate,
  type LedgerReader,
  type RetainedData,
  type RetentionStore,
  retainedSinceNames,
} from '../ledger/ledger.ts';
import type { CodeStore, PaymentStore } from '../payments/payments.ts';
import type { MonthStore, UsageStore } from '../reports/reports.ts';
import type { InstallationStore } from '../secrets/secrets.ts';
import type { SampleStore } from '../usage/usage.ts';
import {
  accountWrites,
  catalogWrites,
  directoryWrites,
  installationWrites,
  mailWrites,
  personWrites,
  sampleWrites,
  scimWrites,
  signUpWrites,
  tokenWrites,
} from './account-writes.ts';
import { type AgentReads, agentWrites } from './agent-rows.ts';
import { type BatchReads, batchWrites } from './batch-rows.ts';
import { type BillReads, billWrites } from './bill-rows.ts';
import { answerRow, type CoCommittedRow } from './co-committed.ts';
import { type CodeReads, codeWrites } from './code-rows.ts';
import { DocumentUnreadable } from './document-shape.ts';
import { deliveryWrites, destinationWrites, eventWrites } from './event-writes.ts';
import { type ExportReads, exportWrites } from './export-rows.ts';
import { type FileReads, fileWrites } from './file-rows.ts';
import { type IncidentReads, incidentWrites } from './incident-rows.ts';
import type { MailReads } from './mail-rows.ts';
import type { ScimReads } from './scim-rows.ts';
import { tagSetWrites } from './tag-set-rows.ts';
import { type TrafficStore, trafficWrites } from './traffic-rows.ts';
import { type ViewReads, viewWrites } from './view-rows.ts';

export type RetentionReads = Pick<RetentionStore, 'countForgotten' | 'countToCarry' | 'listToCarry'>;

/** The result of maintenance; months as 202611. */
export interface MaintenanceResult {
  monthsMade: number[];
  monthsDropped: number[];
  /** Months past retention that were locked all the time. To be retried in a minute. */
  monthsLeft: number[];
  leasesDropped: number;
  daysRolledUp: number;
}

/** Assembles a RetentionStore from a database's reads and the ledger's gate. */
function retentionStore(
  gate: LedgerGate,
  reads: RetentionReads & Pick<InstallationStore, 'readInstallation'>,
): RetentionStore {
  const submit = async (row: CoCommittedRow) => {
    await gate.submit({ operations: [], coCommitted: [row] });
  };
  const retainedSince = async (kept: RetainedData) => {
    const value = await reads.readInstallation(retainedSinceNames[kept]);
    return value === null ? null : integerOf(value);
  };
  return {
    countForgotten: reads.countForgotten,
    countToCarry: reads.countToCarry,
    listToCarry: reads.listToCarry,
    retainedSince,
    async keepSince(kept, sinceMs) {
      const before = await retainedSince(kept);
      if (before !== null && before >= sinceMs) return;
      const replaces = before === null ? null : String(before);
      await submit({ table: 'installation', name: retainedSinceNames[kept], value: String(sinceMs), replaces });
    },
    forget: (table, beforeMs) => submit({ table, forget: { beforeMs } }),
    carry: (account, beforeMs) => submit({ table: 'entries', carry: { account, beforeMs } }),
  };
}

export interface Stores {
  gate: LedgerGate;
  accounts: AccountStore;
  tokens: TokenStore;
  people: PersonStore;
  directoryGroups: DirectoryGroupStore;
  audit: AuditStore;
  catalog: CatalogStore;
  ledger: LedgerReader & MonthStore;
  usage: UsageStore;
  answers: AnswerStore;
  installation: InstallationStore;
  retention: RetentionStore;
  samples: SampleStore;
  names: NameSearches;
  payments: PaymentStore;
  codes: CodeStore;
  bills: BillStore;
  incidents: IncidentStore;
  files: FileStore;
  batches: BatchStore;
  agents: AgentStore;
  savedViews: SavedViewStore;
  events: EventStore;
  destinations: DestinationStore;
  deliveries: DeliveryStore;
  exports: ExportStore & ExportReads;
  mails: MailStore;
  signUps: SignUpStore;
  scim: ScimStore;
  traffic: TrafficStore;
  tagSets: TagSetStore;
}

/** Lists and reports over data that grows without bound. */
export type ReportReads = Omit<UsageStore, 'getUsage'> &
  Pick<AccountStore, 'sortAccounts' | 'sortKeys'> &
  MonthStore &
  Pick<LedgerReader, 'listEntries' | 'listHolds'> &
  Pick<AuditStore, 'listAudit'> &
  Pick<EventStore, 'listEvents'> &
  Pick<DeliveryStore, 'listDeliveries'> &
  NameSearches &
  Omit<TrafficStore, keyof ReturnType<typeof trafficWrites>>;

/** Reads of accounts, keys, tokens, people and creations: one row or one page by an index each. */
export type AccessReads = Omit<AccountStore, keyof ReturnType<typeof accountWrites> | keyof ReportReads> &
  Omit<TokenStore, keyof ReturnType<typeof tokenWrites>> &
  Omit<PersonStore, keyof ReturnType<typeof personWrites>> &
  Omit<DirectoryGroupStore, keyof ReturnType<typeof directoryWrites>> &
  Omit<AuditStore, keyof ReportReads>;

/** Short reads of committed data by an index. */
export type ShortReads = AccessReads &
  PaymentStore &
  CodeReads &
  BillReads &
  IncidentReads &
  FileReads &
  BatchReads &
  AgentReads &
  ViewReads &
  Pick<CatalogStore, 'loadCatalog'> &
  Pick<InstallationStore, 'readInstallation'> &
  Pick<SampleStore, 'loadSamples'> &
  Pick<AnswerStore, 'findAnswer'> &
  Pick<EventStore, 'getEvent'> &
  Pick<DeliveryStore, 'getDelivery' | 'countDeliveries'> &
  Omit<DestinationStore, keyof ReturnType<typeof destinationWrites>> &
  MailReads &
  ScimReads &
  Pick<TagSetStore, 'findTagSet'> &
  ExportReads &
  Omit<LedgerReader, keyof ReportReads> &
  Omit<UsageStore, keyof ReportReads>;

/** Writes go through `gate`. */
export function assembleStores(
  gate: LedgerGate,
  reads: ShortReads,
  reports: ReportReads,
  retentionReads: RetentionReads,
): Stores {
  const all = { ...reads, ...reports };
  return {
    gate,
    accounts: { ...all, ...accountWrites(gate) },
    tokens: { ...all, ...tokenWrites(gate) },
    people: { ...all, ...personWrites(gate) },
    directoryGroups: { ...all, ...directoryWrites(gate) },
    audit: all,
    catalog: { ...all, ...catalogWrites(gate) },
    ledger: all,
    usage: all,
    names: all,
    answers: { ...all, answerRow },
    installation: { ...all, ...installationWrites(gate) },
    payments: all,
    samples: { ...all, ...sampleWrites(gate) },
    codes: { ...all, ...codeWrites(gate) },
    bills: { ...all, ...billWrites(gate) },
    incidents: { ...all, ...incidentWrites(gate) },
    files: { ...all, ...fileWrites(gate) },
    batches: { ...all, ...batchWrites(gate) },
    agents: { ...all, ...agentWrites(gate) },
    savedViews: { ...all, ...viewWrites(gate) },
    events: { ...all, readFact: async (name) => (await reads.readInstallation(name)) ?? '', ...eventWrites(gate) },
    destinations: { ...all, ...destinationWrites(gate) },
    deliveries: { ...all, ...deliveryWrites(gate) },
    exports: { ...all, ...exportWrites(gate) },
    mails: { ...all, ...mailWrites(gate) },
    signUps: { ...all, ...signUpWrites(gate) },
    scim: { ...all, ...scimWrites(gate) },
    traffic: { ...all, ...trafficWrites(gate) },
    tagSets: { ...all, ...tagSetWrites(gate) },
    retention: retentionStore(gate, { ...all, ...retentionReads }),
  };
}

type Reads = Record<string, (...values: never[]) => Promise<unknown>>;

/** The same functions. Errors that they throw become store_unavailable. */
export function guardReads<Functions extends object>(reads: Functions): Functions {
  return mapReads(reads, async (read) => {
    try {
      return await read();
    } catch (cause) {
      if (cause instanceof TurnpikeError) throw cause; // the request is at fault
      if (cause instanceof DocumentUnreadable) throw cause; // the store can be read
      throw new TurnpikeError('store_unavailable', 'The store cannot be read.', { cause });
    }
  });
}

/** The same functions, which see everything that the gate has decided before. */
export function readsAfterFlush<Functions extends object>(gate: LedgerGate, reads: Functions): Functions {
  return mapReads(reads, async (read) => {
    await gate.flush?.();
    return read();
  });
}

function mapReads<Functions extends object>(
  reads: Functions,
  around: (read: () => Promise<unknown>) => Promise<unknown>,
): Functions {
  const mapped = Object.entries(reads as unknown as Reads).map(([name, read]) => [
    name,
    (...values: never[]) => around(() => read(...values)),
  ]);
  return Object.fromEntries(mapped) as Functions;
}
