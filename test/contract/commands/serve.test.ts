// `serve` and `check`: their calls of the server and the store, their output and exit codes.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { RunningServer, ServerOptions } from '../../../src/commands/commands.ts';
import type { Config } from '../../../src/config/config.ts';
import { TurnpikeError } from '../../../src/errors.ts';
import { type CommandWorld, makeCommandWorld } from './command-world.ts';

let world: CommandWorld;
beforeEach(async () => {
  world = await makeCommandWorld();
});
afterEach(() => world[Symbol.dispose]());

interface Started {
  config: Config;
  options: ServerOptions;
  stops: number;
  reloads: number;
}

/** A stand-in for the service: stops on request, and fails when `broken` does. */
function standIn(broken?: Promise<never>): Started {
  const started = { stops: 0, reloads: 0 } as Started;
  world.world.startServer = async (config, options): Promise<RunningServer> => {
    const finished = Promise.withResolvers<void>();
    broken?.catch(finished.reject);
    Object.assign(started, { config, options });
    options.print('the first key is sk-tp-x');
    return {
      url: 'http://127.0.0.1:8080',
      reloadTls:
        options.tls === undefined
          ? null
          : async () => {
              started.reloads++;
            },
      finished: finished.promise,
      async stop() {
        started.stops++;
        await Bun.sleep(5);
        finished.resolve();
      },
    };
  };
  return started;
}

async function signal(name: 'SIGTERM' | 'SIGINT' | 'SIGHUP'): Promise<void> {
  const before = process.listenerCount(name);
  while (process.listenerCount(name) === before) await Bun.sleep(1);
  process.emit(name, name);
}

describe('serve', () => {
  test('prints its address, drains at SIGTERM or SIGINT, and exits 0', async () => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) {
      const started = standIn();
      const [ran] = await Promise.all([world.run('serve'), signal(name)]);
      expect(ran.exitCode).toBe(0);
      expect(ran.out).toBe('the first key is sk-tp-x\nlistening on http://127.0.0.1:8080\n');
      expect(started.stops).toBe(1);
    }
  });

  test('with --json prints one value on stdout', async () => {
    standIn();
    const [ran] = await Promise.all([world.run('serve', '--json'), signal('SIGTERM')]);
    expect(JSON.parse(ran.out)).toEqual({ url: 'http://127.0.0.1:8080' });
    expect(ran.error).toContain('the first key is sk-tp-x');
  });

  test('passes its flags, the applied file with its lines, and the certificate to the server', async () => {
    const file = world.writeFile('turnpike.yaml', `groups:\n  vip:\n    models: ["\${STAR}"]\n`);
    world.environment['STAR'] = '*';
    const [certificatePath, keyPath] = ['/elsewhere/tls.crt', '/elsewhere/tls.key'] as const;
    const started = standIn();
    const flags = [
      '--listen',
      '127.0.0.1:9',
      '--apply',
      file,
      '--tls-certificate',
      certificatePath,
      '--tls-key',
      keyPath,
    ];
    await Promise.all([world.run('serve', ...flags), signal('SIGTERM')]);
    expect(started.config).toMatchObject({
      listen: { hostname: '127.0.0.1', port: 9 },
      dataDirectory: world.directory,
    });
    const { applyFile, tls } = started.options;
    expect(applyFile?.document).toEqual({ groups: { vip: { models: ['*'] } } });
    expect(applyFile?.describeFault({ path: ['groups', 'vip', 'models', 0], message: 'is wrong' })).toBe(
      `${file}:3: groups.vip.models.0: is wrong`,
    );
    expect(tls).toEqual({ certificatePath, keyPath });
  });

  test('with a certificate reloads it at SIGHUP, and otherwise drains', async () => {
    const started = standIn();
    const ended = world.run('serve', '--tls-certificate', 'a', '--tls-key', 'b');
    await signal('SIGHUP');
    process.emit('SIGHUP', 'SIGHUP');
    expect([started.reloads, started.stops]).toEqual([2, 0]);
    process.emit('SIGTERM', 'SIGTERM');
    expect((await ended).exitCode).toBe(0);
    const without = standIn();
    const [ran] = await Promise.all([world.run('serve'), signal('SIGHUP')]);
    expect([ran.exitCode, without.stops]).toEqual([0, 1]);
  });

  test('requires a certificate and its key together', async () => {
    const { exitCode, error } = await world.run('serve', '--tls-certificate', 'a');
    expect([exitCode, error]).toEqual([
      2,
      expect.stringContaining('--tls-certificate and --tls-key must be given together'),
    ]);
  });

  test('with an invalid file names its faults and never starts', async () => {
    const started = standIn();
    const file = world.writeFile('turnpike.yaml', 'groups: {}\ngroups: {}\n');
    const { exitCode, error } = await world.run('serve', '--apply', file);
    expect([exitCode, started.options]).toEqual([1, undefined as never]);
    expect(error).toContain(`${file}:2: groups: is a duplicate key; the first is on line 1`);
  });

  test('with invalid OpenTelemetry variables names each and never starts; other commands work', async () => {
    const started = standIn();
    world.environment['OTEL_EXPORTER_OTLP_ENDPOINT'] = 'http://127.0.0.1:4318';
    world.environment['OTEL_EXPORTER_OTLP_PROTOCOL'] = 'grpc';
    world.environment['OTEL_TRACES_SAMPLER_ARG'] = 'half';
    const { exitCode, error } = await world.run('serve');
    expect([exitCode, started.options]).toEqual([2, undefined as never]);
    expect(error).toContain('turnpike serve: OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" is not supported');
    expect(error).toContain('turnpike serve: OTEL_TRACES_SAMPLER_ARG: ');
    world.world.checkStore = async () => ({
      ok: true,
      accounts: 0,
      entries: 0,
      open_holds: 0,
      usage_since: null,
      journal_since: null,
      faults: [],
    });
    expect((await world.run('check')).exitCode).toBe(0);
  });

  test('prints why its store cannot be written; clients do not get the reason', async () => {
    const cause = 'SQLiteError: database or disk is full';
    const failure = new TurnpikeError('store_unavailable', 'The ledger cannot be written.', { cause });
    world.world.startServer = () => Promise.reject(failure);
    const words = `turnpike serve: The ledger cannot be written. (${cause})\n`;
    expect(await world.run('serve')).toEqual({ exitCode: 1, out: '', error: words });
  });

  test('exits 1 with the reason when it cannot start, or fails later', async () => {
    world.world.startServer = () => Promise.reject(new Error('the port is taken'));
    const unstarted = await world.run('serve');
    expect([unstarted.exitCode, unstarted.error.includes('the port is taken')]).toEqual([1, true]);
    const broken = Promise.withResolvers<never>();
    standIn(broken.promise);
    const running = world.run('serve');
    broken.reject(new Error('the ledger is unavailable'));
    const ran = await running;
    expect([ran.exitCode, ran.error.includes('the ledger is unavailable')]).toEqual([1, true]);
    expect(process.listenerCount('SIGTERM')).toBe(0);
  });
});

