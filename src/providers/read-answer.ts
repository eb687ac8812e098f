// The bodies of a provider's answers that are not streams, bounded: the JSON object that was asked for,
// or the text of an error.

import { bounds } from '../config.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../wire/wire.ts';
import { type Parse, parseJson } from './parse-json.ts';
import { ProviderFault } from './provider.ts';
import { cancelBody, readBounded, upstreamFault } from './upstream.ts';

const ERROR_BODY_MS_MAX = 5_000;
const REQUEST_ID_HEADERS = ['request-id', 'x-request-id', 'apim-request-id', 'x-generation-id'];

/** The provider's own id of a request, under whatever name its family gives it; null when it gives none. */
export function readUpstreamRequestId(headers: Headers): string | null {
  for (const name of REQUEST_ID_HEADERS) {
    const id = headers.get(name);
    if (id !== null) return id;
  }
  return null;
}

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

interface Answer<Value> {
  value: Value;
  text: string;
  upstreamRequestId: string | null;
}

/** The JSON object of an answer. Throws ProviderFault (failed, aborted). */
export async function readObject(response: Response, signal: AbortSignal, parse?: Parse): Promise<Answer<JsonObject>> {
  const { value, text, upstreamRequestId } = await readJson(response, signal, parse);
  if (isJsonObject(value)) return { value, text, upstreamRequestId };
  throw new ProviderFault('failed', 'the provider answered with JSON that is no object', { upstreamRequestId });
}

/** The JSON of an answer. Throws ProviderFault (failed, aborted). */
export async function readJson(response: Response, signal: AbortSignal, parse?: Parse): Promise<Answer<JsonValue>> {
  const upstreamRequestId = readUpstreamRequestId(response.headers);
  if (response.headers.get('content-type')?.includes('text/event-stream') === true) {
    await cancelBody(response);
    throw new ProviderFault('failed', 'the provider streamed what was not to be streamed', { upstreamRequestId });
  }
  const text = await readBounded(response, bounds.upstreamBodyBytesMax, signal);
  if (text === null) throw new ProviderFault('failed', 'the answer of the provider is too long', { upstreamRequestId });
  return { value: parseJson(text, { what: 'an answer', upstreamRequestId }, parse), text, upstreamRequestId };
}
