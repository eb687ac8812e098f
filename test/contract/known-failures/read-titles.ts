// Reads the names of the tests in a source file: "describe › test", with "…" for inserted values. It matches
// parentheses of calls, and takes the first string of the last call as the name. It has no tests of its own.

interface Call {
  title: string;
  isTest: boolean;
  start: number;
  end: number;
}

const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

/** The names of all tests in this source whose names are string literals. */
export function readTitles(source: string): string[] {
  const calls: Call[] = [];
  for (const { index, 0: name } of source.matchAll(/(?<![\w.'"`])(?:describe|test)\b/g)) {
    const isInComment = /^\s*(?:\/\/|\*)/.test(source.slice(source.lastIndexOf('\n', index) + 1, index));
    const call = isInComment ? null : readCall(source, index + name.length);
    if (call !== null) calls.push({ ...call, isTest: name === 'test', start: index });
  }
  return calls
    .filter(({ isTest }) => isTest)
    .map((one) => {
      const around = calls.filter(({ isTest, start, end }) => !isTest && start < one.start && one.end <= end);
      return [...around, one].map(({ title }) => title).join(' › ');
    });
}

/**
 * Reads a call of `describe` or `test`, also through `.each(…)` and similar; null if it has no name or is another
 * call.
 */
function readCall(source: string, from: number): { title: string; end: number } | null {
  let at = from;
  for (;;) {
    const modifier = /^\s*\.\w+/.exec(source.slice(at, at + 80))?.[0];
    if (modifier !== undefined) at += modifier.length;
    if (source[at] === '<') at = endOfTypes(source, at);
    if (source[at] !== '(') return null;
    const end = endOfGroup(source, at);
    if (source[end] !== '(') {
      const title = firstText(source.slice(at + 1, end));
      return title === null ? null : { title, end };
    }
    at = end;
  }
}

/** The string literal at the start, with "…" for inserted values. */
function firstText(source: string): string | null {
  const [, quote, text = ''] = /^\s*(['"`])((?:\\.|(?!\1)[\s\S])*)\1/.exec(source) ?? [];
  if (quote === undefined) return null;
  return text
    .replace(/\$\{(?:[^{}]|\{[^{}]*\})*\}|%[a-z]|\$\w+/g, '…')
    .replace(/\\(.)/g, '$1')
    .replace(/\s+/g, ' ');
}

function endOfTypes(source: string, start: number): number {
  let depth = 0;
  for (let at = start; at < source.length; at++) {
    if (source[at] === '<') depth++;
    if (source[at] === '>' && source[at - 1] !== '=' && --depth === 0) return at + 1;
  }
  return source.length;
}

/** The offset behind the bracket that closes the one at `start`. Skips strings, comments and regular expressions. */
function endOfGroup(source: string, start: number): number {
  const closing = CLOSING[source[start] as string];
  for (let at = start + 1; at < source.length; ) {
    const sign = source[at] as string;
    if (sign === closing) return at + 1;
    if (sign in CLOSING) at = endOfGroup(source, at);
    else if (/['"]/.test(sign)) at = endOfQuoted(source, at);
    else if (sign === '`') at = endOfTemplate(source, at);
    else if (sign === '/') at = endOfSlash(source, at);
    else at++;
  }
  return source.length;
}

function endOfQuoted(source: string, start: number): number {
  let at = start + 1;
  while (at < source.length && source[at] !== source[start]) at += source[at] === '\\' ? 2 : 1;
  return at + 1;
}

function endOfTemplate(source: string, start: number): number {
  let at = start + 1;
  while (at < source.length && source[at] !== '`') {
    if (source.startsWith('${', at)) at = endOfGroup(source, at + 1);
    else at += source[at] === '\\' ? 2 : 1;
  }
  return at + 1;
}

/** The end of a comment, a regular expression or a division. */
function endOfSlash(source: string, start: number): number {
  if (source.startsWith('//', start)) return source.indexOf('\n', start);
  if (source.startsWith('/*', start)) return source.indexOf('*/', start) + 2;
  if (!/[(,=:[!&|?{};>]\s*$|\breturn\s*$/.test(source.slice(Math.max(0, start - 20), start))) return start + 1;
  let isInClass = false;
  for (let at = start + 1; at < source.length; at++) {
    if (source[at] === '\\') at++;
    else if (source[at] === '[') isInClass = true;
    else if (source[at] === ']') isInClass = false;
    else if (source[at] === '/' && !isInClass) return at + 1;
  }
  return source.length;
}
