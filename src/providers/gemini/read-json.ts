// The JSON of an answer that came whole: an object, or a list of chunks where something between us and Gemini made
// one of the stream. Its numbers keep their digits.

import { bounds } from '../../config.ts';
import { type JsonValue, parseExactly } from '../../wire/wire.ts';
import { ProviderFault } from '../provider.ts';
import { cancelBody, readBounded } from '../upstream.ts';

/** Throws ProviderFault (failed, aborted). */
export async function readJson(response: Response, signal: AbortSignal): Promise<JsonValue> {
  if (response.headers.get('content-type')?.includes('text/event-stream') === true) {
    await cancelBody(response);
    throw new ProviderFault('failed', 'the provider streamed what was not to be streamed');
  }
  const text = await readBounded(response, bounds.upstreamBodyBytesMax, signal);
  if (text === null) throw new ProviderFault('failed', 'the answer of the provider is too long');
  try {
    return parseExactly(text);
  } catch {
    // Without the parser's own words: they quote what could not be parsed.
    throw new ProviderFault('failed', 'the provider answered with something that is not JSON');
  }
}
