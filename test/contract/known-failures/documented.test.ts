// docs/known-failures.md has a row for each failure of the list, and every test that it names exists under that name.
// Whether these tests would catch the failure is not checked here.

import { describe, expect, test } from 'bun:test';
import { readText } from '../../sources.ts';
import { CASES } from './cases.ts';
import { readTitles } from './read-titles.ts';

const page = readText('docs/known-failures.md') ?? '';
const rows = [...page.matchAll(/^\| `([\w-]+)` \|(.*)\|([^|]*)\|$/gm)].map(([, id = '', said = '', tests = '']) => ({
  id,
  said,
  named: [...tests.matchAll(/`(test\/[\w/.-]+\.ts)`: ((?:“[^”]+”(?:, )?)+)/g)].flatMap(([, path = '', titles = '']) =>
    [...titles.matchAll(/“([^”]+)”/g)].map(([, title = '']) => ({ path, title })),
  ),
}));

describe('the page of known failures', () => {
  test('has a row for each failure, once, in the order of the list', () => {
    expect(rows.map(({ id }) => id)).toEqual([...CASES]);
  });

  test('says for each where it occurred and what Turnpike does, and names a test', () => {
    for (const { id, said, named } of rows)
      expect([id, named.length > 0, said.split(' | ').every((cell) => cell.trim() !== '')]).toEqual([id, true, true]);
  });

  test('names only existing tests', () => {
    const titlesOf = new Map<string, Set<string>>();
    const missing = rows.flatMap(({ id, named }) =>
      named.flatMap(({ path, title }) => {
        const titles = titlesOf.get(path) ?? new Set(readTitles(readText(path) ?? ''));
        titlesOf.set(path, titles);
        return titles.has(title) ? [] : [`${id}: ${path}: ${title}`];
      }),
    );
    expect(missing).toEqual([]);
  });
});

test('test names are read from tables, templates, patterns and around comments', () => {
  const source = [
    "describe.each([['a)', 1]])('of %s', () => {",
    "  // a call of test('in a comment'",
    '  const pattern = /[(]\\(/g;',
    `  test(\`has \${count({ of: 'b' })} of \${what}\`, async () => {});`,
    "  test.skipIf(cannot)('isn\\'t skipped', () => {});",
    '});',
    "test.each<[string, () => void]>([['c', () => {}]])('alone: $name', () => {});",
  ].join('\n');
  expect(readTitles(source)).toEqual(['of … › has … of …', "of … › isn't skipped", 'alone: …']);
});
