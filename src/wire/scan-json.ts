// One pass over JSON text for what JSON.parse does not report: duplicate keys, depth, cost, and the positions of
// top-level members. Malformed text is left to JSON.parse, which fails at or before the place where this pass stops.

import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import type { MemberSpan } from './message-request.ts';

const QUOTE = 0x22;
const DIGIT_ZERO = 0x30;
const DIGIT_NINE = 0x39;
const COMMA = 0x2c;
const COLON = 0x3a;
const BRACKET_OPEN = 0x5b;
const BACKSLASH = 0x5c;
const BRACKET_CLOSE = 0x5d;
const BRACE_OPEN = 0x7b;
const BRACE_CLOSE = 0x7d;

const WALKED_KEYS_MAX = 8; // more keys are looked up in a set
const INDEX_DIGITS_MAX = 10;
const SHORT_NUMBER = 16; // with its sign: 15 digits, which a double represents exactly
const SHORT_CHARACTERS = 32; // escapes in shorter strings cost nothing in comparison
const KEY_CHARACTERS_UNIT = 64; // a new key counts once more per this many characters
const PATH_PART_CHARACTERS_MAX = 64;
const PATH_CHARACTERS_MAX = 256;
const { jsonValuesMax, jsonNewKeysMax, jsonBareCharactersMax, jsonEscapedCharactersMax, jsonLongNumbersMax } = bounds;
const DUPLICATE = 'Duplicate key in one object';
const TOO_DEEP = `Input should not be nested deeper than ${bounds.jsonDepthMax} levels`;
const TOO_MANY = `Input should not have more than ${jsonValuesMax} values`;
const TOO_NEW = `Input should not have more than ${jsonNewKeysMax} different keys in total`;
const TOO_BARE = `Input should not have more than ${jsonBareCharactersMax} characters outside of strings`;
const TOO_LONG = `Input should not have more than ${jsonLongNumbersMax} numbers of more than 15 digits`;
export const TOO_ESCAPED = `Input should not have more than ${jsonEscapedCharactersMax} characters in strings with escapes`;

/** The keys of an object up to one of them, as a trie: JSON.parse allocates per node, so nodes are what keys cost. */
interface KeyPath {
  readonly key: string;
  readonly before: KeyPath | null;
  readonly count: number;
  /** Without escapes, and not an array index. */
  readonly isPlain: boolean;
  /** null while there is at most one, `latest`. */
  next: Map<string, KeyPath> | null;
  /** The plain key taken last. */
  latest: KeyPath | null;
}

/** An open object or array. Frames are reused per depth, to avoid allocation. */
interface Frame {
  isArray: boolean;
  index: number;
  isOutermost: boolean;
  /** The latest key. */
  key: string;
  /** Not used for the members of a body, which are in the result. */
  keys: KeyPath;
  manyKeys: Set<string> | null;
}

/** Bounded totals over several texts. */
export class JsonWeight {
  readonly depthMax: number; // of each text
  values = 0;
  newKeys = 0;
  longNumbers = 0;
  escapedCharacters = 0;
  #backslash = -1; // the next backslash, searched again only when passed
  readonly noKeys: KeyPath = { key: '', before: null, count: 0, isPlain: true, next: null, latest: null };

  constructor(depthMax: number = bounds.jsonDepthMax) {
    this.depthMax = depthMax;
  }

  begin(): void {
    this.values++;
    this.#backslash = -1;
  }

