// Regular expressions of schemas, which may be hostile and are never run: the usual part of their syntax is parsed,
// matched and generated here in bounded steps. Lookaround, references and \b are not supported.

import { parseHex, parseWholeNumber } from '../../base/checked-number.ts';
import type { Budget } from './budget.ts';

type Range = readonly [from: number, to: number];

interface CharacterSet {
  kind: 'set';
  ranges: readonly Range[];
  isNegated: boolean;
  /** A character of the set; undefined if it is empty. */
  sample: number | undefined;
}

export type Part =
  | CharacterSet
  | { kind: 'sequence'; parts: readonly Part[] }
  | { kind: 'choice'; options: readonly Part[] }
  | { kind: 'repeat'; part: Part; least: number; most: number }
  | { kind: 'start' | 'end' };

const GROUPS_NESTED_MAX = 32;
const CHARACTERS_MAX = 1_000;
const CODE_POINT_MAX = 0x10ffff;
const DIGITS: readonly Range[] = [[0x30, 0x39]];
const WORD: readonly Range[] = [[0x61, 0x7a], [0x41, 0x5a], [0x30, 0x39], [0x5f, 0x5f]]; // biome-ignore format: one line
const SPACES: readonly Range[] = [[0x20, 0x20], [0x09, 0x0d], [0xa0, 0xa0], [0x2028, 0x2029], [0xfeff, 0xfeff]]; // biome-ignore format: one line
const CLASSES: Readonly<Record<string, readonly Range[]>> = { d: DIGITS, w: WORD, s: SPACES };
const LINE_ENDS: readonly Range[] = [[0x0a, 0x0a], [0x0d, 0x0d], [0x2028, 0x2029]]; // biome-ignore format: one line
const CONTROLS: Readonly<Record<string, number>> = { t: 0x09, n: 0x0a, v: 0x0b, f: 0x0c, r: 0x0d, 0: 0 };

/** null: a syntax that is not supported. */
export function parsePattern(pattern: string, budget: Budget): Part | null {
  if (pattern.length > CHARACTERS_MAX || !budget.spend(pattern.length)) return null;
  const parser = new Parser(pattern);
  const part = parser.choice(0);
  return parser.isAtEnd ? part : null;
}

/** Recursive descent; each method returns null where the syntax is not supported. */
class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  choice(depth: number): Part | null {
    if (depth > GROUPS_NESTED_MAX) return null;
    const options: Part[] = [];
    do {
      const parts: Part[] = [];
      while (!this.isAtEnd && !/[|)]/.test(this.#text.charAt(this.#at))) {
        const atom = this.#atom(depth);
        const part = atom === null ? null : this.#repeated(atom);
        if (part === null) return null;
        parts.push(part);
      }
      options.push({ kind: 'sequence', parts });
    } while (this.#take(/\|/y) !== null);
    return options.length === 1 ? (options[0] as Part) : { kind: 'choice', options };
  }

  /** The match at the current place, which is then behind it. */
  #take(token: RegExp): RegExpExecArray | null {
    token.lastIndex = this.#at;
    const match = token.exec(this.#text);
    if (match !== null) this.#at = token.lastIndex;
    return match;
  }

  #atom(depth: number): Part | null {
    if (this.#take(/\((?:\?:|\?<[A-Za-z_]\w*>|(?!\?))/y) !== null) {
      const inside = this.choice(depth + 1);
      return this.#take(/\)/y) === null ? null : inside;
    }
    if (this.#take(/\^/y) !== null) return { kind: 'start' };
    if (this.#take(/\$/y) !== null) return { kind: 'end' };
    if (this.#take(/\./y) !== null) return makeSet(LINE_ENDS, true);
    const opened = this.#take(/\[(\^?)/y);
    if (opened !== null) return this.#set(opened[1] !== '');
    if (/[*+?{}()\]]/.test(this.#text.charAt(this.#at))) return null;
    const member = this.#member();
    return member === null ? null : makeSet(member.ranges, member.isNegated);
  }

  /** A character or a class such as \d. */
  #member(): { ranges: readonly Range[]; isNegated: boolean; isClass: boolean } | null {
    const named = this.#take(/\\([dwsDWS])/y)?.[1];
    if (named !== undefined) {
      const ranges = CLASSES[named.toLowerCase()] as readonly Range[];
      return { ranges, isNegated: named !== named.toLowerCase(), isClass: true };
    }
    const code = this.#character();
    return code === null ? null : { ranges: [[code, code]], isNegated: false, isClass: false };
  }

  #character(): number | null {
    if (this.#take(/\\/y) === null) {
      const code = this.#text.codePointAt(this.#at);
      if (code === undefined) return null;
      this.#at += code > 0xffff ? 2 : 1;
      return code;
    }
    const hex = this.#take(/x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}/y);
    if (hex !== null) return parseHex(hex[1] ?? hex[2] ?? hex[3] ?? '');
    const escaped = this.#take(/[tnvfr]|0(?!\d)|[^\w\s]/y)?.[0];
    return escaped === undefined ? null : (CONTROLS[escaped] ?? escaped.charCodeAt(0));
  }

  /** The rest of a set, after its bracket. A negated class inside is supported only alone. */
  #set(isNegated: boolean): Part | null {
    const ranges: Range[] = [];
    while (this.#take(/\]/y) === null) {
      if (this.isAtEnd) return null;
      const member = this.#member();
      if (member === null) return null;
      if (member.isNegated) {
        if (ranges.length > 0 || this.#take(/\]/y) === null) return null;
        return makeSet(member.ranges, !isNegated);
      }
      const [from] = member.ranges[0] as Range;
      const isRange = !member.isClass && this.#take(/-(?!\])/y) !== null;
      const to = isRange ? this.#character() : null;
      if (isRange && (to === null || to < from)) return null;
      ranges.push(...(to === null ? member.ranges : [[from, to] as const]));
    }
    return makeSet(ranges, isNegated);
  }

  #repeated(part: Part): Part | null {
    const sign = this.#take(/(?:([*+?])|\{(\d{1,9})(,?)(\d{0,9})\})\??/y);
    if (sign === null) return part;
    const [, short, from = '', comma, to = ''] = sign;
    const unbounded = Number.POSITIVE_INFINITY;
    if (short !== undefined)
      return { kind: 'repeat', part, least: short === '+' ? 1 : 0, most: short === '?' ? 1 : unbounded };
    const least = parseWholeNumber(from) ?? 0;
    const most = comma === '' ? least : (parseWholeNumber(to) ?? unbounded);
    return most < least ? null : { kind: 'repeat', part, least, most };
  }
}

