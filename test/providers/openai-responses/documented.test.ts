// What this kind of provider refuses and leaves out stands in its documentation, no more and no less by name.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  DROPPED_FIELDS,
  DROPPED_MEMBERS,
  REFUSED_FIELDS,
} from '../../../src/providers/openai-responses/lost-fields.ts';

const page = readFileSync(join(import.meta.dir, '..', '..', '..', 'docs', 'providers.md'), 'utf8');
const section = page.split(/^## /m).find((text) => text.startsWith('OpenAI Responses\n')) ?? '';
const paragraph = (word: string) => section.split('\n\n').find((text) => text.startsWith(`**${word}**`)) ?? '';
const namesIn = (text: string) => [...text.matchAll(/`(\w+)`/g)].map((match) => match[1] ?? '');

test('the fields that are refused are those that the documentation names', () => {
  const known = [...Object.keys(REFUSED_FIELDS), 'server_tool_use'];
  expect(namesIn(paragraph('Refused')).sort()).toEqual(known.sort());
});

test('the fields that are left out are those that the documentation names', () => {
  const known = new Set([...DROPPED_FIELDS, ...DROPPED_MEMBERS, 'annotations']);
  expect(new Set(namesIn(paragraph('Left out')))).toEqual(known);
});
