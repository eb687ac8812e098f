// The bodies of Gemini's answers that are not streams, bounded: the JSON that was asked for, or the text of an error.

import { bounds } from '../../config.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/wire.ts';
import { ProviderFault } from '../provider.ts';
import { cancelBody, readBounded, upstreamFault } from '../upstream.ts';
import { parseExactly } from './exact-json.ts';

const ERROR_BODY_MS_MAX = 5_000;

/** The text of an error, as far as it comes in time: its status is known, and must not be lost for the rest. */
export async function readErrorText(response: Response, signal: AbortSignal): Promise<string> {
  try {
    return (await readBounded(response, bounds.upstreamErrorBytesMax, signal, ERROR_BODY_MS_MAX)) ?? '';
  } catch (thrown) {
    const fault = upstreamFault(thrown, signal);
    if (fault.kind === 'aborted') throw fault;
    return '';
  }
}

/** The JSON of an answer. Throws ProviderFault (failed, aborted). */
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

/** The same, where it must be an object. */
export async function readObject(response: Response, signal: AbortSignal): Promise<JsonObject> {
  const value = await readJson(response, signal);
  if (isJsonObject(value)) return value;
  throw new ProviderFault('failed', 'the provider answered with JSON that is no object');
}
