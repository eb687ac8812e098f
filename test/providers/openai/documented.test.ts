// What this kind of provider refuses and leaves out, and the families that it knows, stand in its documentation.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DROPPED_FIELDS, DROPPED_MEMBERS, REFUSED_FIELDS } from '../../../src/providers/openai/lost-fields.ts';
import { chooseProfile } from '../../../src/providers/openai/profile.ts';
import { addresses } from './read-fixture.ts';

const page = readFileSync(join(import.meta.dir, '..', '..', '..', 'docs', 'providers.md'), 'utf8');
const section = page.split(/^## /m).find((text) => text.startsWith('OpenAI Chat Completions\n')) ?? '';
const paragraph = (word: string) => section.split('\n\n').find((text) => text.startsWith(`**${word}**`)) ?? '';
const namesIn = (text: string) => [...text.matchAll(/`(\w+)`/g)].map((match) => match[1] ?? '');

test('the fields that are refused are those that the documentation names', () => {
  const ofSomeFamilies = ['stop_sequences', 'tool_choice'];
  const known = [...Object.keys(REFUSED_FIELDS), ...ofSomeFamilies, 'tool_use', 'tool_result', 'server_tool_use'];
  expect(namesIn(paragraph('Refused')).sort()).toEqual(known.sort());
});

test('the fields that are left out are those that the documentation names', () => {
  const ofSomeFamilies = ['disable_parallel_tool_use', 'strict'];
  const known = new Set([...DROPPED_FIELDS, ...DROPPED_MEMBERS, ...ofSomeFamilies]);
  expect(new Set(namesIn(paragraph('Left out')))).toEqual(known);
});

test('every family is known by its address, and documented', () => {
  for (const [family, address] of Object.entries(addresses)) {
    expect(chooseProfile(address, 'm').family).toBe(family);
    if (family !== 'compatible') expect(section).toContain(`\`${family}\``);
  }
  expect(chooseProfile('https://api.openai.com.example.org/v1', 'm').family).toBe('compatible');
});
