// POST /v1/chat/completions: translates the request to Messages for the same gateway, and the reply back.

import { assert } from '../base/assert.ts';
import { parseTimeMs } from '../base/checked-number.ts';
import {
  type ChatTerms,
  convertEvents,
  convertMessage,
  readChatInTurns,
  withClientPaths,
} from '../chat-completions/chat-completions.ts';
import { TurnpikeError } from '../errors.ts';
import type { Call, Reply } from './call.ts';
import { requireJson } from './routes.ts';

const LIMITS = ['requests', 'tokens'];

/** All header names, for CORS. */
export const OPENAI_RATE_HEADERS: string = LIMITS.flatMap((limit) =>
  ['limit', 'remaining', 'reset'].map((figure) => `x-ratelimit-${figure}-${limit}`),
).join(', ');

/** `x-ratelimit-{limit,remaining,reset}-{requests,tokens}` for the limits in the response's headers. */
export function openAiRateHeaders(
  headers: Readonly<Record<string, string>>,
  vendorPrefix: string,
  nowMs: number,
): Record<string, string> {
  const converted: Record<string, string> = {};
  for (const limit of LIMITS) {
    const name = `${vendorPrefix}-ratelimit-${limit}`;
    const most = headers[`${name}-limit`];
    if (most === undefined) continue;
    converted[`x-ratelimit-limit-${limit}`] = most;
    converted[`x-ratelimit-remaining-${limit}`] = headers[`${name}-remaining`] ?? '0';
    const resetMs = parseTimeMs(headers[`${name}-reset`] ?? '') ?? nowMs;
    converted[`x-ratelimit-reset-${limit}`] = formatWait(resetMs - nowMs);
  }
  return converted;
}

/** A duration such as "6m0s" or "7s". */
function formatWait(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const minutes = Math.floor(seconds / 60);
  return `${minutes > 0 ? `${minutes}m` : ''}${seconds % 60}s`;
}

export async function postChatCompletions(call: Call): Promise<Reply> {
  requireJson(call.request.headers);
  const asked: ReadTerms = { terms: null };
  try {
    call.open();
    readAsChat(call, asked);
    const reply = await call.dependencies.messages.submitMessage(call);
    return convertReply(reply, asked, call);
  } catch (thrown) {
    if (!(thrown instanceof TurnpikeError) || asked.terms === null) throw thrown;
    throw withClientPaths(thrown, asked.terms.origins);
  }
}

/** The request from reading its body until the reply: it may live that long. */
interface ReadTerms {
  terms: ChatTerms | null;
}

/** The gateway reads the body of an authenticated request as a message. */
function readAsChat(call: Call, asked: ReadTerms): void {
  call.protocol = 'chat-completions';
  const readBody = call.readBody.bind(call);
  call.readBody = async (bytesMax, accountId) => {
    const { bytes, terms } = await readChatInTurns(await readBody(bytesMax, accountId));
    asked.terms = terms;
    return bytes;
  };
}

/** The stream is read as fast as the client reads, and is cancelled when the client disconnects. */
function convertReply(reply: Reply, asked: ReadTerms, call: Call): Reply {
  const { terms } = asked;
  const { receivedAtMs: createdAtMs, vendorPrefix, dependencies } = call;
  assert(terms !== null, 'a reply follows a request');
  asked.terms = null; // the terms are not needed anymore
  const headers = { ...reply.headers, ...openAiRateHeaders(reply.headers, vendorPrefix, dependencies.clock.nowMs()) };
  const { body } = reply;
  if (typeof body === 'string') return { ...reply, headers, body: convertMessage(body, terms, createdAtMs) };
  return { ...reply, headers, body: convertEvents(body, terms, createdAtMs) };
}