  /** Adds a string with quotes at `open` and `close`. */
  addString(text: string, open: number, close: number): void {
    if (this.#backslash < open) {
      const at = text.indexOf('\\', open);
      this.#backslash = at < 0 ? text.length : at;
    }
    if (this.#backslash < close) this.escapedCharacters += close - open;
  }
}

/**
 * The spans of the top-level members in the order of the text; empty if the text is no object. Must run before
 * JSON.parse. Throws invalid_request, its message beginning with the path, for a duplicate key at any level (compared
 * after unescaping), for more than bounds.jsonDepthMax levels, and for more values, keys or characters than the other
 * bounds of this name allow, because JSON.parse takes long for them. An object or array counts as one value more.
 * `weight` has the counts of other texts of the same request.
 */
export function scanJson(text: string, weight: JsonWeight = new JsonWeight()): Map<string, MemberSpan> {
  return scan(text, weight, null) ?? new Map();
}

/**
 * Weighs JSON in a string of a request, at `path`, which must precede parsing it. Throws invalid_request if it exceeds a
 * bound; returns false if it is nested too deep. Accepts duplicate keys.
 */
export function weighJson(text: string, path: string, weight: JsonWeight): boolean {
  return scan(text, weight, path) !== null;
}

/**
 * Why JSON of a provider must not be parsed: it is nested deeper than `weight` allows, or exceeds one of its other bounds; null if
 * it may be. Accepts duplicate keys.
 */
export function findCost(text: string, weight: JsonWeight): 'deep' | 'costly' | null {
  try {
    return scan(text, weight, '') === null ? 'deep' : null;
  } catch (thrown) {
    if (thrown instanceof TurnpikeError) return 'costly';
    throw thrown;
  }
}

/** `outerPath` is null for a body. Returns null for a nested text that is too deep. */
function scan(text: string, weight: JsonWeight, outerPath: string | null): Map<string, MemberSpan> | null {
  const members = new Map<string, MemberSpan>();
  const ofBody = outerPath === null ? members : null;
  const frames: Frame[] = [];
  let depth = 0;
  weight.begin();
  let frame: Frame | undefined;
  let awaitsKey = false;
  let from = -1;
  let colon = -1;
  let bareFrom = 0; // after the last string, comma, colon, brace or bracket
  let end = Math.min(text.length, jsonBareCharactersMax); // moves with every string
  for (let at = 0; at < end; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const isKey = awaitsKey && frame !== undefined;
        let close = isKey ? repeatedKey(frame as Frame, text, at + 1) : -1;
        if (close < 0) {
          close = closingQuote(text, at + 1, jsonEscapedCharactersMax);
          if (close < 0) return members;
          const wrong = isKey ? noteKey(frame as Frame, readKey(text, at, close), weight, ofBody) : null;
          if (wrong !== null) throw fault(outerPath, frames, depth, wrong);
        }
        if (isKey && depth === 1) from = at;
        awaitsKey = false;
        if (close - at > SHORT_CHARACTERS) weight.addString(text, at, close);
        if (weight.escapedCharacters > jsonEscapedCharactersMax) throw fault(outerPath, frames, depth, TOO_ESCAPED);
        end = Math.min(text.length, end + close - at);
        at = close;
        break;
      }
      case COLON:
        if (depth === 1) colon = at;
        break;
      case COMMA:
        if (frame === undefined) return members;
        if (++weight.values > jsonValuesMax) throw fault(outerPath, frames, depth, TOO_MANY);
        if (frame.isArray) frame.index++;
        else {
          if (depth === 1) noteMember(members, frame.key, text, from, colon, at);
          awaitsKey = true;
        }
        if (at - bareFrom > SHORT_NUMBER && endsNumber(text, at) && ++weight.longNumbers > jsonLongNumbersMax)
          throw fault(outerPath, frames, depth, TOO_LONG);
        break;
      case BRACE_OPEN:
      case BRACKET_OPEN:
        if (depth === weight.depthMax && outerPath !== null) return null;
        if (depth === weight.depthMax) throw fault(outerPath, frames, depth, TOO_DEEP);
        if (++weight.values > jsonValuesMax) throw fault(outerPath, frames, depth, TOO_MANY);
        frame = openFrame(frames, depth++, text.charCodeAt(at) === BRACKET_OPEN, weight.noKeys);
        awaitsKey = !frame.isArray;
        break;
      case BRACE_CLOSE:
      case BRACKET_CLOSE:
        if (frame === undefined) return members;
        if (depth === 1 && !frame.isArray) noteMember(members, frame.key, text, from, colon, at);
        if (at - bareFrom > SHORT_NUMBER && endsNumber(text, at) && ++weight.longNumbers > jsonLongNumbersMax)
          throw fault(outerPath, frames, depth, TOO_LONG);
        frame = --depth === 0 ? undefined : frames[depth - 1];
        awaitsKey = false;
        break;
      default:
        continue;
    }
    bareFrom = at;
  }
  if (end < text.length) throw fault(outerPath, frames, depth, TOO_BARE);
  return members;
}

function endsNumber(text: string, at: number): boolean {
  const code = text.charCodeAt(at - 1);
  return code >= DIGIT_ZERO && code <= DIGIT_NINE;
}

/**
 * The end of the string that began before `from`, or -1. Uses a search, so that long strings cost little. After
 * `charactersMax` an escaped quote counts as the end: the caller refuses such a string anyway.
 */
export function closingQuote(text: string, from: number, charactersMax: number): number {
  let at = text.indexOf('"', from);
  while (at >= 0) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0 || at - from > charactersMax) return at;
    at = text.indexOf('"', at + 1);
  }
  return -1;
}

/** The key with quotes at `open` and `close`. A broken escape stays raw: JSON.parse refuses it. */
function readKey(text: string, open: number, close: number): string {
  const raw = text.slice(open + 1, close);
  if (!raw.includes('\\') || raw.length > KEY_CHARACTERS_UNIT * jsonNewKeysMax) return raw; // longer ones are refused
  try {
    return JSON.parse(`"${raw}"`);
  } catch {
    return raw;
  }
}

/** The end of the key at `from` if it is the one from last time; else -1. Members of a body are compared with each other. */
function repeatedKey(frame: Frame, text: string, from: number): number {
  const { latest } = frame.keys;
  if (latest === null || frame.isOutermost) return -1;
  const close = from + latest.key.length;
  if (text.charCodeAt(close) !== QUOTE || !text.startsWith(latest.key, from)) return -1;
  frame.key = latest.key;
  frame.keys = latest;
  return close;
}

