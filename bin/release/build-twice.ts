// Builds the executables from the files of a commit and freshly installed packages, twice, and compares the bytes.

import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand, StepFailed } from './run-command.ts';
import type { Runtime, Target } from './runtimes.ts';
import { sha256 } from './sha256.ts';

export interface Build {
  /** The repository. */
  root: string;
  commit: string;
  /** For development builds, whose version names their commit. */
  isDevelopment: boolean;
  runtimes: ReadonlyMap<Target, Runtime>;
  /** An empty directory for everything that is made. */
  work: string;
}

export interface Built {
  /** The files of the commit, with production dependencies. */
  source: string;
  /** Has an executable for each target, with the name of the machine. */
  directory: string;
}

/** Throws StepFailed if the bytes of two builds differ. */
export function buildTwice(build: Build): Built {
  const { root, commit, runtimes, work } = build;
  const sources = [join(work, 'first', 'turnpike'), join(work, 'second-with-a-longer-name', 'turnpike')] as const;
  const directories = [join(work, 'built-first'), join(work, 'built-second')] as const;
  for (const source of sources) mkdirSync(join(source, '..'));
  mkdirSync(sources[0]);
  const archive = join(work, 'commit.tar');
  runCommand(['git', 'archive', '--output', archive, commit], root);
  runCommand(['tar', '-xf', archive, '-C', sources[0]], root);
  buildAll(build, sources[0], directories[0]);
  renameSync(...sources); // with the packages, whose installation takes most of the time
  buildAll(build, sources[1], directories[1]);
  for (const { machine } of runtimes.keys()) {
    const [first, second] = directories.map((directory) => sha256(join(directory, machine)));
    if (first !== second) throw new StepFailed(`two builds for ${machine} differ: ${first} and ${second}`);
  }
  return { source: sources[1], directory: directories[0] };
}

function buildAll({ isDevelopment, commit, runtimes }: Build, source: string, directory: string): void {
  for (const [{ machine, bun }, { path }] of runtimes) {
    const options = ['--target', bun, '--runtime', path, ...(isDevelopment ? ['--commit', commit] : [])];
    const command = ['sh', 'bin/with-bun', 'production', 'bin/build.ts', join(directory, machine), ...options];
    console.log(runCommand(command, source).trim());
  }
  rmSync(join(source, 'dist'), { recursive: true });
}
