// JSON whose parsing, decoding or writing takes the longest per byte, for tests and benchmarks of the event loop. It has
// no tests of its own.

type Make = (bytes: number) => string;

const repeat =
  (unit: string): Make =>
  (bytes) =>
    unit.repeat(Math.max(1, Math.floor(bytes / Buffer.byteLength(unit))));
const text =
  (unit: string): Make =>
  (bytes) =>
    `"${repeat(unit)(bytes)}"`;
const list =
  (unit: string): Make =>
  (bytes) =>
    `[${repeat(`${unit},`)(bytes)}${unit}]`;
const members =
  (write: (place: number) => string, memberBytes: number): Make =>
  (bytes) =>
    `{${Array.from({ length: Math.max(1, Math.floor(bytes / memberBytes)) }, (_, place) => write(place)).join()}}`;

/** JSON texts of about this many bytes. */
export const costlyTexts: Readonly<Record<string, Make>> = {
  letters: text('a'),
  'base64url, half of it other than base64': text('-_'),
  'escaped control characters': text('\\u0001'),
  'escaped line feeds': text('\\n'),
  'escaped quotes': text('\\"'),
  backslashes: text('\\\\'),
  'lone surrogates': text('\\ud800'),
  'two-byte characters': text('é'),
  'three-byte characters': text('漢'),
  'line separators': text('\u2028'),
  'four-byte characters': text('😀'),
  'open tags': text('<'),
  'JSON of lists': text('[],'),
};

/** JSON values of about this many bytes. */
export const costlyValues: Readonly<Record<string, Make>> = {
  'small numbers': list('1'),
  'long numbers': list('0.12345678901234567'),
  'empty lists': list('[]'),
  'small objects': list('{"a":1}'),
  'short strings': list('"ab"'),
  'long strings': list(`"${'a'.repeat(200)}"`),
  'different keys': members((place) => `"k${place}":1`, 11),
  'array indexes as keys': members((place) => `"${place * 7}":1`, 10),
  'keys of kilobytes': members((place) => `"${'k'.repeat(1_000)}${place}":1`, 1_010),
  'one endless key': (bytes) => `{"${'k'.repeat(bytes)}":1}`,
  'white space': (bytes) => `[${' '.repeat(bytes)}1]`,
  'line feeds': (bytes) => `[${'\n'.repeat(bytes)}1]`,
  'one endless number': (bytes) => `[${'7'.repeat(bytes)}]`,
  levels: (bytes) => '['.repeat(bytes / 2) + ']'.repeat(bytes / 2),
  'unclosed levels': (bytes) => '['.repeat(bytes),
};

/** Bytes, for bodies that contain them in base64. */
export const costlyBytes: Readonly<Record<string, (bytes: number) => Buffer>> = Object.fromEntries(
  Object.entries({
    letters: 'a',
    'control characters': '\u0001',
    quotes: '"\\\n',
    'two-byte characters': 'é',
    'three-byte characters': '漢',
    'names of a PDF': '/#',
    'pages of a PDF': '/Type/Page ',
    'lists in JSON': '[],',
  }).map(([name, unit]) => [name, (bytes: number) => Buffer.alloc(bytes, unit)]),
);
