// The documentation lists the known families of Chat Completions.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chooseProfile } from '../../../../src/providers/openai/profile.ts';
import { addresses } from './read-fixture.ts';

const page = readFileSync(join(import.meta.dir, '..', '..', '..', '..', 'docs', 'providers.md'), 'utf8');
const section = page.split(/^## /m).find((text) => text.startsWith('OpenAI Chat Completions\n')) ?? '';

test('every family is recognized by its address, and documented', () => {
  for (const [family, address] of Object.entries(addresses)) {
    expect(chooseProfile(address, 'm').family).toBe(family);
    if (family !== 'compatible') expect(section).toContain(`\`${family}\``);
  }
  expect(chooseProfile('https://api.openai.com.example.org/v1', 'm').family).toBe('compatible');
});
