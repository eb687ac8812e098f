// A copy of the tree in which one place is changed. It shares the installed packages, which are only read.

import { cpSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { rootDirectory } from '../../check.ts';

/** Packages that client tests install below test/; no mutant needs them. */
const INSTALLED = /\/(?:node_modules|\.venv|\.built)$/;

export function copyTree(copy: string): void {
  for (const name of ['src', 'console', 'test', 'docs', 'package.json', 'tsconfig.json'])
    cpSync(join(rootDirectory, name), join(copy, name), { recursive: true, filter: (path) => !INSTALLED.test(path) });
  symlinkSync(join(rootDirectory, 'node_modules'), join(copy, 'node_modules'));
}
