// Removes directories of this process once it has ended, for whatever reason.

import { spawn } from 'bun';

/** The pipe closes with this process; what it started may need a moment to end, too. */
export function removeAtEnd(directory: string): void {
  const removal = ['sh', '-c', 'cat; sleep 1; rm -rf "$0"', directory];
  spawn(removal, { stdin: 'pipe', stdout: 'ignore', stderr: 'ignore' }).unref();
}
