// Collects the license texts of the runtime and of all packages that the service and the console are built with.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Notice } from '../commands/commands.ts';

interface LockedPackage {
  version: string;
  license?: string;
  dev?: boolean;
  devOptional?: boolean;
  optional?: boolean;
}

const licenseFile = /^(?:licen[cs]e|copying|notice)(?:[-.].*)?$/i;

/** The packages with the runtime, one for each kind of machine: bun.md has its licenses. */
const runtimePackage = /^node_modules\/(?:bun|@oven\/.*)$/;

/**
 * Packages with the same text share a notice. They are the production dependencies in package-lock.json, whether or not
 * the bundler keeps code of them. Throws if one is not installed.
 */
export function collectNotices(root: string): Notice[] {
  const locked = (JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { packages: Locked }).packages;
  const notices = new Map<string, Notice>();
  const add = (name: string, license: string, text: string) => {
    const notice = notices.get(text) ?? { packages: [], license, text };
    if (!notice.packages.includes(name)) notice.packages.push(name);
    notices.set(text, notice);
  };
  const runtime = readFileSync(join(import.meta.dir, 'bun.md'), 'utf8').trim();
  add(`bun ${locked['node_modules/bun']?.version}`, 'MIT, with libraries under other licenses', runtime);
  for (const [path, { version, license = 'unknown', dev, devOptional, optional }] of Object.entries(locked)) {
    if (path === '' || dev || devOptional || runtimePackage.test(path)) continue;
    const directory = join(root, path);
    if (optional && !existsSync(directory)) continue;
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    add(`${name} ${version}`, license, readLicense(directory, license));
  }
  return [...notices.values()];
}

type Locked = Record<string, LockedPackage>;

function readLicense(directory: string, license: string): string {
  const files = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isFile());
  const names = files.map(({ name }) => name).filter((name) => licenseFile.test(name));
  const texts = names.sort().map((name) => readFileSync(join(directory, name), 'utf8').replaceAll('\r\n', '\n').trim());
  return texts.length > 0 ? texts.join('\n\n') : statementOf(directory, license);
}

/** For a package that states its license and has no text of it. */
function statementOf(directory: string, license: string): string {
  const { author } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Author;
  const name = typeof author === 'string' ? author : author?.name;
  const holders = name ?? 'its authors';
  return `Copyright by ${holders}. The package states the license ${license} without its text: https://spdx.org/licenses/`;
}

interface Author {
  author?: string | { name?: string };
}
