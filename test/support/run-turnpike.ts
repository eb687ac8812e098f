// Runs commands as separate processes, for tests that depend on that.

import { turnpikeCommand } from './build-executable.ts';

export interface RanProcess {
  exitCode: number;
  out: string;
  error: string;
}

/** Starts a command with only the given environment. */
export function spawnCommand(given: readonly string[], environment: Record<string, string> = {}) {
  const env = { PATH: '/usr/bin:/bin', TURNPIKE_LOG: 'off', ...environment };
  return Bun.spawn([...turnpikeCommand(), ...given], { env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
}

/** Runs a command to its end. */
export async function runTurnpike(
  given: readonly string[],
  environment: Record<string, string> = {},
): Promise<RanProcess> {
  const child = spawnCommand(given, environment);
  const [out, error] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { exitCode: await child.exited, out, error };
}