const FIRST_SAMPLES = Array.from('aA0_- .', (character) => character.charCodeAt(0));
const PRINTABLE = Array.from({ length: 0x7f - 0x21 }, (_, place) => 0x21 + place);

function makeSet(ranges: readonly Range[], isNegated: boolean): CharacterSet {
  const edges = ranges.map(([from, to]) => (isNegated ? to + 1 : from)).filter((code) => code <= CODE_POINT_MAX);
  const set: CharacterSet = { kind: 'set', ranges, isNegated, sample: undefined };
  set.sample = [...FIRST_SAMPLES, ...PRINTABLE, ...edges].find((code) => isIn(set, code));
  return set;
}

/** Whether a part of the text matches; also true when the budget does not suffice to know. */
export function mayMatch(part: Part, text: string, budget: Budget): boolean {
  const codes = Array.from(text, (character) => character.codePointAt(0) as number);
  const starts = new Set(codes.keys()).add(codes.length);
  return !budget.spend(codes.length) || endsOf(part, codes, starts, budget).size > 0 || !budget.spend(0);
}

/** Where the part can end, of all these starts: no backtracking, so the steps are bounded by parts × length². */
function endsOf(part: Part, codes: readonly number[], starts: ReadonlySet<number>, budget: Budget): Set<number> {
  if (!budget.spend(starts.size + 1)) return new Set();
  switch (part.kind) {
    case 'start':
      return new Set([...starts].filter((at) => at === 0));
    case 'end':
      return new Set([...starts].filter((at) => at === codes.length));
    case 'set':
      if (!budget.spend(starts.size * part.ranges.length)) return new Set();
      return new Set(
        [...starts].filter((at) => at < codes.length && isIn(part, codes[at] as number)).map((at) => at + 1),
      );
    case 'sequence': {
      let ends = new Set(starts);
      for (const each of part.parts) {
        if (ends.size === 0) break;
        ends = endsOf(each, codes, ends, budget);
      }
      return ends;
    }
    case 'choice':
      return new Set(part.options.flatMap((option) => [...endsOf(option, codes, starts, budget)]));
    case 'repeat':
      return repeatedEnds(part, codes, starts, budget);
  }
}

function repeatedEnds(
  { part, least, most }: Extract<Part, { kind: 'repeat' }>,
  codes: readonly number[],
  starts: ReadonlySet<number>,
  budget: Budget,
): Set<number> {
  let current = new Set(starts);
  // More rounds than the text has places change nothing.
  for (let round = Math.min(least, codes.length + 1); round > 0 && current.size > 0; round--)
    current = endsOf(part, codes, current, budget);
  const ends = new Set(current);
  for (let round = least; round < most && current.size > 0; round++) {
    const next = endsOf(part, codes, current, budget);
    current = new Set([...next].filter((at) => !ends.has(at)));
    for (const at of current) ends.add(at);
  }
  return ends;
}

function isIn({ ranges, isNegated }: CharacterSet, code: number): boolean {
  return ranges.some(([from, to]) => from <= code && code <= to) !== isNegated;
}

/** Which text is generated: the option of every choice, and characters beyond the shortest text. */
interface Taste {
  option: number;
  growth: number;
}

/** A text of the pattern, or null if it has none or one too long for the budget. Anchors have to be verified after it. */
export function generate(part: Part, taste: Taste, budget: Budget): string | null {
  const codes: number[] = [];
  return append(part, codes, { ...taste }, budget) ? codes.map((code) => String.fromCodePoint(code)).join('') : null;
}

function append(part: Part, codes: number[], taste: Taste, budget: Budget): boolean {
  if (!budget.spend()) return false;
  switch (part.kind) {
    case 'start':
    case 'end':
      return true;
    case 'set':
      if (part.sample !== undefined) codes.push(part.sample);
      return part.sample !== undefined;
    case 'sequence':
      return part.parts.every((each) => append(each, codes, taste, budget));
    case 'choice': {
      const option = part.options[Math.min(taste.option, part.options.length - 1)];
      return option !== undefined && append(option, codes, taste, budget);
    }
    case 'repeat': {
      for (let round = 0; round < part.least; round++) if (!append(part.part, codes, taste, budget)) return false;
      for (let round = part.least; round < part.most && taste.growth > 0; round++) {
        const before = codes.length;
        if (!append(part.part, codes, taste, budget)) return false;
        if (codes.length === before) break;
        taste.growth -= codes.length - before;
      }
      return true;
    }
  }
}
