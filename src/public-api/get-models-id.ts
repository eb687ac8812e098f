// GET /v1/models/{id}: one model. Its name may hold slashes, so the rest of the path is one id.

import type { Call, Reply } from './call.ts';
import { MODELS_PATH, restOf } from './path.ts';
import { submitCall } from './submission.ts';

export function getModelsId(call: Call): Promise<Reply> {
  const id = restOf(call.path, MODELS_PATH);
  return submitCall(call, (submission) => call.dependencies.messages.getModel(submission, id));
}
