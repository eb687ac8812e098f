// Comments, documentation and test names are plain English: phrases that a native speaker has to read twice are listed here, and
// none of them stands in a folder that has been rewritten. The wording that replaces them is in docs/glossary.md.

import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootDirectory } from './check.ts';
import { projectFiles } from './sources.ts';

/** Folders and files whose language is checked. */
const CHECKED = [
  'src/',
  'test/',
  'bench/',
  'docs/',
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
];

/** Phrases in comments, pages and test names, with their replacements. */
const PHRASES: readonly [phrase: RegExp, instead: string][] = [
  [/\b[Ww]ho(?:m|so)?ever\b/, 'name the subject: "a client that", "a retry with"'],
  [/\b(?<!cannot )(?:is|are|was|were|be) told\b/, '"gets", "is notified", "is reported"'],
  [/\bof which (?:nobody|nothing|none)\b/, 'two sentences'],
  [/\bit is for\b/, 'say what it does'],
  [/\b(?:he|him|his)\b/, '"they", or the subject by name'],
  [/\b(?:to|asks|by|has) nobody\b/, '"no client", "nothing", or a passive sentence'],
  [/\b(?:is|are|was) (?:gone|away)\b/, '"is unavailable", "was dropped", "disconnected"'],
  [/\bhas its fill\b|\bis at (?:its|an) end\b/, '"is exhausted"'],
  [/\bcatalogue\b(?!:|`|'|")/, '"catalog"'],
  [/\b(?:gatehouse|alongside|sold-to)\b/, 'see docs/glossary.md'],
];

/** Beginnings of a comment that leave open what it speaks of. Questions are not meant. */
const BEGINNINGS: readonly [beginning: RegExp, instead: string][] = [
  [/^(?:What|Whose|Whom) (?!.*\?)/, 'begin with a noun or a verb'],
  [/^Of /, 'begin with a noun or a verb'],
];

/** Text in which a phrase is right, with the reason. */
const ALLOWED: readonly string[] = [];

interface Finding {
  place: string;
  text: string;
  instead: string;
}

describe('plain language', () => {
  test('holds in every folder that has been rewritten', () => {
    const found = CHECKED.flatMap((path) => filesOf(path)).flatMap((file) => findPhrases(file));
    expect(found).toEqual([]);
  });

  test('contains no listed phrase undetected', () => {
    const told = findIn('file.ts', '/** What the client is told. */\nconst one = 1; // whoever asks\n');
    expect(told.map(({ text }) => text)).toEqual([
      'What the client is told.',
      'What the client is told.',
      'whoever asks',
    ]);
    expect(findIn('page.md', 'The catalog is shown.\n\n`catalogue: true` stays.\n')).toEqual([]);
    expect(findIn('one.test.ts', "test('who is told', () => {});\n").map(({ text }) => text)).toEqual(['who is told']);
  });
});

function filesOf(path: string): string[] {
  if (!path.endsWith('/')) return [path];
  const files = projectFiles().filter((file) => file.startsWith(path) && /\.(?:tsx?|md)$/.test(file));
  return files.filter((file) => file !== 'test/plain-language.test.ts').sort(); // it has the phrases themselves
}

function findPhrases(file: string): Finding[] {
  return findIn(file, readFileSync(join(rootDirectory, file), 'utf8'));
}

function findIn(file: string, source: string): Finding[] {
  const texts = file.endsWith('.md') ? paragraphsOf(source) : [...commentsOf(source), ...testNamesOf(file, source)];
  return texts.flatMap(([line, text]) => {
    if (ALLOWED.includes(text)) return [];
    const rules = [...PHRASES, ...(file.endsWith('.md') ? [] : BEGINNINGS)];
    return rules.flatMap(([phrase, instead]) =>
      phrase.test(text) ? [{ place: `${file}:${line}`, text, instead }] : [],
    );
  });
}

type Text = [line: number, text: string];

/** Without code, which says what it must. */
function paragraphsOf(page: string): Text[] {
  const prose = page.replace(/^```[\s\S]*?^```/gm, (block) => block.replace(/[^\n]/g, '')).replace(/`[^`\n]*`/g, '``');
  return prose.split('\n').map((text, at): Text => [at + 1, text]);
}

/** Comments that stand in lines one below another are one. */
function commentsOf(code: string): Text[] {
  const comment = /(?<=^|[\s;,{(])(?:\/\/[^\n]*(?:\n\s*\/\/[^\n]*)*|\/\*\*?[\s\S]*?\*\/)/g;
  return [...code.matchAll(comment)].map(({ index, 0: raw }): Text => {
    const text = raw.replace(/\*\/$/, '').replace(/(?:^|\n)\s*(?:\/\/|\/\*\*?|\*)/g, ' ');
    return [lineAt(code, index), text.replace(/\s+/g, ' ').trim()];
  });
}

function testNamesOf(file: string, code: string): Text[] {
  if (!file.includes('.test.') && !file.startsWith('test/')) return [];
  const name = /\b(?:test|describe)(?:\.\w+)*(?:\([^()\n]*\))?\(\s*(['"`])((?:\\.|(?!\1).)*)\1/g;
  return [...code.matchAll(name)].map(({ index, 2: text = '' }): Text => [lineAt(code, index), text]);
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}
