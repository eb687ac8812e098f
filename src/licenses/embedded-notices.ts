// The notices of third-party software within one executable: bin/build.ts replaces this null by them.

import type { Notice } from '../commands/commands.ts';

export const embeddedNotices: readonly Notice[] | null = null;
