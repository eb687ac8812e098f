// What a start shows this once, because nobody can find it again: on a terminal, else in a file that only its owner can read.

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import type { StartOptions } from './server.ts';

export interface Shown {
  /** What is to be copied. */
  text: string;
  /** What it is, above it on a terminal. */
  words: string;
  /** In the data directory. */
  file: string;
  /** Begins the sentence that ends with the file. */
  fileWords: string;
}

export function showOnce(config: Config, options: StartOptions, { text, words, file, fileWords }: Shown): void {
  if (process.stdout.isTTY) {
    options.print(`${words}\n\n  ${text}\n`);
    return;
  }
  const path = join(config.dataDirectory, file);
  rmSync(path, { force: true });
  writeFileSync(path, `${text}\n`, { mode: 0o600, flag: 'wx' });
  options.print(`${fileWords} ${path}`);
}
