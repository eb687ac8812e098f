// What a command is: its words, what it takes, and what it does. The world around it (streams,
// environment, server, store) comes in as a value, so that a test can be that world.

import type { Config, ConfigFlags } from '../config.ts';
import type { CheckReport } from '../ledger/ledger.ts';
import type { Maintenance } from './maintenance.ts';
import type { RunningServer, ServerOptions } from './serve-options.ts';

/** One `--flag`. A flag with `value` takes one, shown by that word in the help. */
export interface Flag {
  value?: string;
  help: string;
}

export interface Command {
  /** Its words: "account create". */
  name: string;
  /** Completes the sentence "this command …". */
  summary: string;
  /** All of them are needed, but those in brackets, which come last. */
  positionals: readonly string[];
  flags: Readonly<Record<string, Flag>>;
  /** Resolves to the exit code. Throws WrongUsage (exit 2) and CommandFailed (exit 1). */
  run(invocation: Invocation): Promise<number>;
}

/** A command as it was called. */
export interface Invocation {
  positionals: readonly string[];
  flags: Readonly<Record<string, string | boolean | undefined>>;
  /** `--json`: exactly one JSON value goes to stdout. */
  json: boolean;
  world: World;
}

export interface World {
  /** Writes to stdout; resolves when it was taken, so that a slow reader slows the command. */
  write(text: string): Promise<void>;
  /** Writes to stderr. */
  writeError(text: string): Promise<void>;
  /** The version of this program, such as "0.1.0". */
  readVersion(): string;
  /** Throws ConfigError. */
  readConfig(flags: ConfigFlags): Readonly<Config>;
  /** Reads it all the same where it has faults, which come beside it. */
  inspectConfig(flags: ConfigFlags): { config: Readonly<Config>; faults: readonly string[] };
  /** A variable for `${NAME}` in a file that `apply` reads. */
  environmentVariable(name: string): string | undefined;
  startServer(config: Readonly<Config>, options: ServerOptions): Promise<RunningServer>;
  checkStore(config: Readonly<Config>): Promise<CheckReport>;
  /** What else works on a data directory by itself. */
  maintain(): Promise<Maintenance>;
}

/** The command was called in a way that it cannot be. */
export class WrongUsage extends Error {
  override name = 'WrongUsage';
}

/** The command was understood and could not be done; each line is for whoever called it. */
export class CommandFailed extends Error {
  override name = 'CommandFailed';
}

/** Throws WrongUsage for a change that names nothing to be changed. */
export function requireChange(body: Readonly<Record<string, unknown>>): void {
  if (Object.values(body).every((value) => value === undefined)) throw new WrongUsage('no flag says what to change');
}

/** Where `serve` keeps what it knows: for every command. */
export const dataFlag = { data: { value: 'DIRECTORY', help: 'the data directory (TURNPIKE_DATA, default ./data)' } };

/** Where the store is: for every command that opens it itself. */
export const storeFlags = {
  database: { value: 'URL', help: 'the database (TURNPIKE_DATABASE_URL; default: SQLite in the data directory)' },
  ...dataFlag,
};

/** Where the admin API is: for every command that is a client of it. */
export const clientFlags = {
  url: { value: 'URL', help: 'the service to talk to (TURNPIKE_URL; default: the one that serves the data directory)' },
  token: { value: 'TOKEN', help: 'a token for its admin API (TURNPIKE_TOKEN)' },
  ...dataFlag,
};
