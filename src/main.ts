// The root of the command line: gives the commands the world that they run in, and exits with their code.

import { runCommand } from './commands/commands.ts';
import { environmentVariable, readConfig } from './config.ts';

// Whoever reads a list may stop reading it ("| head"): that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

const exitCode = await runCommand(process.argv.slice(2), {
  write: (text) => written(process.stdout, text),
  writeError: (text) => written(process.stderr, text),
  readConfig,
  environmentVariable,
  startServer: async (config, options) => (await import('./server.ts')).startServer(config, options),
  checkStore: async (config) => (await import('./server.ts')).checkStore(config),
});
process.exit(exitCode);

function written(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });
}
