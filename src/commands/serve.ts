// `turnpike serve`: starts the service and stays until it is told to stop. SIGTERM and the first SIGINT
// drain it; a second SIGINT ends it at once, which the ledger survives like a crash. SIGHUP has it read
// its certificate again, and drains it where it has none.

import { ConfigError } from '../config.ts';
import { type Command, CommandFailed, dataFlag, type Invocation, WrongUsage } from './command.ts';
import { inWords } from './failure-words.ts';
import { textFlag } from './flags.ts';
import type { RunningServer, ServerOptions } from './serve-options.ts';

const EXIT_INTERRUPTED = 130;

export const serve: Command = {
  name: 'serve',
  summary: 'starts the service',
  positionals: [],
  flags: {
    listen: { value: 'ADDRESS:PORT', help: 'where it answers (TURNPIKE_LISTEN, default 127.0.0.1:8080)' },
    'admin-listen': {
      value: 'ADDRESS:PORT',
      help: 'where the admin API answers (TURNPIKE_ADMIN_LISTEN, default: as the setting admin_listen says)',
    },
    ...dataFlag,
    database: { value: 'URL', help: 'the database (TURNPIKE_DATABASE_URL; default: SQLite in the data directory)' },
    apply: { value: 'FILE', help: 'makes providers, models, groups and settings match this file first' },
    'tls-certificate': { value: 'FILE', help: 'answers over TLS with this certificate (PEM), also when it changes' },
    'tls-key': { value: 'FILE', help: "the certificate's private key (PEM)" },
  },
  async run(invocation) {
    const { flags, world, json } = invocation;
    const [listen, adminListen, data, database] = ['listen', 'admin-listen', 'data', 'database'].map((name) =>
      textFlag(flags, name),
    );
    const config = world.readConfig({
      ...(listen && { listen }),
      ...(adminListen && { adminListen }),
      ...(data && { data }),
      ...(database && { database }),
    });
    if (config.telemetryFaults.length > 0) throw new ConfigError(config.telemetryFaults);
    const server = await world.startServer(config, await readOptions(invocation)).catch(inWords);
    // Signals are heard before it says that it listens: whoever reads that may end it at once.
    const [exitCode] = await Promise.all([
      untilStopped(server, (line) => void world.writeError(`${line}\n`)).catch(inWords),
      world.write(json ? `${JSON.stringify({ url: server.url })}\n` : `listening on ${server.url}\n`),
    ]);
    return exitCode;
  },
};

async function readOptions({ flags, world, json }: Invocation): Promise<ServerOptions> {
  const certificatePath = textFlag(flags, 'tls-certificate');
  const keyPath = textFlag(flags, 'tls-key');
  if ((certificatePath === undefined) !== (keyPath === undefined))
    throw new WrongUsage('--tls-certificate and --tls-key belong together');
  const applyPath = textFlag(flags, 'apply');
  return {
    // Not awaited: lines keep their order, and nothing waits for whoever reads them.
    print: (line) => void (json ? world.writeError(`${line}\n`) : world.write(`${line}\n`)),
    ...(applyPath !== undefined && {
      applyFile: await (await import('./apply-file.ts')).readFaultlessFile(applyPath, world.environmentVariable),
    }),
    ...(certificatePath !== undefined && keyPath !== undefined && { tls: { certificatePath, keyPath } }),
  };
}

/** Resolves to the exit code once the service has stopped; rejects when it could not go on or not stop in order. */
async function untilStopped(server: RunningServer, say: (line: string) => void): Promise<number> {
  const told = Promise.withResolvers<'told'>();
  let isTold = false;
  const onSignal = (signal: NodeJS.Signals) => {
    if (isTold && signal === 'SIGINT') process.exit(EXIT_INTERRUPTED);
    if (signal === 'SIGHUP' && server.reloadTls !== null) return void server.reloadTls();
    isTold = true;
    told.resolve('told');
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  process.on('SIGHUP', onSignal);
  try {
    const first = await Promise.race([told.promise, server.finished]);
    if (first !== 'told') throw new CommandFailed('the service stopped by itself');
    say('stopping: running messages may finish; a second SIGINT ends them now');
    await server.stop();
    await server.finished;
    return 0;
  } finally {
    process.off('SIGTERM', onSignal);
    process.off('SIGINT', onSignal);
    process.off('SIGHUP', onSignal);
  }
}
