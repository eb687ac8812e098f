// Conditions that a checkout meets before a release is built from it.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Sentences for the person who releases; empty if the checkout is that of a release. */
export function findObstacles(root: string): string[] {
  const read = (name: string) => readFileSync(join(root, name), 'utf8');
  const git = (...given: string[]) =>
    Bun.spawnSync(['git', ...given], { cwd: root, stderr: 'ignore' })
      .stdout.toString()
      .trim();
  const { version } = JSON.parse(read('package.json')) as { version: string };
  const locked = (JSON.parse(read('package-lock.json')) as { version: string }).version;
  const heading = /^## (.*)$/m.exec(read('CHANGELOG.md'))?.[1] ?? '';
  const tag = `v${version}`;
  const head = git('rev-parse', 'HEAD');
  const obstacles: [boolean, string][] = [
    [!/^\d+\.\d+\.\d+$/.test(version), `package.json has the version ${version}, which is not that of a release`],
    [locked !== version, `package-lock.json has the version ${locked}, and package.json ${version}`],
    [
      !new RegExp(`^${RegExp.escape(version)}(?:, \\d{4}-\\d{2}-\\d{2})?$`).test(heading),
      `the first heading of CHANGELOG.md is "${heading}"; it must be "${version}"`,
    ],
    [git('status', '--porcelain') !== '', 'files differ from the last commit: commit or remove them (git status)'],
    [
      head === '' || git('rev-parse', '--verify', '--quiet', `${tag}^{commit}`) !== head,
      `the last commit does not have the tag ${tag}: git tag --sign ${tag} --message 'Turnpike ${version}'`,
    ],
    [
      git('cat-file', '-t', tag) === 'commit',
      `the tag ${tag} has no author and no date: make it with --sign or --annotate`,
    ],
  ];
  return obstacles.filter(([holds]) => holds).map(([, sentence]) => sentence);
}
