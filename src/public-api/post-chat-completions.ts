// POST /v1/chat/completions: a message for clients of OpenAI. It is the message of POST /v1/messages in other words:
// the same gateway is asked, and what it answers is said in theirs.

import { assert } from '../base/assert.ts';
import {
  type ChatTerms,
  convertEvents,
  convertMessage,
  inOwnWords,
  readChatRequest,
} from '../chat-completions/chat-completions.ts';
import { TurnpikeError } from '../errors.ts';
import type { Call, Reply, Submission } from './call.ts';
import { requireJson } from './content-type.ts';
import { openAiRateHeaders } from './openai-rate-headers.ts';
import { submitCall } from './submission.ts';

export async function postChatCompletions(call: Call): Promise<Reply> {
  requireJson(call.request.headers);
  const asked: Asked = { terms: null };
  try {
    const reply = await submitCall(call, (submission) => {
      readAsChat(submission, asked);
      return call.dependencies.messages.submitMessage(submission);
    });
    return convertReply(reply, asked, call);
  } catch (thrown) {
    if (!(thrown instanceof TurnpikeError) || asked.terms === null) throw thrown;
    throw inOwnWords(thrown, asked.terms.origins);
  }
}

/** What was asked, from when the body is read until there is an answer: this may live as long as that. */
interface Asked {
  terms: ChatTerms | null;
}

/** The gateway reads the body, for a caller who is known, as that of a message. */
function readAsChat(submission: Submission, asked: Asked): void {
  submission.protocol = 'chat-completions';
  const readBody = submission.readBody.bind(submission);
  submission.readBody = async (bytesMax, accountId) => {
    const { bytes, terms } = readChatRequest(await readBody(bytesMax, accountId));
    asked.terms = terms;
    return bytes;
  };
}

/** A stream is read on no faster than its own reader reads, and is told when that one leaves. */
function convertReply(reply: Reply, asked: Asked, call: Call): Reply {
  const { terms } = asked;
  const { receivedAtMs: createdAtMs, vendorPrefix, dependencies } = call;
  assert(terms !== null, 'an answer has a request');
  asked.terms = null; // what was asked is named no more
  const headers = { ...reply.headers, ...openAiRateHeaders(reply.headers, vendorPrefix, dependencies.clock.nowMs()) };
  const { body } = reply;
  if (typeof body === 'string') return { ...reply, headers, body: convertMessage(body, terms, createdAtMs) };
  return { ...reply, headers, body: convertEvents(body, terms, createdAtMs) };
}
