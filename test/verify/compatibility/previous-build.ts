// The last release before this commit, from the history of this clone.

import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { $ } from 'bun';
import { rootDirectory } from '../../check.ts';

/** Stands for the previous release until there is a tag. */
const FIRST = '4dd84680d9a466628fc290c0d398c1676b5b65df';

/** The newest tag before this commit, such as v1.0.0. */
export async function findPrevious(): Promise<string> {
  const tag = await $`git describe --tags --abbrev=0 --match ${'v[0-9]*'} HEAD^`.cwd(rootDirectory).quiet().nothrow();
  return tag.exitCode === 0 ? tag.stdout.toString().trim() : FIRST;
}

/** Writes the files of a commit or tag into a new directory, with installed packages. */
export async function unpackBuild(commit: string, directory: string): Promise<void> {
  const found = await $`git cat-file -e ${`${commit}^{commit}`}`.cwd(rootDirectory).quiet().nothrow();
  if (found.exitCode !== 0)
    throw new Error(
      `this clone has no ${commit}: it needs the whole history and its tags (git fetch --unshallow --tags)`,
    );
  mkdirSync(directory, { recursive: true });
  await $`git archive ${commit} | tar -x -C ${directory}`.cwd(rootDirectory).quiet();
  if (hasItsPackages(directory)) symlinkSync(join(rootDirectory, 'node_modules'), join(directory, 'node_modules'));
  else await $`sh bin/with-bun all --version`.cwd(directory).quiet();
}

/** Whether the packages of this build are those of that one, or more. */
function hasItsPackages(directory: string): boolean {
  const readDependencies = (root: string): Record<string, string> => {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    return { ...dependencies, ...devDependencies };
  };
  const here = readDependencies(rootDirectory);
  return Object.entries(readDependencies(directory)).every(([name, version]) => here[name] === version);
}
