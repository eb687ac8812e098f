// Patterns of model names: `*` is the only special character.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { matchesPattern } from '../../../src/catalog/catalog.ts';

test('a star matches any characters, and a pattern matches the whole name', () => {
  const cases: [pattern: string, name: string, matches: boolean][] = [
    ['*', 'anything', true],
    ['claude-*', 'claude-', true],
    ['claude-*', 'claude-opus-5', true],
    ['claude-*', 'my-claude-opus', false],
    ['*-mini', 'gpt-4o-mini', true],
    ['*-mini', 'gpt-4o-mini-2024', false],
    ['a*b*c', 'a-b-b-c', true],
    ['a*b*c', 'a-c-b', false],
    ['a*b*b', 'ab', false], // one b cannot match twice
    ['ab*ba', 'aba', false], // head and tail do not overlap
    ['**', '', true],
    ['exact', 'exact', true],
    ['exact', 'Exact', false],
    ['', 'x', false],
  ];
  for (const [pattern, name, matches] of cases)
    expect([pattern, name, matchesPattern(pattern, name)]).toEqual([pattern, name, matches]);
});

test('no other character in a pattern is special', () => {
  expect(matchesPattern('gpt-4.1', 'gpt-4x1')).toBe(false);
  expect(matchesPattern('.*', 'anything')).toBe(false);
  expect(matchesPattern('a|b', 'a')).toBe(false);
  expect(matchesPattern('(a', '(a')).toBe(true);
  expect(matchesPattern('[a-z]*', 'b')).toBe(false);
  expect(matchesPattern('a?', 'a')).toBe(false);
});

test('matching a pattern with many stars takes no exponential time', () => {
  expect(matchesPattern(`${'*a'.repeat(128)}*b`, 'a'.repeat(256))).toBe(false);
});

test('any pattern has the same result as with the simple definition', () => {
  const define = (pattern: string, name: string): boolean => {
    if (pattern === '') return name === '';
    if (pattern.startsWith('*'))
      return define(pattern.slice(1), name) || (name !== '' && define(pattern, name.slice(1)));
    return name !== '' && pattern[0] === name[0] && define(pattern.slice(1), name.slice(1));
  };
  const text = (letters: string[]) =>
    fc.array(fc.constantFrom(...letters), { maxLength: 8 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(text(['a', 'b', '*']), text(['a', 'b']), (pattern, name) => {
      expect(matchesPattern(pattern, name)).toBe(define(pattern, name));
    }),
    { numRuns: 2_000 },
  );
});
