// Text of eight kinds, generated from a seed, and honest tokenizers that count it by its characters. It has no tests
// of its own.

import { pick, type Random } from './synthetic-tokenizers.ts';

export type Corpus = (typeof corpora)[number];
export const corpora = ['english', 'german', 'chinese', 'code', 'json', 'digits', 'random', 'indented'] as const;

const ENGLISH =
  `the of and to in is that for it was on are as with be this by from or have an they which one you had not but what
all were when we there can their said if will each about how up out them then she many some so these would other into has more her two
like him see time could no make than first been its who now people my made over did down only way find use may water long little very
after words called just where most know river bridge through between children because mountain government important something country
themselves everything development understanding information particularly government's against question morning`.split(
    /\s+/,
  );
const GERMAN =
  `der die das und in zu den ist nicht von mit sich des auf für im dem auch als an nach wie bei einer um am sind noch wird
aus hat dass er es werden sie wir über einen so zum war haben nur oder aber vor zur bis mehr durch man sein wurde sei Brücke Fluss Straße
Landschaft Geschichte Möglichkeit zwischen Entwicklung Geschwindigkeit Verantwortung natürlich schließlich Gesellschaft verschiedene
Zusammenarbeit wahrscheinlich Bevölkerung Jahrhundert`.split(/\s+/);
const CHINESE =
  '的一是不了人我在有他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生自会那后能对着事其里所去行过家十用发天如然作方成者';
const NAMES =
  `value result index account request response handler options message buffer length config error stream token parse render
create update remove select filter default state context`.split(/\s+/);

const pieces: Record<Corpus, (random: Random) => string> = {
  english: (random) => sentenceOf(random, ENGLISH),
  german: (random) => sentenceOf(random, GERMAN),
  chinese: (random) => repeat(5 + random() * 15, () => pick(random, CHINESE)) + pick(random, '，。，。！'),
  code: (random) =>
    pick(random, [
      `  const ${nameOf(random)} = await ${nameOf(random)}.${nameOf(random)}(${Math.floor(random() * 100)});\n`,
      `if (${nameOf(random)} === null || !${nameOf(random)}) {\n    return '${nameOf(random)}';\n}\n`,
      `function ${nameOf(random)}(${nameOf(random)}: string): number {\n`,
    ]),
  json: (random) =>
    `{"${pick(random, NAMES)}":"${pick(random, ENGLISH)} ${pick(random, ENGLISH)}","${pick(random, NAMES)}":${Math.floor(random() * 10_000)}},`,
  digits: (random) => `${repeat(4 + random() * 8, () => pick(random, '0123456789'))}${pick(random, ' ,\n')}`,
  random: (random) => repeat(80, () => pick(random, 'abcdefghijklmnopqrstuvwxyz')),
  indented: (random) => `${' '.repeat(4 * Math.ceil(random() * 8))}${nameOf(random)} ${nameOf(random)}\n\n`,
};

function sentenceOf(random: Random, words: readonly string[]): string {
  return repeat(4 + random() * 12, () => `${pick(random, words)} `).trimEnd() + pick(random, ['. ', ', ', ': ', '.\n']);
}

function nameOf(random: Random): string {
  const second = pick(random, NAMES);
  return pick(random, NAMES) + (random() < 0.5 ? (second[0] as string).toUpperCase() + second.slice(1) : '');
}

function repeat(times: number, make: () => string): string {
  return Array.from({ length: Math.floor(times) }, make).join('');
}

/** A text of about this many bytes. */
export function makeText(random: Random, corpus: Corpus, bytes: number): string {
  let text = '';
  for (let made = 0; made < bytes; ) {
    const piece = pieces[corpus](random);
    text += piece;
    made += Buffer.byteLength(piece);
  }
  return text;
}

export type CountTokens = (text: string) => number;

const quarters: CountTokens = (text) => Math.ceil(Buffer.byteLength(text) / 4);

const KEYWORDS = ['const', 'await', 'if', 'null', 'return', 'function', 'string', 'number'];
const vocabulary = new Set([...ENGLISH, ...GERMAN, ...NAMES, ...KEYWORDS].map((word) => word.toLowerCase()));

/**
 * Takes the longest known word or syllable from the left, as dictionary tokenizers do; every pair of letters is
 * known.
 */
const greedy: CountTokens = (text) => {
  let tokens = 0;
  for (const [part] of text.matchAll(
    / ?[A-Z]?[a-z']+| ?[A-Z]+|\d{1,3}|[\u0080-\uffff]|\n+| +|[^A-Za-z\d\s\u0080-\uffff]{1,2}/g,
  )) {
    const word = part.trimStart().toLowerCase();
    if (word === '' || !/[a-z]/.test(word) || vocabulary.has(word)) tokens++;
    else
      for (let at = 0; at < word.length; tokens++) {
        let length = Math.min(6, word.length - at);
        while (length > 2 && !vocabulary.has(word.slice(at, at + length))) length--;
        at += length;
      }
  }
  return tokens;
};

const LETTER_RATES: [RegExp, number][] = [
  [/[A-Za-z]+/g, 0.2],
  [/\d/g, 0.5],
  [/ +/g, 0.1],
  [/[\u0080-\uffff]/g, 0.7],
  [/[^A-Za-z\d \u0080-\uffff]/g, 0.6],
];

/** A rate for each kind of character; letters in runs longer than any word cost three times as much. */
const rated: CountTokens = (text) => {
  let tokens = 0;
  for (const [pattern, rate] of LETTER_RATES)
    for (const [part] of text.matchAll(pattern)) tokens += part.length * rate * (part.length > 30 ? 3 : 1);
  return Math.ceil(tokens);
};

export const tokenizers: [name: string, count: CountTokens][] = [
  ['quarters', quarters],
  ['a dictionary', greedy],
  ['a rate for each kind of character', rated],
];
