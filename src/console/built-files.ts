// Where the console's files are: within the executable, or beside this checkout in dist/, made there the
// first time that somebody asks for them. Making them is a process of its own, since it takes a second and much memory.

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { bounds } from '../config.ts';
import { embeddedFiles } from './embedded-files.ts';

export interface BuiltFile {
  type: string;
  path: string;
  /** Compressed forms by the name of their encoding, the smallest first. */
  encoded: Record<string, string>;
}

export interface BuiltFiles {
  /** By the name under /console/, such as "main-1a2b3c.js". */
  get(name: string): BuiltFile | undefined;
  /** The text of the page. */
  page: string;
}

/** What bin/bundle-console.ts writes beside the files: their names, and where each is from there. */
export type Manifest = Record<string, BuiltFile>;

const root = resolve(import.meta.dir, '../..');

/** Makes the files first where they are not yet made of what console/ is now. Rejects with what the bundler said. */
export async function openBuiltFiles(): Promise<BuiltFiles> {
  if (embeddedFiles !== null) return filesOf(embeddedFiles);
  // Nothing of the service's environment is for it, its secret least of all.
  const limits = {
    env: {},
    timeout: bounds.consoleBundleMsMax,
    stdio: ['ignore', 'pipe', 'pipe'] as ['ignore', 'pipe', 'pipe'],
  };
  const command = [process.execPath, '--no-env-file', '--config=/dev/null', join(root, 'bin/bundle-console.ts')];
  const child = Bun.spawn(command, limits);
  const [said, complaint, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (exitCode !== 0) throw new Error(`bin/bundle-console.ts ended with ${exitCode}: ${complaint.slice(-4000)}`);
  const directory = said.trim();
  const manifest = JSON.parse(readFileSync(join(directory, 'manifest.json'), 'utf8')) as Manifest;
  return filesOf(manifest);
}

function filesOf(manifest: Manifest): BuiltFiles {
  const files = new Map(Object.entries(manifest));
  const page = files.get('index.html');
  if (page === undefined) throw new Error('the console was built without its page');
  return { get: (name) => files.get(name), page: readFileSync(page.path, 'utf8') };
}
