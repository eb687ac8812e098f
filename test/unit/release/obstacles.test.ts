// A release is built of one commit only: the one whose version, tag and changelog agree. In repositories of real git.

import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findObstacles } from '../../../bin/release/preconditions.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'turnpike-obstacles-'));
  git('init', '--quiet');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function git(...given: string[]): void {
  const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com'];
  const { success, stderr } = Bun.spawnSync(['git', ...identity, ...given], { cwd: root });
  if (!success) throw new Error(stderr.toString());
}

function commit(version: string, locked: string, heading: string): void {
  writeFileSync(join(root, 'package.json'), JSON.stringify({ version }));
  writeFileSync(join(root, 'package-lock.json'), JSON.stringify({ version: locked }));
  writeFileSync(join(root, 'CHANGELOG.md'), `# Changelog\n\n## ${heading}\n\n## 0.9.0\n`);
  git('add', '.');
  git('commit', '--quiet', '--message', 'Prepare a release');
}

const tag = (name: string) => git('tag', '--annotate', '--message', 'Release', name);

test('nothing is in the way of a clean, tagged commit whose changelog names its version', () => {
  for (const heading of ['1.2.0', '1.2.0, 2027-01-31']) {
    commit('1.2.0', '1.2.0', heading);
    tag('v1.2.0');
    expect(findObstacles(root)).toEqual([]);
    git('tag', '--delete', 'v1.2.0');
  }
});

test('each disagreement is named', () => {
  commit('1.2.0', '1.1.0', '1.2.0, unreleased');
  expect(findObstacles(root)).toEqual([
    'package-lock.json has the version 1.1.0, and package.json 1.2.0',
    'the first heading of CHANGELOG.md is "1.2.0, unreleased"; it must be "1.2.0"',
    "the last commit does not have the tag v1.2.0: git tag --sign v1.2.0 --message 'Turnpike 1.2.0'",
  ]);
  commit('1.2.0-rc.1', '1.2.0-rc.1', '1.2.0-rc.1');
  tag('v1.2.0-rc.1');
  expect(findObstacles(root)).toEqual(['package.json has the version 1.2.0-rc.1, which is not that of a release']);
});

test('the tag of another commit, and a tag without author and date, are not enough', () => {
  commit('1.2.0', '1.2.0', '1.2.0');
  git('tag', 'v1.2.0');
  expect(findObstacles(root)).toEqual(['the tag v1.2.0 has no author and no date: make it with --sign or --annotate']);
  git('tag', '--delete', 'v1.2.0');
  tag('v1.2.0');
  commit('1.2.0', '1.2.0', '1.2.0, 2027-01-31');
  expect(findObstacles(root)).toEqual([expect.stringContaining('does not have the tag v1.2.0')]);
});

test('changed and unknown files are refused', () => {
  commit('1.2.0', '1.2.0', '1.2.0');
  tag('v1.2.0');
  for (const [name, text] of [
    ['CHANGELOG.md', '# Changelog\n\n## 1.2.0\n'],
    ['unknown.ts', ''],
  ] as const) {
    writeFileSync(join(root, name), text);
    expect(findObstacles(root)).toEqual(['files differ from the last commit: commit or remove them (git status)']);
    git('checkout', '--quiet', '.');
    git('clean', '--quiet', '--force');
    expect(findObstacles(root)).toEqual([]);
  }
});
