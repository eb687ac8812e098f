// Lowers the priority of a thread below those that serve messages.

import { setPriority } from 'node:os';

/** Applies to the current thread, on Linux only: elsewhere it would apply to the process. `niceness` is 1 to 19. */
export function giveWay(niceness: number): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(0, niceness);
  } catch {
    // Not allowed here: the thread then competes with messages for the processor.
  }
}
