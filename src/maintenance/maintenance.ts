// The root of what works on a data directory by itself, with or without its server: puts stores
// together with what reads them, and leaves no process behind.

import type { Maintenance } from '../commands/commands.ts';
import { backUp } from './back-up.ts';
import { forgetPreviousSecret, rotateSecret, secretStatus } from './change-secret.ts';
import { diagnose } from './diagnose.ts';
import { gatherFacts } from './gather-facts.ts';
import { move, takeBack } from './move.ts';

export { checkStore } from './check-store.ts';

/** What the commands ask for, on the clock of this machine. */
export const maintenance: Maintenance = {
  backUp,
  move,
  takeBack: async (config) => takeBack(config),
  diagnose: async (config, settingFaults, service) =>
    diagnose(await gatherFacts(config, settingFaults, service, Date.now())),
  secretStatus: async (config) => secretStatus(config, Date.now()),
  rotateSecret: async (config, isForced) => rotateSecret(config, isForced, Date.now()),
  forgetPreviousSecret: async (config, isForced) => forgetPreviousSecret(config, isForced, Date.now()),
};
