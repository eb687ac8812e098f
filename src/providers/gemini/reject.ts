// The refusal of what the Gemini protocol cannot carry: thrown before anything is sent, in the wording by
// which clients know a fault of theirs.

import { ProviderFault } from '../provider.ts';

/** `path` is that of the field, "messages.0.content.1.source". */
export function rejected(path: string, words: string): ProviderFault {
  return new ProviderFault('rejected', `${path}: ${words}`, { status: 400, errorType: 'invalid_request_error' });
}
