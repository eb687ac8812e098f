// The root of the command line: gives the commands the world that they run in, and exits with their code.

import { readFileSync } from 'node:fs';
import { runCommand } from './commands/commands.ts';
import { environmentVariable, inspectConfig, readConfig } from './config.ts';

/** Within one executable only: there is no package.json beside it. bin/build.ts puts it in. */
declare const TURNPIKE_VERSION: string | undefined;

const given = process.argv.slice(2);

// Failures are told to who wrote, below; unheard events would end the process.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

const exitCode = await runCommand(given, {
  write: (text) => written(process.stdout, text),
  writeError: (text) => written(process.stderr, text),
  readVersion,
  readConfig,
  inspectConfig,
  environmentVariable,
  startServer: async (config, options) =>
    (await import('./server/server.ts')).startServer(config, { ...options, version: readVersion() }),
  checkStore: async (config) => (await import('./maintenance/maintenance.ts')).checkStore(config),
  maintain: async () => (await import('./maintenance/maintenance.ts')).maintenance,
});
process.exit(exitCode);

function readVersion(): string {
  if (typeof TURNPIKE_VERSION === 'string') return TURNPIKE_VERSION;
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/**
 * Resolves when the text was taken. Whoever reads a list may stop reading it ("| head"): that ends a
 * command and is no failure. A service goes on without readers.
 */
function written(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error?: NodeJS.ErrnoException | null) => {
      if (!error || given[0] === 'serve' || stream === process.stderr) resolve();
      else if (error.code === 'EPIPE') process.exit(0);
      else reject(error);
    });
  });
}
