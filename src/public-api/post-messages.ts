// POST /v1/messages: submits a message. What happens to it stands in the gateway.

import type { Call, Reply } from './call.ts';
import { requireJson } from './content-type.ts';
import { submitCall } from './submission.ts';

export function postMessages(call: Call): Promise<Reply> {
  requireJson(call.request.headers);
  return submitCall(call, (submission) => call.dependencies.messages.submitMessage(submission));
}
