// From the bytes of a body to its text. Invalid UTF-8 is refused, never replaced: a provider must
// not read other characters than were checked here.

import { TurnpikeError } from '../errors.ts';

const decoder = new TextDecoder('utf-8', { fatal: true });

/** The text of a body, without a byte order mark. Throws invalid_json when the bytes are not UTF-8. */
export function decodeBody(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new TurnpikeError('invalid_json', 'The request body is not valid JSON: it is not UTF-8', { cause });
  }
}
