// Makes a file, or the names in a directory, durable.

import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Throws the system's error. */
export function syncPath(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
