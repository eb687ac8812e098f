// GET /v1/models/{id}: one model. Its name may hold slashes, so the rest of the path is one id.

import type { Call, Reply } from './call.ts';
import { MODELS_PATH, normalPath } from './path.ts';
import { submitCall } from './submission.ts';

export function getModelsId(call: Call): Promise<Reply> {
  const id = decode(normalPath(call.path).slice(MODELS_PATH.length));
  return submitCall(call, (submission) => call.dependencies.messages.getModel(submission, id));
}

/** Text that is no percent-encoding is taken as it stands: no model bears such a name. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
