// Facts about an installation, as plain values, and findings, which the doctor's checks yield from them.

import type { Catalog, CatalogDocument } from '../catalog/catalog.ts';
import type { Finding, ServiceFacts } from '../commands/commands.ts';
import type { Config } from '../config/config.ts';
import type { CheckReport } from '../ledger/ledger.ts';
import type { DatabaseFailure, ServerState, TablesState } from '../storage/postgres/postgres.ts';
import type { CommitLoss, StoredVersion } from '../storage/sqlite/sqlite.ts';
import type { StoreSurvey } from '../storage/storage.ts';
import type { SecretState } from './secret.ts';

/** A fact, or the reason why it could not be read. */
export type Fallible<Fact> = { is: Fact } | { failure: string };

/** Null stands for what does not exist or cannot be read. */
export interface Facts {
  nowMs: number;
  settingFaults: readonly string[];
  dataDirectory: string;
  directory: FileFacts | null;
  /** The files in the data directory. */
  files: readonly FileFacts[];
  diskFreeBytes: number | null;
  /** The limit of open files and connections of the service's process. */
  openFilesMax: number | null;
  /** Whether a running service has locked the directory. */
  isLocked: boolean;
  /** False when the setting that names the store is wrong: then no store was read. */
  isStoreKnown: boolean;
  /** Null when the store is SQLite. */
  postgres: PostgresFacts | null;
  /** Null when it does not exist or has no tables of this service. */
  database: DatabaseFacts | null;
  /** Acknowledged commits that the SQLite database lacks, or that there were if it does not exist; null if none are known. */
  commitLoss: CommitLoss | null;
  secret: Fallible<SecretState> | null;
  /** Faults of the sign-in database; empty when it is intact, missing or not used. */
  signInFaults: readonly string[];
  catalog: CatalogFacts | null;
  operatorFile: Fallible<OperatorFile> | null;
  /** Whether the environment has a mail server, and Stripe. */
  sendsMail: boolean;
  takesPayments: boolean;
  /** The address that the settings name. */
  listen: Config['listen'];
  service: ServiceFacts;
}

/** A file or directory of the installation. */
export interface FileFacts {
  path: string;
  /** The permission bits. */
  mode: number;
  /** The id of the user who owns it. */
  owner: number;
  /** By the user who runs the doctor. */
  isWritable: boolean;
}

export interface DatabaseFacts {
  /** "file /srv/turnpike/data/turnpike.db", "database shop at 127.0.0.1:5432". */
  subject: string;
  bytes: number;
  version: Fallible<StoredVersion>;
  /** Null when the file was not verified: it is not a database, too large, or PostgreSQL. */
  fileFaults: readonly string[] | null;
  /** Null when it was not verified. */
  ledger: Fallible<CheckReport> | null;
  /** Open holds that nothing will end, and rows that cannot be read, a sentence each; null when they were not looked for. */
  overdueHolds: readonly string[] | null;
  unreadableRows: readonly string[] | null;
  /** Null for tables of another version. */
  survey: Fallible<StoreSurvey> | null;
}

/** A PostgreSQL database and its server. Null when the server was not reached. */
export interface PostgresFacts {
  /** "shop at 127.0.0.1:5432". */
  name: string;
  server: { is: ServerState } | { failure: DatabaseFailure };
  tables: Fallible<TablesState> | null;
}

export interface CatalogFacts {
  documents: readonly CatalogDocument[];
  catalog: Fallible<Catalog>;
  /** Credentials that cannot be decrypted, each with its provider; null without the secret. */
  unopened: readonly { provider: string; credential: string }[] | null;
  /** The provider kinds of this release. */
  providerKinds: readonly string[];
}

/** The file that the running service writes into the data directory. */
export interface OperatorFile {
  url: string;
  /** The configured address: "0.0.0.0:8080". */
  listen: string | null;
  pid: number | null;
}

/** Oldest major version of PostgreSQL that nodes can use. */
export const SERVER_VERSION_LEAST = 14;

/** A check yields one finding for each problem. */
export type Findings = Generator<Finding, void>;

type Description = Pick<Finding, 'message' | 'remedy'>;

export const error = (code: string, subject: string, description: Description): Finding => ({
  severity: 'error',
  code,
  subject,
  ...description,
});

export const warning: typeof error = (...finding) => ({ ...error(...finding), severity: 'warning' });

/** The fact, or null if it could not be read. */
export function known<Fact>(fact: Fallible<Fact> | null | undefined): Fact | null {
  return fact != null && 'is' in fact ? fact.is : null;
}

/** Why a fact could not be read, or null. */
export function failureOf(...facts: (Fallible<unknown> | null | undefined)[]): string | null {
  for (const fact of facts) if (fact != null && 'failure' in fact) return fact.failure;
  return null;
}

/** Runs `read`, and turns an error into a fact. */
export function attempt<Fact>(read: () => Fact): Fallible<Fact> {
  try {
    return { is: read() };
  } catch (failure) {
    return { failure: failure instanceof Error ? failure.message : String(failure) };
  }
}

/** The result, or null when reading fails: for facts whose absence is judged elsewhere. */
export function orNull<Fact>(read: () => Fact): Fact | null {
  try {
    return read();
  } catch {
    return null;
  }
}
