// What `backup`, `doctor` and `secret` ask of the root that works on a data directory by itself:
// commands do not import it.

import type { Config } from '../config.ts';
import type { CheckReport } from '../ledger/ledger.ts';

/** What came of a backup, as it is printed. */
export interface BackupReport {
  file: string;
  /** Of who signs in, which belongs to it; null where nobody ever has. */
  sign_in_file: string | null;
  bytes: number;
  /** Whatever was answered before this is in it. */
  taken_at: string;
  /** Null where the tables are of an earlier version, which a start brings up first. */
  check: CheckReport | null;
  /** Where the installation's secret is, which is needed beside it: "file:…" or "TURNPIKE_SECRET"; null where it was not found. */
  secret: string | null;
  /** The secret before it, where that is needed too. */
  previous_secret: string | null;
}

/** What was moved to PostgreSQL, as it is printed. */
export interface MoveReport {
  from: string;
  /** The name of the database and where its server is, without the password. */
  to: string;
  moved_at: string;
  /** By table. Null where an earlier move was cut short, and this one found that it was made. */
  rows: Readonly<Record<string, number>> | null;
  /** Where characters were replaced that PostgreSQL takes in no text: "entries 17: note". */
  replaced: string[];
  /** Of what was moved, where it is now. */
  check: CheckReport;
  /** Where the secret is that every node needs as TURNPIKE_SECRET: "file:…" or "TURNPIKE_SECRET"; null where there is none yet. */
  secret: string | null;
  /** The secret before it, where that is needed too. */
  previous_secret: string | null;
}

/** One thing that is wrong with an installation. */
export interface Finding {
  /** An error keeps something from working; a warning will, or may harm. */
  severity: 'error' | 'warning';
  /** Never changes its meaning, so that scripts may branch on it. */
  code: string;
  /** What it is about: "provider anthropic", "file data/secret". */
  subject: string;
  /** What is wrong, and what it means. */
  message: string;
  /** What to do. */
  remedy: string;
}

/** What the service answers, as far as there is one. */
export interface ServiceFacts {
  /** Where it was asked, and how that address was found; null where there is none to ask. */
  url: string | null;
  foundBy: 'flag' | 'environment' | 'operator file' | null;
  /** What it answered when asked whether it lives and whether it is ready; words where it did not answer. */
  health: number | string | null;
  ready: number | string | null;
  /** What the admin API answered to the token; null where it was not asked. */
  token: number | string | null;
  /** Providers that by its last attempts do not work, with their last success as it tells it. */
  providersDown: readonly { name: string; last_success_at: string | null }[];
  /** When the certificate that it shows ends; null without TLS. */
  certificateEndsAtMs: number | null;
}

export interface Diagnosis {
  findings: Finding[];
  /** What was not looked at, and how to do that. */
  notes: string[];
  /** Where the installation is: a directory, or "the database shop at 127.0.0.1:5432". */
  place: string;
}

/** A key or token that depends on a secret of the installation. */
export interface SecretDependent {
  id: string;
  name: string;
  last_used_at: string | null;
}

export interface SecretStatus {
  /** Where the secret is: "file:…" or "TURNPIKE_SECRET"; null where it was not found. */
  secret: string | null;
  previous_secret: string | null;
  /** `at_next_start`: the installation still is under the previous one, until the service was restarted. */
  state: 'in_force' | 'at_next_start' | 'wrong' | 'missing' | 'not_started';
  keys_on_previous: number;
  tokens_on_previous: number;
  /** Of providers, sealed under the previous one by a node that was not yet restarted: the next start seals them anew. */
  credentials_on_previous: number;
  /** Those of them, a hundred at most. */
  keys: SecretDependent[];
  tokens: SecretDependent[];
  /** Hashed under a secret that is not here: they open nothing. */
  keys_lost: number;
  tokens_lost: number;
}

/** All of it throws errors whose message is for whoever called the command. */
export interface Maintenance {
  /** `signal` stops it; nothing is left behind then. */
  backUp(config: Readonly<Config>, file: string, signal: AbortSignal): Promise<BackupReport>;
  /** All of it, or nothing. `say` hears how far it is. */
  move(config: Readonly<Config & { databaseUrl: string }>, say: (line: string) => void): Promise<MoveReport>;
  /** Lets what was moved be served from its data directory again; false where it was not moved. */
  takeBack(config: Readonly<Config>): Promise<{ taken_back: boolean }>;
  diagnose(config: Readonly<Config>, settingFaults: readonly string[], service: ServiceFacts): Promise<Diagnosis>;
  secretStatus(config: Readonly<Config>): Promise<SecretStatus>;
  /** Where the new secret and the one before it are. */
  rotateSecret(config: Readonly<Config>, isForced: boolean): Promise<{ secret: string; previous_secret: string }>;
  /** False where there was none. */
  forgetPreviousSecret(config: Readonly<Config>, isForced: boolean): Promise<{ forgotten: boolean }>;
}
