// The documentation lists the request fields that each kind of provider refuses or leaves out, and how answers end.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { UNLISTED, VENDORS } from '../../../src/protocols/stop-words.ts';
import { DROPPED_MEMBERS, LOST_FIELDS, type LostFields } from '../../../src/providers/lost-fields.ts';

const page = readFileSync(join(import.meta.dir, '..', '..', '..', 'docs', 'providers.md'), 'utf8');
const TITLES = {
  openai: 'OpenAI Chat Completions',
  'openai-responses': 'OpenAI Responses',
  gemini: 'Gemini',
  bedrock: 'Amazon Bedrock',
};
const namesIn = (text: string) => [...text.matchAll(/`([\w.]+)`/g)].map((match) => match[1] ?? '');

test.each(Object.entries(LOST_FIELDS) as [keyof typeof TITLES, LostFields][])(
  'the section on %s names every refused field, and every one that is left out',
  (kind, { refused, dropped }) => {
    const section = page.split(/^## /m).find((text) => text.startsWith(`${TITLES[kind]}\n`)) ?? '';
    const paragraphs = (word: RegExp) => section.split(/\n\n(?=\*\*|[A-Z])/).filter((text) => word.test(text));
    expect(namesIn(paragraphs(/^(\*\*)?Refused/).join(' '))).toEqual(expect.arrayContaining([...Object.keys(refused)]));
    expect(namesIn(paragraphs(/^(\*\*)?Left out/).join(' '))).toEqual(
      expect.arrayContaining([...dropped, ...DROPPED_MEMBERS]),
    );
  },
);

test('the table of endings has every word of every vendor with its meaning, and no other', () => {
  const section = page.split(/^## /m).find((text) => text.startsWith('How answers end\n')) ?? '';
  const rows = [...section.matchAll(/^\| \[(.+)\]\((\S+)\) \| (\S+) \| (.+) \|$/gm)].map(
    ([, name, source, checked, words = '']) => ({ name, source, checked, words: wordsIn(words) }),
  );
  expect(rows).toEqual(VENDORS.map(({ name, source, checked, words }) => ({ name, source, checked, words })));
  const [, unlisted = ''] = /^Words of .+ that no list has: (.+)\.$/m.exec(section) ?? [];
  expect(wordsIn(unlisted)).toEqual({ ...UNLISTED });
});

/** "`a` `b`: failed; `c`: refusal" */
function wordsIn(text: string): Record<string, string> {
  return Object.fromEntries(
    text.split('; ').flatMap((group) => {
      const [words = '', ending = ''] = group.split(': ');
      return namesIn(words).map((word) => [word, ending]);
    }),
  );
}
