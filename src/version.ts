// This program's version: "1.0.0" for a release, "1.0.0-dev+0123456789ab" for any other commit.

import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** Set by bin/build.ts in the executable, which has no package.json. */
declare const TURNPIKE_VERSION: string | undefined;

export function readVersion(): string {
  if (typeof TURNPIKE_VERSION === 'string') return TURNPIKE_VERSION;
  return versionOfCheckout(resolve(import.meta.dir, '..'));
}

/**
 * The version in package.json is that of a release only at the commit with its tag. A directory without git is taken
 * for an archive of the tag.
 */
export function versionOfCheckout(root: string): string {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const repository = join(root, '.git');
  if (!existsSync(repository)) return version;
  const [, distance, commit = '', changes = ''] = describeCommit(root, repository, `v${version}`) ?? [];
  return distance === '0' && changes === '' ? version : developmentVersion(version, commit + changes);
}

/** `commit` may be empty if it is unknown, or end with "-dirty". */
export function developmentVersion(version: string, commit: string): string {
  const name = commit.replace('-', '.');
  return name === '' ? `${version}-dev` : `${version}-dev+${name}`;
}

/** The number of commits since the tag, the abbreviated id, and "-dirty" if files differ. Null if git cannot tell. */
function describeCommit(root: string, repository: string, tag: string): RegExpExecArray | null {
  const options = ['--tags', '--match', tag, '--long', '--always', '--abbrev=12', '--dirty'];
  // Named explicitly, so that variables such as GIT_DIR do not lead to another repository, and that another user may own it.
  const place = [`--git-dir=${repository}`, `--work-tree=${root}`, '--no-optional-locks'];
  try {
    const { stdout } = Bun.spawnSync(['git', ...place, 'describe', ...options], { cwd: root });
    return /^(?:v.*-(\d+)-g)?([0-9a-f]{12})(-dirty)?$/.exec(stdout.toString().trim());
  } catch {
    return null; // there is no git program
  }
}
