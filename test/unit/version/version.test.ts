// Versions of checkouts, in repositories of real git.

import { afterEach, beforeEach, expect, test } from 'bun:test';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { developmentVersion, versionOfCheckout } from '../../../src/version.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'turnpike-version-'));
  writeFileSync(join(root, 'package.json'), '{ "version": "1.0.0" }\n');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function git(...given: string[]): string {
  const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com'];
  const { success, stdout, stderr } = Bun.spawnSync(['git', ...identity, ...given], { cwd: root });
  if (!success) throw new Error(stderr.toString());
  return stdout.toString().trim();
}

function commit(): string {
  git('add', '.');
  git('commit', '--quiet', '--allow-empty', '--message', 'Change something');
  return git('rev-parse', 'HEAD').slice(0, 12);
}

test('only the commit with the tag has the version of the release', () => {
  git('init', '--quiet');
  expect(versionOfCheckout(root)).toBe('1.0.0-dev'); // Nothing is committed yet.
  const before = commit();
  expect(versionOfCheckout(root)).toBe(`1.0.0-dev+${before}`);
  git('tag', 'v0.9.0');
  expect(versionOfCheckout(root)).toBe(`1.0.0-dev+${before}`);
  for (const kind of [[], ['--annotate', '--message', 'Release']]) {
    git('tag', ...kind, 'v1.0.0');
    expect(versionOfCheckout(root)).toBe('1.0.0');
    writeFileSync(join(root, 'package.json'), '{ "version": "1.0.0", "private": true }\n');
    expect(versionOfCheckout(root)).toBe(`1.0.0-dev+${git('rev-parse', 'HEAD').slice(0, 12)}.dirty`);
    git('checkout', '--quiet', '.');
    const after = commit();
    expect(versionOfCheckout(root)).toBe(`1.0.0-dev+${after}`);
    git('tag', '--delete', 'v1.0.0');
  }
});

test('an archive has the version of its release, and a repository that git cannot read has no commit', () => {
  expect(versionOfCheckout(root)).toBe('1.0.0');
  writeFileSync(join(root, '.git'), 'gitdir: elsewhere\n');
  expect(versionOfCheckout(root)).toBe('1.0.0-dev');
});

test.skipIf(process.getuid?.() !== 0)('a checkout that another user owns names its commit', () => {
  git('init', '--quiet');
  const commitId = commit();
  for (const path of [root, join(root, '.git')]) chownSync(path, 12_345, 12_345);
  expect(versionOfCheckout(root)).toBe(`1.0.0-dev+${commitId}`);
});

test('another repository named by the environment is not asked', () => {
  git('init', '--quiet');
  const commitId = commit();
  const script = `import { versionOfCheckout } from ${JSON.stringify(join(import.meta.dir, '../../../src/version.ts'))};
    console.log(versionOfCheckout(${JSON.stringify(root)}));`;
  const env = { ...process.env, GIT_DIR: join(root, 'nowhere'), GIT_WORK_TREE: tmpdir() };
  const { stdout } = Bun.spawnSync([process.execPath, '--eval', script], { env });
  expect(stdout.toString()).toBe(`1.0.0-dev+${commitId}\n`);
});

test('a version of a build names its commit if that is known', () => {
  expect(developmentVersion('1.0.0', '0123456789ab')).toBe('1.0.0-dev+0123456789ab');
  expect(developmentVersion('1.0.0', '')).toBe('1.0.0-dev');
});
