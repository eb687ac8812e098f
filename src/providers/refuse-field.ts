// The refusal of what a provider's protocol cannot say, before anything is sent: a 400 that begins with
// the path of the field, as the provider would send it.

import { ProviderFault } from './provider.ts';

/** Throws ProviderFault (rejected). `path` is such as "messages.0.content.1.source". */
export function refuseField(path: string, sentence: string): never {
  throw new ProviderFault('rejected', `${path}: ${sentence}`, { status: 400, errorType: 'invalid_request_error' });
}
