// The licenses that `turnpike licenses` prints, against the lock file and the installed packages.

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { collectNotices } from '../../../src/licenses/licenses.ts';
import { rootDirectory } from '../../check.ts';
import { readText } from '../../sources.ts';

const notices = collectNotices(rootDirectory);
const listed = notices.flatMap(({ packages }) => packages);

test('every package that the service and the console are built with has a text', () => {
  const { packages, dependencies } = {
    ...(JSON.parse(readText('package-lock.json') ?? '') as { packages: Record<string, { version: string }> }),
    ...(JSON.parse(readText('package.json') ?? '') as { dependencies: Record<string, string> }),
  };
  const direct = Object.keys(dependencies).map((name) => `${name} ${packages[`node_modules/${name}`]?.version}`);
  expect(direct.filter((name) => !listed.includes(name))).toEqual([]);
  expect(listed.length).toBeGreaterThan(200);
  expect(new Set(listed).size).toBe(listed.length);
  expect(notices.filter(({ text }) => text.trim().length < 100).map(({ packages: names }) => names)).toEqual([]);
  expect(listed.filter((name) => /^(?:@oven|typescript|playwright)/.test(name))).toEqual([]);
});

test('texts are those of the packages: one for all with the same text, else one for each', () => {
  const textOf = (name: string) => notices.find(({ packages }) => packages.some((each) => each.startsWith(`${name} `)));
  expect(textOf('react')?.text).toContain('Copyright (c) Meta Platforms, Inc. and affiliates.');
  expect(textOf('react')?.packages).toContainEqual(expect.stringMatching(/^react-dom /));
  expect(textOf('kysely')?.text).toContain('Sami Koskimäki');
  expect(textOf('es-toolkit')?.text).toContain(readText('node_modules/es-toolkit/NOTICE')?.trim() ?? 'no notice');
  expect(textOf('data-uri-to-buffer')).toMatchObject({
    license: 'MIT',
    text: expect.stringContaining('Nathan Rajlich <nathan@tootallnate.net>'),
  });
});

test('the licenses of the runtime are those of its pinned version', () => {
  const document = readText('node_modules/bun-types/docs/project/license.mdx') ?? '';
  const [, , body] = document.split(/^---$/m);
  expect(readText('src/licenses/bun.md')).toBe(body?.trimStart() as string);
  const { version } = JSON.parse(readText('node_modules/bun-types/package.json') ?? '') as { version: string };
  expect(notices[0]).toMatchObject({ packages: [`bun ${version}`], text: body?.trim() });
});

test('a package that is not installed is an error', () => {
  expect(() => collectNotices(join(rootDirectory, 'docs'))).toThrow('package-lock.json');
});
