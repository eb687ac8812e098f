// GET /v1/models: the models that the caller's key may use, page by page where it is asked for so.

import type { Call, Reply } from './call.ts';
import { submitCall } from './submission.ts';

export function getModels(call: Call): Promise<Reply> {
  return submitCall(call, (submission) => call.dependencies.messages.listModels(submission));
}
