// Installs what clients need, at pinned versions, beside their programs, or says that it cannot be had. No tests of its own.

import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Need, programsDirectory } from './clients.ts';
import { chromium } from './open-browser.ts';

const INSTALL_MS_MAX = 240_000;
/** Compiles TLS. */
const RUST_MS_MAX = 900_000;

const installers: Record<Need, () => Promise<boolean>> = {
  node: async () => Bun.which('node') !== null,
  packages: () => installPackages('.'),
  'packages-extra': () => installPackages('extra'),
  python: () => installPython('requirements.txt', '.venv'),
  'python-extra': () => installPython('extra/requirements.txt', 'extra/.venv'),
  chromium: async () => chromium !== null && (await installers.packages()),
  curl: async () => Bun.which('curl') !== null,
  // Built each time: Go and Maven keep what they fetched themselves.
  go: async () =>
    (await runQuietly(['go', 'build', '-C', 'go', '-o', '.built/program', '.'])) &&
    (await runQuietly(['go', 'build', '-C', 'go', '-o', '.built/openai', './openai'])),
  rust: installRust,
  java: () =>
    runQuietly([
      'mvn',
      '-q',
      '-B',
      '-Dstyle.color=never',
      '-f',
      'java/pom.xml',
      'dependency:copy-dependencies',
      '-DoutputDirectory=.built',
    ]),
};

/** Installs; false where it cannot be had, and what the installer said stands above. */
export async function installNeed(need: Need): Promise<boolean> {
  const startedMs = performance.now();
  const isThere = await installers[need]();
  console.log(
    `${need}: ${isThere ? 'there' : 'NOT TO BE HAD'} (${Math.round((performance.now() - startedMs) / 1_000)} s)`,
  );
  return isThere;
}

/** No install script is needed or run: programs come as a package for each kind of machine. */
function installPackages(directory: string): Promise<boolean> {
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'];
  return once(join(directory, 'package-lock.json'), join(directory, 'node_modules'), [
    ['npm', 'ci', '--prefix', directory, ...quiet],
  ]);
}

function installPython(list: string, place: string): Promise<boolean> {
  const quiet = ['--quiet', '--disable-pip-version-check', '--no-input'];
  return once(list, place, [
    ['python3', '-m', 'venv', '--clear', place],
    [join(place, 'bin/python'), '-m', 'pip', 'install', ...quiet, '-r', list],
  ]);
}

/** Cargo wants its manifest under this name, and writes beside it. */
function installRust(): Promise<boolean> {
  const [built, manifest] = ['rust/.built', 'rust/.built/Cargo.toml'];
  mkdirSync(join(programsDirectory, built), { recursive: true });
  copyFileSync(join(programsDirectory, 'rust/manifest.toml'), join(programsDirectory, manifest));
  return runQuietly(['cargo', 'build', '--quiet', '--release', '--manifest-path', manifest], RUST_MS_MAX);
}

/** Runs the commands when `place` was not made from this `list`, of which it keeps a copy. */
async function once(list: string, place: string, commands: readonly string[][]): Promise<boolean> {
  const [wanted, made] = [join(programsDirectory, list), join(programsDirectory, place, '.installed')];
  if (existsSync(made) && readFileSync(made).equals(readFileSync(wanted))) return true;
  for (const command of commands) if (!(await runQuietly(command))) return false;
  copyFileSync(wanted, made);
  return true;
}

async function runQuietly(command: readonly string[], msMax = INSTALL_MS_MAX): Promise<boolean> {
  try {
    const child = Bun.spawn([...command], {
      cwd: programsDirectory,
      stdio: ['ignore', 'inherit', 'inherit'],
      timeout: msMax,
    });
    return (await child.exited) === 0;
  } catch (fault) {
    console.log(String(fault)); // no such program
    return false;
  }
}
