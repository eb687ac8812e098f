// The hash by which a release names its files.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Of a file, in hexadecimal. */
export function sha256(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}
