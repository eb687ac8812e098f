// The executable, built once for all tests of a file, alone in a directory, with only the environment that a test
// gives.

import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootDirectory } from '../../check.ts';
import type { RanProcess } from '../../support/run-turnpike.ts';
import { attachTurnpike, type Turnpike } from '../../support/start-turnpike.ts';

/** A machine with nothing of Turnpike but the executable. */
export interface BareMachine extends Disposable {
  /** Contains the executable as "turnpike", and is the working directory of every command. */
  directory: string;
  /** Runs a command to its end. */
  run(...given: string[]): Promise<RanProcess>;
  /** Starts the service in `data`; resolves when it listens. */
  serve(data: string, flags?: readonly string[], environment?: Record<string, string>): Promise<ExecutedTurnpike>;
}

export interface ExecutedTurnpike extends Turnpike {
  process: Bun.Subprocess<'ignore', 'pipe', 'ignore'>;
}

/** Builds it in a directory of its own. */
export async function buildExecutable(): Promise<string> {
  const target = join(mkdtempSync(join(tmpdir(), 'turnpike-build-')), 'turnpike');
  const child = Bun.spawn([process.execPath, join(rootDirectory, 'bin', 'build.ts'), target], {
    cwd: rootDirectory,
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  });
  const said = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`there is no executable: ${said}`);
  return target;
}

export function makeBareMachine(executable: string): BareMachine {
  const home = mkdtempSync(join(tmpdir(), 'turnpike-bare-'));
  const directory = join(home, 'only-this');
  mkdirSync(directory);
  cpSync(executable, join(directory, 'turnpike'));
  const spawn = (given: readonly string[], environment: Record<string, string>) => ({
    command: [join(directory, 'turnpike'), ...given],
    options: { cwd: directory, env: { HOME: '', PATH: '', ...environment } },
  });
  return {
    directory,
    async run(...given) {
      const { command, options } = spawn(given, {});
      const child = Bun.spawn(command, { ...options, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
      const [out, error] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
      return { exitCode: await child.exited, out, error };
    },
    async serve(data, flags = [], environment = {}) {
      const given = ['serve', '--listen', '127.0.0.1:0', '--data', data, ...flags];
      const { command, options } = spawn(given, { TURNPIKE_LOG: 'off', ...environment });
      const child = Bun.spawn(command, { ...options, stdin: 'ignore', stdout: 'pipe', stderr: 'ignore' });
      const turnpike = await attachTurnpike(child.stdout, join(directory, data));
      const stop = async () => {
        child.kill('SIGTERM');
        await child.exited;
      };
      return Object.assign(turnpike, { process: child, stop, [Symbol.asyncDispose]: stop });
    },
    [Symbol.dispose]: () => rmSync(home, { recursive: true, force: true }),
  };
}