/**
 * The fault of another key of an object, or null. The same keys in the same order were accepted before. `members` are those
 * of a body so far; null for other texts, which may have duplicate keys.
 */
function noteKey(
  frame: Frame,
  key: string,
  weight: JsonWeight,
  members: Map<string, MemberSpan> | null,
): string | null {
  frame.key = key;
  if (members !== null && frame.isOutermost) {
    if (members.has(key)) return DUPLICATE;
    weight.newKeys += isIndex(key) ? 1 : unitsOf(key);
    return weight.newKeys > jsonNewKeysMax ? TOO_NEW : null;
  }
  const before = frame.keys;
  const known = before.latest?.key === key ? before.latest : before.next?.get(key);
  if (known?.isPlain) {
    before.latest = known;
    frame.keys = known;
    return null;
  }
  if (known === undefined && members !== null && hasKey(frame, key)) return DUPLICATE;
  weight.newKeys += isIndex(key) ? 1 : known === undefined ? unitsOf(key) : 0;
  if (weight.newKeys > jsonNewKeysMax) return TOO_NEW;
  frame.keys = known ?? addKey(before, key);
  frame.manyKeys?.add(key); // after a new key, all are new
  return null;
}

/** The number that a new key counts as. */
function unitsOf(key: string): number {
  return 1 + Math.floor(key.length / KEY_CHARACTERS_UNIT);
}

function addKey(before: KeyPath, key: string): KeyPath {
  const isPlain = !isIndex(key) && !key.includes('\\');
  const added = { key, before, count: before.count + 1, isPlain, next: null, latest: null };
  const { latest } = before;
  if (isPlain) before.latest = added;
  if (isPlain && latest === null && before.next === null) return added;
  before.next ??= new Map(latest === null ? [] : [[latest.key, latest]]);
  before.next.set(key, added);
  return added;
}

function hasKey(frame: Frame, key: string): boolean {
  const { keys, manyKeys } = frame;
  if (manyKeys !== null) return manyKeys.has(key);
  const listed = keys.count > WALKED_KEYS_MAX ? new Set<string>() : null;
  for (let one: KeyPath | null = keys; one !== null && one.count > 0; one = one.before)
    if (listed !== null) listed.add(one.key);
    else if (one.key === key) return true;
  frame.manyKeys = listed;
  return listed?.has(key) ?? false;
}

/** Keys such as "7", which the runtime stores separately, at a cost each time. */
function isIndex(key: string): boolean {
  const first = key.charCodeAt(0);
  return first >= DIGIT_ZERO && first <= DIGIT_NINE && key.length <= INDEX_DIGITS_MAX && /^\d+$/.test(key);
}

function noteMember(
  members: Map<string, MemberSpan>,
  key: string,
  text: string,
  from: number,
  colon: number,
  limit: number,
): void {
  if (colon < from || from < 0) return; // an empty object, or malformed
  let start = colon + 1;
  while (start < limit && text.charCodeAt(start) <= 0x20) start++;
  let end = limit;
  while (end > start && text.charCodeAt(end - 1) <= 0x20) end--;
  members.set(key, { from, start, end });
}

function openFrame(frames: Frame[], depth: number, isArray: boolean, keys: KeyPath): Frame {
  let frame = frames[depth];
  if (frame === undefined) {
    frame = { isArray, index: 0, isOutermost: depth === 0, key: '', keys, manyKeys: null };
    frames.push(frame);
    return frame;
  }
  frame.isArray = isArray;
  frame.index = 0;
  frame.key = '';
  frame.keys = keys;
  frame.manyKeys = null;
  return frame;
}

function fault(outerPath: string | null, frames: readonly Frame[], depth: number, sentence: string): TurnpikeError {
  const inside = frames
    .slice(0, depth)
    .map((frame) => (frame.isArray ? String(frame.index) : frame.key.slice(0, PATH_PART_CHARACTERS_MAX) || '""'))
    .join('.');
  const path = outerPath ?? inside;
  const shown = path.length > PATH_CHARACTERS_MAX ? `${path.slice(0, PATH_CHARACTERS_MAX)}…` : path;
  return new TurnpikeError('invalid_request', `${shown}: ${sentence}`);
}

/** Whether lists and objects are nested deeper; a short text cannot be. */
export function isTooDeep(text: string, depthMax: number): boolean {
  if (text.length <= depthMax) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22:
        at = closingQuote(text, at + 1, Number.POSITIVE_INFINITY);
        if (at < 0) return false;
        break;
      case 0x5b:
      case 0x7b:
        if (++depth > depthMax) return true;
        break;
      case 0x5d:
      case 0x7d:
        depth--;
    }
  }
  return false;
}
