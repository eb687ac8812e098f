// What the doctor knows of an installation before it judges: plain values, gathered in one place, so
// that every judgement is a function of them.

import type { CatalogDocument, Catalogue } from '../catalog/catalog.ts';
import type { ServiceFacts } from '../commands/commands.ts';
import type { Config } from '../config.ts';
import type { CheckReport } from '../ledger/ledger.ts';
import type {
  ActivityState,
  DatabaseFailure,
  ServerState,
  SessionState,
  TablesState,
} from '../storage/postgres/postgres.ts';
import type { StoredVersion } from '../storage/sqlite/sqlite.ts';
import type { StoreSurvey } from '../storage/storage.ts';
import type { SecretState } from './secret-state.ts';

/** A fact, or why it could not be had. */
export type Told<Fact> = { is: Fact } | { failure: string };

/** Everything that is asked of an installation. Null is what is not there, or cannot be known. */
export interface Facts {
  nowMs: number;
  settingFaults: readonly string[];
  dataDirectory: string;
  directory: FileFacts | null;
  /** What is in it. */
  files: readonly FileFacts[];
  diskFreeBytes: number | null;
  /** How many files and connections the service's process may have open. */
  openFilesMax: number | null;
  /** A server has the directory. */
  isLocked: boolean;
  /** False where the setting that names the store is wrong: then none was looked at. */
  isStoreKnown: boolean;
  /** What is asked of PostgreSQL; null where the store is a file in the data directory. */
  postgres: PostgresFacts | null;
  /** Null where it is not there, or has no tables of ours. */
  database: DatabaseFacts | null;
  secret: Told<SecretState> | null;
  /** Of the file of who signs in; empty where it is whole, is not there, or is not used. */
  signInFaults: readonly string[];
  catalogue: CatalogueFacts | null;
  operatorFile: Told<OperatorFile> | null;
  /** Where a service would listen that is started with these settings. */
  listen: Config['listen'];
  service: ServiceFacts;
}

/** A file or directory of the installation. */
export interface FileFacts {
  path: string;
  /** The permission bits. */
  mode: number;
  /** The number of the user it belongs to. */
  owner: number;
  /** By whoever asks. */
  isWritable: boolean;
}

export interface DatabaseFacts {
  /** "file /srv/turnpike/data/turnpike.db", "database shop at 127.0.0.1:5432". */
  subject: string;
  bytes: number;
  version: Told<StoredVersion>;
  /** Null where it was not read: it is no database, or large, or no file. */
  fileFaults: readonly string[] | null;
  /** Null where it was not verified. */
  ledger: Told<CheckReport> | null;
  /** Null for tables of another version. */
  survey: Told<StoreSurvey> | null;
}

/** A database of PostgreSQL and its server. What could not be asked any more is null. */
export interface PostgresFacts {
  /** "shop at 127.0.0.1:5432". */
  name: string;
  server: { is: ServerState } | { failure: DatabaseFailure };
  sessions: Told<SessionState> | null;
  tables: Told<TablesState> | null;
  activity: Told<ActivityState> | null;
}

export interface CatalogueFacts {
  documents: readonly CatalogDocument[];
  catalogue: Told<Catalogue>;
  /** Credentials that do not open, each with its provider; null without the secret. */
  unopened: readonly { provider: string; credential: string }[] | null;
  /** The kinds of providers that this program knows. */
  providerKinds: readonly string[];
}

/** What the running service wrote of itself. */
export interface OperatorFile {
  url: string;
  /** Where it listens, as it was told: "0.0.0.0:8080". */
  listen: string | null;
  pid: number | null;
}
