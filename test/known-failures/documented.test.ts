// docs/known-failures.md has a row for each failure of the list, and the tests that it names are there by exactly that
// name. Whether they would fail is for who writes the row to see.

import { describe, expect, test } from 'bun:test';
import { readText } from '../sources.ts';
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

  test('says of each whose it was and what is so here, and names a test', () => {
    for (const { id, said, named } of rows)
      expect([id, named.length > 0, said.split(' | ').every((cell) => cell.trim() !== '')]).toEqual([id, true, true]);
  });

  test('names no test that is not there', () => {
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

test('names of tests are read over tables, templates, patterns and comments', () => {
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
