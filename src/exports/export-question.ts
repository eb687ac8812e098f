// The question that a file answers: its rows, the form of the file, the time and the account that it covers.

import type { AccountStore, PersonStore } from '../accounts/accounts.ts';
import type { Requester } from '../base/timers.ts';
import type { Hideable } from '../catalog/catalog.ts';
import type { LedgerReader, RetentionStore } from '../ledger/ledger.ts';
import type { UsageStore } from '../reports/reports.ts';
import type { Dimension } from './dimensions.ts';

/** `records`: a row for each message. `costs`: sums by one or two dimensions. `focus`: sums by day with FOCUS columns. */
export const exportKinds = ['records', 'costs', 'focus'] as const;
export type ExportKind = (typeof exportKinds)[number];

export const exportFormats = ['csv', 'parquet'] as const;
export type ExportFormat = (typeof exportFormats)[number];

export interface ExportQuestion {
  kind: ExportKind;
  format: ExportFormat;
  /** One or two dimensions of `costs`; empty for other kinds. */
  by: readonly Dimension[];
  /** The tag of the dimension `tag`; null without it. */
  tagName: string | null;
  /** null: all accounts. */
  account: number | null;
  /** Also the accounts that are below this one now, on every level. */
  below: boolean;
  /** The account whose people get the file, which shows no payers but this account and those below it; null: operators. */
  reader: number | null;
  /** Both inclusive, UTC. */
  sinceMs: number;
  untilMs: number;
  /** Adds the providers' charges, which only operators may see. */
  hasProviderCost: boolean;
}

/** Where the reading goes on: with the changes of this account up to this time, then with the later accounts. */
export interface Place {
  account: number;
  untilMs: number;
  /** Since when the file has records of messages: retention had dropped earlier ones. Absent in places of earlier builds. */
  recordsSinceMs?: number;
}

/** The stores that files are read from. Each read is one bounded page. */
export interface ExportSources {
  accounts: Pick<AccountStore, 'getAccount' | 'listAccounts' | 'listBelow' | 'getKey'>;
  people: Pick<PersonStore, 'getPerson'>;
  ledger: Pick<LedgerReader, 'listEntries'>;
  usage: Pick<UsageStore, 'listCharged' | 'getUsage'>;
  retention: Pick<RetentionStore, 'retainedSince'>;
}

/** How the installation presents itself in files. */
export interface ExportNames {
  /** The name of the installation, which issues invoices. */
  installation: string;
  /** The things that the operator hides from accounts: they have no value in their files. */
  hidden: readonly Hideable[];
}

export interface Reading {
  sources: ExportSources;
  names: ExportNames;
  /** Pages are read in the turn of this requester; undefined: of the service. */
  requester: Requester | undefined;
  /** Ends the reading between two pages, with its reason. */
  signal?: AbortSignal;
}
