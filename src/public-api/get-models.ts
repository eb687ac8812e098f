// GET /v1/models: the models that the caller's key may use, all on one page.

import type { Call, Reply } from './call.ts';
import { submitCall } from './submission.ts';

export function getModels(call: Call): Promise<Reply> {
  return submitCall(call, (submission) => call.dependencies.messages.listModels(submission));
}
