// Lowers the priority of a thread below those that serve messages.

import { setPriority } from 'node:os';

/** Of the current thread, and only on Linux: elsewhere it would apply to the process. `niceness` is 1 to 19. */
export function giveWay(niceness: number): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(0, niceness);
  } catch {
    // Not allowed here: the thread then competes with messages for the processor.
  }
}
