// The list of mutations is up to date: each finds its place in the code as it is.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootDirectory } from '../check.ts';
import { applyMutation } from './mutation.ts';
import { mutations } from './mutations.ts';

test('every mutation finds what it takes out exactly once', () => {
  const faults: string[] = [];
  for (const mutation of mutations) {
    try {
      const text = readFileSync(join(rootDirectory, mutation.file), 'utf8');
      if (applyMutation(text, mutation) === text) faults.push(`${mutation.name}: it changes nothing`);
    } catch (fault) {
      faults.push(String(fault));
    }
  }
  expect(faults).toEqual([]);
});

test('no two mutations have one name', () => {
  expect(new Set(mutations.map(({ name }) => name)).size).toBe(mutations.length);
});
