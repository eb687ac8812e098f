// `turnpike serve`: starts the service and runs until a signal stops it. SIGTERM and the first SIGINT drain it; a second
// SIGINT exits at once, which the ledger survives like a crash. SIGHUP reloads the TLS certificate, and drains a service
// without one.

import { ConfigError } from '../config/config.ts';
import {
  type Command,
  CommandFailed,
  failCommand,
  type Invocation,
  listenToSignals,
  type RunningServer,
  type ServerOptions,
  storeFlags,
  WrongUsage,
} from './command.ts';
import { storeOf, textFlag } from './flags.ts';

const EXIT_INTERRUPTED = 130;

export const serve: Command = {
  name: 'serve',
  summary: 'Start the service',
  flags: {
    listen: { value: 'ADDRESS:PORT', help: 'the address to listen on (TURNPIKE_LISTEN, default 127.0.0.1:8080)' },
    'admin-listen': {
      value: 'ADDRESS:PORT',
      help: 'the address of the admin API (TURNPIKE_ADMIN_LISTEN, default: the setting admin_listen)',
    },
    ...storeFlags,
    apply: { value: 'FILE', help: 'first makes providers, models, groups and settings match this file' },
    'tls-certificate': { value: 'FILE', help: 'serves TLS with this certificate (PEM); a changed file is reloaded' },
    'tls-key': { value: 'FILE', help: "the certificate's private key (PEM)" },
  },
  async run(invocation) {
    const { flags, world, json } = invocation;
    const [listen, adminListen] = [textFlag(flags, 'listen'), textFlag(flags, 'admin-listen')];
    const config = await world.readConfig({
      ...(listen && { listen }),
      ...(adminListen && { adminListen }),
      ...storeOf(flags),
    });
    if (config.telemetryFaults.length > 0) throw new ConfigError(config.telemetryFaults);
    const server = await world.startServer(config, await readOptions(invocation)).catch(failCommand);
    // Signal handlers come first: a supervisor may stop the service as soon as it reads the line.
    const [exitCode] = await Promise.all([
      untilStopped(server, (line) => void world.writeError(`${line}\n`)).catch(failCommand),
      world.write(json ? `${JSON.stringify({ url: server.url })}\n` : `listening on ${server.url}\n`),
    ]);
    return exitCode;
  },
};

async function readOptions({ flags, world, json }: Invocation): Promise<ServerOptions> {
  const certificatePath = textFlag(flags, 'tls-certificate');
  const keyPath = textFlag(flags, 'tls-key');
  if ((certificatePath === undefined) !== (keyPath === undefined))
    throw new WrongUsage('--tls-certificate and --tls-key must be given together');
  const applyPath = textFlag(flags, 'apply');
  return {
    // Not awaited: lines keep their order, and the service does not wait for their reader.
    print: (line) => void (json ? world.writeError(`${line}\n`) : world.write(`${line}\n`)),
    ...(applyPath !== undefined && {
      applyFile: await (await import('./apply-file.ts')).readFaultlessFile(applyPath, world.environmentVariable),
    }),
    ...(certificatePath !== undefined && keyPath !== undefined && { tls: { certificatePath, keyPath } }),
  };
}

/** Resolves to the exit code when the service has stopped; rejects when it failed. */
async function untilStopped(server: RunningServer, print: (line: string) => void): Promise<number> {
  const signaled = Promise.withResolvers<'signaled'>();
  let isStopping = false;
  const onSignal = (signal: NodeJS.Signals) => {
    if (isStopping && signal === 'SIGINT') process.exit(EXIT_INTERRUPTED);
    if (signal === 'SIGHUP' && server.reloadTls !== null) return void server.reloadTls();
    isStopping = true;
    signaled.resolve('signaled');
  };
  using _signals = listenToSignals(onSignal);
  const first = await Promise.race([signaled.promise, server.finished]);
  if (first !== 'signaled') throw new CommandFailed('the service stopped unexpectedly');
  print('stopping: running messages may finish; a second SIGINT ends them now');
  await server.stop();
  await server.finished;
  return 0;
}
