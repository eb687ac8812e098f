// The types of a command and of everything that it may use. Streams, environment, server, store and the work on a
// data directory (src/maintenance/) are values, so that a test can replace them.

import { BrokenInvariant } from '../base/assert.ts';
import type { Fault } from '../catalog/catalog.ts';
import type { ClientConfig, Config, ConfigFlags } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import type { CheckReport } from '../ledger/ledger.ts';
import type { JsonObject } from '../wire/wire.ts';

/** One `--flag`. `value` is the placeholder in the help; a flag without it takes no value. */
export interface Flag {
  value?: string;
  help: string;
}

export interface Command {
  /** One word or two: "account create". */
  name: string;
  /** In the imperative, without a period: "Create a key". */
  summary: string;
  /** Describes what is printed. */
  result?: string;
  /** Required, except those in brackets, which come last. */
  positionals?: readonly string[];
  flags: Readonly<Record<string, Flag>>;
  /** Resolves to the exit code. Throws WrongUsage (exit 2) and CommandFailed (exit 1). */
  run(invocation: Invocation): Promise<number>;
}

/** A command with its parsed arguments. */
export interface Invocation {
  positionals: readonly string[];
  flags: Readonly<Record<string, string | boolean | undefined>>;
  /** `--json`: exactly one JSON value goes to stdout. */
  json: boolean;
  world: World;
}

export interface World {
  /** Writes to stdout. Resolves when the text was written, so that a slow reader slows the command. */
  write(text: string): Promise<void>;
  writeError(text: string): Promise<void>;
  /** Asks on the terminal; false without a terminal. */
  confirm(question: string): Promise<boolean>;
  /** The version of this program, such as "1.0.0". */
  readVersion(): string;
  readNotices(): Promise<readonly Notice[]>;
  /** Rejects with ConfigError. */
  readConfig(flags: ConfigFlags): Promise<Readonly<Config>>;
  /** Returns the faults instead of rejecting with them. */
  inspectConfig(flags: ConfigFlags): Promise<{ config: Readonly<Config>; faults: readonly string[] }>;
  /** Throws ConfigError. */
  readClientConfig(flags: Pick<ConfigFlags, 'data'>): Readonly<ClientConfig>;
  /** A variable for `${NAME}` in a file that `apply` reads. */
  environmentVariable(name: string): string | undefined;
  startServer(config: Readonly<Config>, options: ServerOptions): Promise<RunningServer>;
  checkStore(config: Readonly<Config>): Promise<CheckReport>;
  maintain(): Promise<Maintenance>;
}

/** A license text, and the packages that it belongs to. */
export interface Notice {
  /** With their versions: "zod 4.6.7". */
  packages: string[];
  /** As the packages state it: an SPDX expression, or words. */
  license: string;
  text: string;
}

/** A file given with `--apply`, read and expanded. */
export interface ApplyFile {
  document: JsonObject;
  /** A fault of the document as "FILE:LINE: path: message". */
  describeFault(fault: Fault): string;
}

export interface ServerOptions {
  applyFile?: ApplyFile;
  /** Both in PEM; read again when they change. */
  tls?: { certificatePath: string; keyPath: string };
  /** Prints one line for the operator who started the service. */
  print(line: string): void;
}

export interface RunningServer {
  /** Where it answers, such as "http://127.0.0.1:8080". */
  url: string;
  /** Reads certificate and key again, now; null without TLS. */
  reloadTls: (() => Promise<void>) | null;
  /** Drains: refuses new messages, lets running ones finish within a bound, settles, closes the store. */
  stop(): Promise<void>;
  /** Resolves when the service has stopped, rejects when it failed. */
  finished: Promise<void>;
}

export class WrongUsage extends Error {
  override name = 'WrongUsage';
}

/** The command was understood and failed; the message is for the operator. */
export class CommandFailed extends Error {
  override name = 'CommandFailed';
}

/**
 * Throws CommandFailed with the message of an error of the server or the store. Rethrows our own mistakes as they
 * are, because their stack trace is needed.
 */
export function failCommand(thrown: unknown): never {
  const isMistake = [BrokenInvariant, TypeError, ReferenceError, RangeError].some((kind) => thrown instanceof kind);
  if (isMistake || !(thrown instanceof Error)) throw thrown;
  const { message, cause } = thrown;
  // Clients never see the cause; operators need it.
  if (!(thrown instanceof TurnpikeError) || cause === undefined || cause === null) throw new CommandFailed(message);
  throw new CommandFailed(`${message} (${cause instanceof Error ? cause.message : String(cause)})`);
}

/** Calls `onSignal` on SIGINT, SIGTERM and SIGHUP until it is disposed. */
export function listenToSignals(onSignal: (signal: NodeJS.Signals) => void): Disposable {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, onSignal);
  return {
    [Symbol.dispose]() {
      for (const signal of signals) process.off(signal, onSignal);
    },
  };
}

/** For every command that needs the data directory. */
export const dataFlag = { data: { value: 'DIRECTORY', help: 'the data directory (TURNPIKE_DATA, default ./data)' } };

/** For every command that opens the store itself. */
export const storeFlags = {
  database: { value: 'URL', help: 'the database (TURNPIKE_DATABASE_URL; default: SQLite in the data directory)' },
  ...dataFlag,
};

/** For every client of the admin API. */
export const clientFlags = {
  url: { value: 'URL', help: "the service's address (TURNPIKE_URL; default: the service of the data directory)" },
  token: { value: 'TOKEN', help: 'a token for its admin API (TURNPIKE_TOKEN)' },
  ...dataFlag,
};

