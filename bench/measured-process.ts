// A child process with its processor time and memory, read from the system.

import { readFileSync } from 'node:fs';

const TICK_MS = 10; // Linux counts processor time in hundredths of a second

export interface MeasuredProcess extends AsyncDisposable {
  url: string;
  pid: number;
  /** User and system time of all its threads so far. */
  cpuMs(): number;
  residentMegabytes(): number;
  stop(): Promise<void>;
}

/** Starts a command that prints `listening on http://…`. Throws when it exits before. */
export async function startMeasured(
  command: string[],
  environment: Record<string, string> = {},
): Promise<MeasuredProcess> {
  const child = Bun.spawn(command, {
    env: { ...process.env, ...environment },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'ignore',
  });
  const reader = child.stdout.getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`${command.join(' ')} ended: ${text}`);
    text += new TextDecoder().decode(value);
    const match = /listening on (http:\/\/\S+)/.exec(text);
    if (match === null) continue;
    reader.releaseLock();
    const stop = async () => {
      child.kill('SIGTERM');
      await child.exited;
    };
    return {
      url: match[1] as string,
      pid: child.pid,
      cpuMs: () => readCpuMs(child.pid),
      residentMegabytes: () => readResidentMegabytes(child.pid),
      stop,
      [Symbol.asyncDispose]: stop,
    };
  }
}

export function readCpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

function readResidentMegabytes(pid: number): number {
  const match = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(match?.[1] ?? Number.NaN) / 1024;
}
