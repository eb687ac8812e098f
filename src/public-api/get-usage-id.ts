// GET /v1/usage/{request_id}: what one message of the caller's own key cost, and why.

import type { Call, Reply } from './call.ts';
import { restOf, USAGE_PATH } from './path.ts';
import { submitCall } from './submission.ts';

export function getUsageId(call: Call): Promise<Reply> {
  const requestId = restOf(call.path, USAGE_PATH);
  return submitCall(call, (submission) => call.dependencies.messages.getUsage(submission, requestId));
}
