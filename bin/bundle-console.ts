// Bundles, minifies and compresses console/ into dist/console/<hash of the sources>, and prints that directory. An
// existing one is reused. `npm run build` puts the files into the executable.

import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip as gzipOf } from 'node:zlib';
import type { Manifest } from '../src/console/built-files.ts';
import { buildConsole, type ConsoleFile } from './console-files.ts';

const compress = promisify(brotliCompress);
const zip = promisify(gzipOf);

const root = resolve(import.meta.dir, '..');
const sources = join(root, 'console');

/** Smaller files are not compressed. */
const COMPRESSED_BYTES_MIN = 1000;
const KEPT_MS = 30 * 86_400_000;

/**
 * Returns the directory with the files, and creates it if needed. Throws when console/ cannot be bundled. The highest
 * quality of compression, 11, takes seconds.
 */
export async function bundleConsole(quality = 9): Promise<string> {
  const fingerprint = fingerprintSources(quality);
  const places = [join(root, 'dist', 'console'), join(tmpdir(), `turnpike-console-${ownUser()}`)].filter(isOwn);
  const made = places.map((place) => join(place, fingerprint)).find(isMade);
  if (made !== undefined) return made;
  const place = places.find(canWrite);
  if (place === undefined) throw new Error(`cannot write to ${places.join(' or ')}`);
  const making = mkdtempSync(join(place, 'making-'));
  try {
    await bundle(making, quality);
    putInPlace(making, join(place, fingerprint));
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
  dropOld(place);
  return join(place, fingerprint);
}

/** Removes old bundles, but not recent ones: a service that runs since before an upgrade still serves its own. */
function dropOld(place: string): void {
  for (const name of readdirSync(place)) {
    const path = join(place, name);
    if (Date.now() - statSync(path).mtimeMs > KEPT_MS) rmSync(path, { recursive: true, force: true });
  }
}

/** A hash of all sources and the quality. */
function fingerprintSources(quality: number): string {
  const hash = createHash('sha256').update(String(quality));
  const names = readdirSync(sources, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  for (const name of [
    ...names,
    join(root, 'package-lock.json'),
    import.meta.path,
    join(import.meta.dir, 'console-files.ts'),
  ])
    hash.update(name.slice(root.length)).update('\0').update(readFileSync(name)).update('\0');
  return hash.digest('hex').slice(0, 16);
}

/** Refuses files of another user: they are scripts for the operators' browsers. */
function isOwn(place: string): boolean {
  if (!existsSync(place)) return true;
  const { uid, mode } = lstatSync(place);
  return place.startsWith(root) || (uid === ownUser() && (mode & 0o077) === 0);
}

function ownUser(): number {
  return process.getuid?.() ?? 0;
}

function isMade(directory: string): boolean {
  return existsSync(join(directory, 'manifest.json'));
}

function canWrite(place: string): boolean {
  try {
    mkdirSync(place, { recursive: true, mode: 0o700 });
    rmSync(mkdtempSync(join(place, 'making-')), { recursive: true });
    return true;
  } catch {
    return false;
  }
}

/** When two processes made the same bundle, the first one stays. */
function putInPlace(making: string, directory: string): void {
  const manifest = JSON.parse(readFileSync(join(making, 'manifest.json'), 'utf8').replaceAll(making, directory));
  writeFileSync(join(making, 'manifest.json'), JSON.stringify(manifest));
  try {
    renameSync(making, directory);
  } catch (failure) {
    if (!isMade(directory)) throw failure;
  }
}

async function bundle(directory: string, quality: number): Promise<void> {
  const manifest: Manifest = {};
  const place = async (name: string, { type, bytes }: ConsoleFile) => {
    const path = join(directory, name);
    writeFileSync(path, bytes);
    const encoded: Record<string, string> = {};
    manifest[name] = { type, path, encoded };
    if (bytes.length < COMPRESSED_BYTES_MIN || name === 'index.html') return;
    const params = { [constants.BROTLI_PARAM_QUALITY]: quality };
    const [brotli, gzip] = await Promise.all([compress(bytes, { params }), zip(bytes, { level: 9 })]);
    writeFileSync(`${path}.br`, brotli);
    writeFileSync(`${path}.gz`, gzip);
    Object.assign(encoded, { br: `${path}.br`, gzip: `${path}.gz` });
  };
  await Promise.all([...(await buildConsole())].map(([name, file]) => place(name, file)));
  writeFileSync(join(directory, 'manifest.json'), JSON.stringify(manifest));
}

if (import.meta.main) console.log(await bundleConsole());
