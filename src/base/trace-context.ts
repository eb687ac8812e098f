// Parses `traceparent` and `tracestate` of W3C Trace Context, level 1 (https://www.w3.org/TR/trace-context/).

/** The headers as they are forwarded. */
export interface TraceContext {
  /** "00-<32 digits: trace>-<16 digits: parent>-<2 digits: flags>", all hexadecimal in lower case. */
  readonly traceparent: string;
  /** Members of other systems, 512 characters at most; null when there are none. */
  readonly tracestate: string | null;
}

const TRACEPARENT = /^([0-9a-f]{2})-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$/;
const TRACEPARENT_CHARACTERS = 55;
const STATE_CHARACTERS_MAX = 512;
const STATE_MEMBERS_MAX = 32;
const STATE_MEMBER =
  /^[a-z0-9][a-z0-9_\-*/]{0,255}(?:@[a-z][a-z0-9_\-*/]{0,13})?=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/** Reads the two headers. Null when `traceparent` is invalid: then both count as absent. */
export function readTraceContext(traceparent: string | null, tracestate: string | null): TraceContext | null {
  const version = TRACEPARENT.exec(traceparent ?? '');
  if (traceparent === null || version === null) return null;
  if (version[1] === 'ff' || (version[1] === '00' && version[2] !== undefined)) return null;
  // A later version has the same first fields, which are forwarded as version 00.
  const known = version[1] === '00' ? traceparent : `00${traceparent.slice(2, TRACEPARENT_CHARACTERS)}`;
  return { traceparent: known, tracestate: tracestate === null ? null : readState(tracestate) };
}

/** Unchanged when every member is well formed, otherwise null: invalid members are not forwarded. */
function readState(tracestate: string): string | null {
  if (tracestate.length > STATE_CHARACTERS_MAX) return null;
  const members = tracestate
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '');
  const isWhole =
    members.length > 0 && members.length <= STATE_MEMBERS_MAX && members.every((member) => STATE_MEMBER.test(member));
  return isWhole ? tracestate.trim() : null;
}
