// Checks that an attacker's responses are valid HTTP, from the service's own table of errors, for this attacker, and
// without secrets.

import { errorTable } from '../../../src/errors.ts';
import { type Answer, readAnswers } from './answers.ts';
import { MARK } from './draft.ts';
import { escapeBytes, type RenderedVisit, type Visit } from './plan.ts';
import type { Transcript } from './wire-client.ts';

const STATUSES: ReadonlySet<number> = new Set([
  ...[101, 200, 201, 204, 301, 302, 304, 307, 308],
  ...Object.values(errorTable).map(({ status }) => status),
]);
/** Refusals of HTTP that is none, which the runtime makes by itself, without a body. */
const RUNTIME_STATUSES: ReadonlySet<number> = new Set([400, 408, 411, 413, 414, 431, 501, 505]);
const EXPLAINED: ReadonlySet<string> = new Set([
  'upstream_failed',
  'upstream_credentials',
  'upstream_overloaded',
  'upstream_timeout',
  'overloaded',
]);
const STACK = /\n\s+at .+:\d+:\d+|\/src\/[\w/-]+\.ts\b|node_modules\//;

/** The first thing that is wrong; null when nothing is. `secrets` are those of others. */
export function findFault(
  visit: Visit,
  rendered: RenderedVisit,
  { received, isClosed, isCut }: Transcript,
  secrets: readonly string[],
): string | null {
  const text = received.toString('latin1');
  const told = secrets.find((secret) => text.includes(secret));
  if (told !== undefined) return `a secret of another account was sent: ${told}`;
  for (const [mark, place] of text.matchAll(MARK))
    if (Number(place) !== visit.place) return `${mark} of another connection was sent here`;
  if (STACK.test(text) && !isConsole(rendered)) return `a stack trace was sent: ${escapeBytes(received).slice(0, 500)}`;
  const isReadable = rendered.isOrdered || !rendered.bytes.includes('HEAD');
  if (!isReadable || isCut) return null;
  const { whole, fault } = readAnswers(received, rendered.isOrdered ? rendered.methods : [], isClosed);
  if (fault !== null) return `no HTTP/1.1: ${fault}`;
  for (const [at, answer] of whole.entries()) {
    const wrong = faultOf(answer) ?? (rendered.isOrdered ? strayMark(answer, at) : null);
    if (wrong !== null) return wrong;
  }
  return null;
}

/** Its scripts may say anything. */
function isConsole({ bytes }: RenderedVisit): boolean {
  return bytes.includes('/console');
}

function faultOf({ status, body }: Answer): string | null {
  const text = body.toString();
  const code = /"error_code":\s*"(\w+)"/.exec(text)?.[1] ?? /"code":\s*"(\w+)"/.exec(text)?.[1] ?? '';
  if (code === 'internal') return `internal: ${text.slice(0, 300)}`;
  if (status >= 500) {
    if (EXPLAINED.has(code)) return null;
    if (text === '' && RUNTIME_STATUSES.has(status)) return null;
    return `${status} without an explanation: ${text.slice(0, 300)}`;
  }
  if (STATUSES.has(status)) return null;
  return text === '' && RUNTIME_STATUSES.has(status) ? null : `status ${status}: ${text.slice(0, 300)}`;
}

function strayMark({ body }: Answer, at: number): string | null {
  for (const [mark, , request] of body.toString('latin1').matchAll(MARK))
    if (Number(request) !== at) return `${mark} of another request was sent in answer ${at}`;
  return null;
}
