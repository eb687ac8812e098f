// The licenses of the software that Turnpike is built with: in the executable those of its build, in a checkout those of
// the installed packages.

import { resolve } from 'node:path';
import type { Notice } from '../commands/commands.ts';
import { collectNotices } from './collect-notices.ts';
import { embeddedNotices } from './embedded-notices.ts';

export { collectNotices };

export function readNotices(): readonly Notice[] {
  return embeddedNotices ?? collectNotices(resolve(import.meta.dir, '../..'));
}
