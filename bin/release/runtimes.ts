// The Bun executables of the machines that releases are for. They are npm packages, and package-lock.json has their hashes.

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand, StepFailed } from './run-command.ts';

export interface Target {
  /** As in the name of the file: "linux-arm64". */
  machine: string;
  /** For the compiler. */
  bun: string;
  /** The package of its runtime. */
  package: string;
  /** As Docker names its processor; absent if there is no image for it. */
  imageArchitecture?: string;
}

export const targets: readonly Target[] = [
  { machine: 'linux-x64', bun: 'bun-linux-x64', package: '@oven/bun-linux-x64', imageArchitecture: 'amd64' },
  { machine: 'linux-arm64', bun: 'bun-linux-arm64', package: '@oven/bun-linux-aarch64', imageArchitecture: 'arm64' },
  { machine: 'darwin-arm64', bun: 'bun-darwin-arm64', package: '@oven/bun-darwin-aarch64' },
];

export interface Runtime {
  package: string;
  version: string;
  /** Of the package's archive, in hexadecimal. */
  sha512: string;
  /** The executable. */
  path: string;
}

/** Gets the package of the version that package-lock.json names. Throws StepFailed if its hash is another one. */
export function fetchRuntime(root: string, name: string, directory: string): Runtime {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string; integrity: string } | undefined>;
  };
  const locked = packages[`node_modules/${name}`];
  if (locked === undefined) throw new StepFailed(`package-lock.json has no ${name}`);
  const place = join(directory, name);
  mkdirSync(place, { recursive: true });
  const pack = ['npm', 'pack', `${name}@${locked.version}`, '--prefer-offline', '--silent'];
  const archive = join(place, runCommand([...pack, '--pack-destination', place], directory).trim());
  const hash = createHash('sha512').update(readFileSync(archive)).digest();
  if (`sha512-${hash.toString('base64')}` !== locked.integrity)
    throw new StepFailed(`${name} ${locked.version} is not the package whose hash is in package-lock.json`);
  runCommand(['tar', '-xzf', archive, '-C', place], directory);
  const path = join(place, 'package', 'bin', 'bun');
  return { package: name, version: locked.version, sha512: hash.toString('hex'), path };
}
