// The console's files within one executable: bin/build.ts puts a manifest in place of this null.

import type { Manifest } from './built-files.ts';

export const embeddedFiles: Manifest | null = null;
