// GET /v1/key: the key that asks, its limits, what remains of them and when they come back.

import type { Call, Reply } from './call.ts';
import { submitCall } from './submission.ts';

export function getKey(call: Call): Promise<Reply> {
  return submitCall(call, (submission) => call.dependencies.messages.getKey(submission));
}
