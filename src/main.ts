// The entry point of the command line: runs a command in this process's world and exits with its code.

import { createInterface } from 'node:readline/promises';
import { runCommand } from './commands/commands.ts';
import {
  ConfigError,
  type ConfigFlags,
  environmentVariable,
  findReferences,
  inspectConfig,
  readClientConfig,
  readConfig,
} from './config/config.ts';
import { readVersion } from './version.ts';

const given = process.argv.slice(2);

// `write` below reports failures; an unhandled error event would end the process.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

const exitCode = await runCommand(given, {
  write: (text) => write(process.stdout, text),
  writeError: (text) => write(process.stderr, text),
  confirm,
  readVersion,
  readNotices: async () => (await import('./licenses/licenses.ts')).readNotices(),
  readClientConfig,
  async readConfig(flags) {
    const { environment, references, faults } = await readEnvironment(flags);
    if (faults.length > 0) throw new ConfigError(faults);
    return readConfig(flags, environment, references);
  },
  async inspectConfig(flags) {
    const { environment, references, faults } = await readEnvironment(flags);
    const inspected = inspectConfig(flags, environment, references);
    return { ...inspected, faults: [...faults, ...inspected.faults] };
  },
  environmentVariable,
  startServer: async (config, options) =>
    (await import('./server/server.ts')).startServer(config, { ...options, version: readVersion() }),
  checkStore: async (config) => (await import('./maintenance/maintenance.ts')).checkStore(config),
  maintain: async () => (await import('./maintenance/maintenance.ts')).maintenance,
});
process.exit(exitCode);

/** The environment with the texts of references. The libraries of secret managers are loaded only for them. */
async function readEnvironment({ data }: ConfigFlags) {
  const found = findReferences();
  if (Object.keys(found.references).length === 0) return { ...found, faults: [] };
  const { readReferences } = await import('./credentials/credentials.ts');
  return readReferences(found, readClientConfig(data === undefined ? {} : { data }).dataDirectory);
}

async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}

/**
 * Resolves when the text was written. A reader that closes the pipe ("| head") ends a command without failure. `serve`
 * goes on without a reader.
 */
function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error?: NodeJS.ErrnoException | null) => {
      if (!error || given[0] === 'serve' || stream === process.stderr) resolve();
      else if (error.code === 'EPIPE') process.exit(0);
      else reject(error);
    });
  });
}