describe('check', () => {
  test('prints its report, and exits 1 when it has faults', async () => {
    const report = {
      ok: true,
      accounts: 2,
      entries: 3,
      open_holds: 0,
      usage_since: null,
      journal_since: null,
      faults: [] as string[],
    };
    world.world.checkStore = async (config) => {
      expect(config.dataDirectory).toBe('/elsewhere');
      return report;
    };
    expect(await world.runJson('check', '--data', '/elsewhere')).toEqual(report);
    const faulty = { ...report, ok: false, faults: ['acct_x: held is wrong'] };
    world.world.checkStore = async () => faulty;
    const json = await world.run('check', '--json');
    expect([json.exitCode, JSON.parse(json.out)]).toEqual([1, faulty]);
    const { exitCode, out, error } = await world.run('check');
    expect([exitCode, error]).toEqual([1, 'acct_x: held is wrong\n']);
    expect(out).toMatch(/^OK +no$/m);
  });

  test('of an unreadable store prints the failure in the shape of a report, and exits 1', async () => {
    world.world.checkStore = () => Promise.reject(new Error('there is no database at /nowhere'));
    const json = await world.run('check', '--json');
    const faults = ['there is no database at /nowhere'];
    expect([json.exitCode, JSON.parse(json.out)]).toEqual([
      1,
      { ok: false, accounts: 0, entries: 0, open_holds: 0, usage_since: null, journal_since: null, faults },
    ]);
    const words = 'turnpike check: there is no database at /nowhere\n';
    expect(json.error).toBe(words);
    expect(await world.run('check')).toEqual({ exitCode: 1, out: '', error: words });
  });
});
