// POST /v1/messages/count_tokens: how many tokens a message's prompt would have. Costs nothing.

import type { Call, Reply } from './call.ts';
import { requireJson } from './content-type.ts';
import { submitCall } from './submission.ts';

export function postMessagesCountTokens(call: Call): Promise<Reply> {
  requireJson(call.request.headers);
  return submitCall(call, (submission) => call.dependencies.messages.countTokens(submission));
}
