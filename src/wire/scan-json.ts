// One pass over JSON text for what JSON.parse does not tell: doubled keys, nesting too deep, and where
// the top-level members stand. It does not judge syntax: what is malformed is left to JSON.parse, which
// fails at or before the place where this pass gave up.

import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import type { MemberSpan } from './message-request.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BRACKET_OPEN = 0x5b;
const BACKSLASH = 0x5c;
const BRACKET_CLOSE = 0x5d;
const BRACE_OPEN = 0x7b;
const BRACE_CLOSE = 0x7d;

const LISTED_KEYS_MAX = 8; // more keys than these are looked up in a set
const PATH_PART_CHARACTERS_MAX = 64;
const PATH_CHARACTERS_MAX = 256;
const TOO_MANY = `Input should not have more than ${bounds.jsonValuesMax} values`;

/** One object or array that is open. Frames are used again at their depth, so that a pass allocates few. */
interface Frame {
  isArray: boolean;
  index: number;
  key: string;
  keys: string[];
  manyKeys: Set<string> | null;
}

/**
 * The spans of the top-level members in the order of the text; empty when the text is no object.
 * Throws invalid_request, its message beginning with the path, for a doubled key at any level (compared
 * after unescaping), for more than bounds.jsonDepthMax levels and for more than bounds.jsonValuesMax values, of which
 * an object or array is one more. Runs before JSON.parse may be called.
 */
export function scanJson(text: string): Map<string, MemberSpan> {
  const members = new Map<string, MemberSpan>();
  const frames: Frame[] = [];
  let depth = 0;
  let values = 1;
  let frame: Frame | undefined;
  let awaitsKey = false;
  let from = -1;
  let colon = -1;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const close = closingQuote(text, at + 1);
        if (close < 0) return members;
        if (awaitsKey && frame !== undefined) {
          frame.key = readKey(text, at, close);
          if (!noteKey(frame)) throw fault(frames, depth, 'This key stands twice in one object');
          awaitsKey = false;
          if (depth === 1) from = at;
        }
        at = close;
        break;
      }
      case COLON:
        if (depth === 1) colon = at;
        break;
      case COMMA:
        if (frame === undefined) return members;
        if (++values > bounds.jsonValuesMax) throw fault(frames, depth, TOO_MANY);
        if (frame.isArray) frame.index++;
        else {
          if (depth === 1) noteMember(members, frame.key, text, from, colon, at);
          awaitsKey = true;
        }
        break;
      case BRACE_OPEN:
      case BRACKET_OPEN:
        if (depth === bounds.jsonDepthMax)
          throw fault(frames, depth, `Input should not be nested deeper than ${bounds.jsonDepthMax} levels`);
        if (++values > bounds.jsonValuesMax) throw fault(frames, depth, TOO_MANY);
        frame = openFrame(frames, depth++, text.charCodeAt(at) === BRACKET_OPEN);
        awaitsKey = !frame.isArray;
        break;
      case BRACE_CLOSE:
      case BRACKET_CLOSE:
        if (frame === undefined) return members;
        if (depth === 1 && !frame.isArray) noteMember(members, frame.key, text, from, colon, at);
        frame = --depth === 0 ? undefined : frames[depth - 1];
        awaitsKey = false;
    }
  }
  return members;
}

/** Where the string that began before `from` closes, or -1. Found by search, so that long strings cost little. */
function closingQuote(text: string, from: number): number {
  let at = text.indexOf('"', from);
  while (at >= 0) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return at;
    at = text.indexOf('"', at + 1);
  }
  return -1;
}

/** The key whose quotes stand at `open` and `close`. One with a broken escape stays raw: JSON.parse refuses it. */
function readKey(text: string, open: number, close: number): string {
  const raw = text.slice(open + 1, close);
  if (!raw.includes('\\')) return raw;
  try {
    return JSON.parse(`"${raw}"`);
  } catch {
    return raw;
  }
}

/** False when the frame's key was there before. */
function noteKey(frame: Frame): boolean {
  if (frame.manyKeys !== null) {
    if (frame.manyKeys.has(frame.key)) return false;
    frame.manyKeys.add(frame.key);
    return true;
  }
  if (frame.keys.includes(frame.key)) return false;
  frame.keys.push(frame.key);
  if (frame.keys.length > LISTED_KEYS_MAX) frame.manyKeys = new Set(frame.keys);
  return true;
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

function openFrame(frames: Frame[], depth: number, isArray: boolean): Frame {
  let frame = frames[depth];
  if (frame === undefined) {
    frame = { isArray, index: 0, key: '', keys: [], manyKeys: null };
    frames.push(frame);
    return frame;
  }
  frame.isArray = isArray;
  frame.index = 0;
  frame.key = '';
  frame.keys.length = 0;
  frame.manyKeys = null;
  return frame;
}

function fault(frames: readonly Frame[], depth: number, sentence: string): TurnpikeError {
  const path = frames
    .slice(0, depth)
    .map((frame) => (frame.isArray ? String(frame.index) : frame.key.slice(0, PATH_PART_CHARACTERS_MAX) || '""'))
    .join('.');
  const shown = path.length > PATH_CHARACTERS_MAX ? `${path.slice(0, PATH_CHARACTERS_MAX)}…` : path;
  return new TurnpikeError('invalid_request', `${shown}: ${sentence}`);
}
