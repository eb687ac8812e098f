// The console's files within one executable: bin/build.ts replaces this null by a manifest.

import type { Manifest } from './built-files.ts';

export const embeddedFiles: Manifest | null = null;