/** The result of `backup`, as printed. */
export interface BackupReport {
  file: string;
  /** The copy of the sign-in database; null when nobody has signed in yet. */
  sign_in_file: string | null;
  /** SHA-256 of the files, as `sha256sum` writes it. */
  checksum_file: string;
  bytes: number;
  /** The copy has everything that was committed before this time. */
  taken_at: string;
  /** null for tables of an earlier version, which are not checked. */
  check: CheckReport | null;
  /** Where the installation's secret is: "file:…" or "TURNPIKE_SECRET"; null when it was not found. */
  secret: string | null;
  /** The previous secret, when it is still needed. */
  previous_secret: string | null;
}

/** The files to restore. */
export interface RestoreFiles {
  /** The backup of the main database. That of the sign-in database and the checksums are found beside it. */
  backup: string;
  /** The files of the installation's secret and of the previous one; null where they come from the environment. */
  secret: string | null;
  previousSecret: string | null;
}

/** The result of `restore`, as printed. */
export interface RestoreReport {
  /** The data directory. */
  data: string;
  file: string;
  sign_in_file: string | null;
  /** Whether the files had checksums, which are right. */
  checksum_verified: boolean;
  /** The version of the tables before they were migrated; null if they were not. */
  migrated_from: number | null;
  /** The newest time in journal, usage and audit log; null if there is none. */
  newest_at: string | null;
  /** Payments were ever begun. */
  has_payments: boolean;
  check: CheckReport;
  /** "file:…" or "TURNPIKE_SECRET"; null if the installation has none yet. */
  secret: string | null;
}

/** The result of `move`, as printed. */
export interface MoveReport {
  from: string;
  /** The name of the database and the address of its server, without the password. */
  to: string;
  moved_at: string;
  /** Per table. Null when an interrupted earlier move turned out to be complete. */
  rows: Readonly<Record<string, number>> | null;
  /** Where a character was replaced that PostgreSQL cannot store: "entries 17: note". */
  replaced: string[];
  /** The check of the moved ledger in PostgreSQL. */
  check: CheckReport;
  /** Where the secret is that every node needs as TURNPIKE_SECRET: "file:…" or "TURNPIKE_SECRET"; null when there is none yet. */
  secret: string | null;
  /** The previous secret, when it is still needed. */
  previous_secret: string | null;
}

/** The result of `migrate`, as printed. */
export interface MigrationReport {
  /** "file /srv/turnpike/data/turnpike.db", "shop at 127.0.0.1:5432". */
  database: string;
  /** The version of the tables before; null without tables. */
  version_before: number | null;
  version: number;
  /** The role that was given the rights of a node. */
  granted_to: string | null;
}

/** One problem of an installation. */
export interface Finding {
  /** An error prevents something from working; a warning will, or is a risk. */
  severity: 'error' | 'warning';
  /** Stable, so that scripts can branch on it. */
  code: string;
  /** The part that has the problem: "provider anthropic", "file data/secret". */
  subject: string;
  /** The problem and its effect. */
  message: string;
  /** The remedy. */
  remedy: string;
}

/** The responses of the service, if one was found. */
export interface ServiceFacts {
  /** Its address and where that was found; null without a service. */
  url: string | null;
  foundBy: 'flag' | 'environment' | 'operator file' | null;
  /** The status of /healthz and /readyz; a text when there was no response. */
  health: number | string | null;
  ready: number | string | null;
  /** The status of the admin API for the token; null without a token. */
  token: number | string | null;
  /** Providers whose last attempts failed, with the time of their last success. */
  providersDown: readonly { name: string; last_success_at: string | null }[];
  /** When its certificate expires; null without TLS. */
  certificateEndsAtMs: number | null;
}

export interface Diagnosis {
  findings: Finding[];
  /** Checks that were skipped, and how to run them. */
  notes: string[];
  /** A directory, or "the database shop at 127.0.0.1:5432". */
  place: string;
}

export interface SecretStatus {
  /** Where the secret is: "file:…" or "TURNPIKE_SECRET"; null where it was not found. */
  secret: string | null;
  previous_secret: string | null;
  /** `at_next_start`: the installation uses the previous one until the service is restarted. */
  state: 'in_force' | 'at_next_start' | 'wrong' | 'missing' | 'not_started';
  /** Provider credentials sealed with the former secret by a node that was not restarted yet: the next start reseals them. */
  credentials_on_previous: number;
}

/** Throws errors whose message is for the operator. */
export interface Maintenance {
  /** When `signal` stops it, no file is left behind. */
  backUp(config: Readonly<Config>, file: string, signal: AbortSignal): Promise<BackupReport>;
  /** Into the data directory of `config`, which must be empty. Restores everything or nothing. */
  restore(config: Readonly<Config>, files: RestoreFiles): Promise<RestoreReport>;
  /** Moves everything or nothing. `say` prints progress. */
  move(config: Readonly<Config & { databaseUrl: string }>, say: (line: string) => void): Promise<MoveReport>;
  /** Lets a moved data directory be served again; false when it was not moved. */
  takeBack(config: Readonly<Config>): Promise<{ taken_back: boolean }>;
  /** Brings the tables up to date and gives the role, unless it is null, the rights of a node. `say` prints progress. */
  migrate(config: Readonly<Config>, role: string | null, say: (line: string) => void): Promise<MigrationReport>;
  diagnose(config: Readonly<Config>, settingFaults: readonly string[], service: ServiceFacts): Promise<Diagnosis>;
  secretStatus(config: Readonly<Config>): Promise<SecretStatus>;
  /** The sources of the new and the previous secret. */
  rotateSecret(config: Readonly<Config>): Promise<{ secret: string; previous_secret: string }>;
  /** False if there was none. */
  forgetPreviousSecret(config: Readonly<Config>): Promise<{ forgotten: boolean }>;
}
