// Locates the console's files: in the executable, or in dist/ of this checkout, where the first request builds them.
// A separate process builds them, because that takes a second and much memory.

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { bounds } from '../config/config.ts';
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

/** The manifest that bin/bundle-console.ts writes next to the files: names and their sources. */
export type Manifest = Record<string, BuiltFile>;

const root = resolve(import.meta.dir, '../..');

/** Builds the files first if they are not up to date with console/. Rejects with the bundler's message. */
export async function openBuiltFiles(): Promise<BuiltFiles> {
  if (embeddedFiles !== null) return filesOf(embeddedFiles);
  // The bundler gets nothing of the service's environment, which has the secret.
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
  if (exitCode !== 0) throw new Error(`bin/bundle-console.ts exited with ${exitCode}: ${complaint.slice(-4000)}`);
  const directory = said.trim();
  const manifest = JSON.parse(readFileSync(join(directory, 'manifest.json'), 'utf8')) as Manifest;
  return filesOf(manifest);
}

function filesOf(manifest: Manifest): BuiltFiles {
  const files = new Map(Object.entries(manifest));
  const page = files.get('index.html');
  if (page === undefined) throw new Error('the console was built without index.html');
  return { get: (name) => files.get(name), page: readFileSync(page.path, 'utf8') };
}
