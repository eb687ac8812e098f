// Parses a provider's JSON with bounded depth. Faults omit the parser's message, which quotes the text.

import { bounds } from '../config.ts';
import { isJsonObject, isTooDeep, type JsonObject, type JsonValue, objectOf } from '../wire/wire.ts';
import { ProviderFault } from './provider.ts';
import { cancelBody, readBounded, upstreamFault } from './upstream.ts';

export const DEPTH_MAX = 1_000; // far more than any tool input has

type Parse = (text: string) => JsonValue;

/** Facts for the fault: `what` was parsed, such as "an event", and the provider's request id. */
interface ParsedText {
  what: string;
  upstreamRequestId: string | null;
}

export function parseJson(text: string, parsed: ParsedText, parse: Parse = JSON.parse): JsonValue {
  if (isTooDeep(text, DEPTH_MAX)) throw faultOf(parsed, 'is nested too deep');
  try {
    return parse(text);
  } catch {
    throw faultOf(parsed, 'is not JSON');
  }
}

export function parseObject(text: string, parsed: ParsedText, parse?: Parse): JsonObject {
  const value = parseJson(text, parsed, parse);
  if (isJsonObject(value)) return value;
  throw faultOf(parsed, 'is not a JSON object');
}

/** The object in the text of an event that is read for its counts alone; empty for anything else. */
export function parseLeniently(text: string): JsonObject {
  try {
    return objectOf(JSON.parse(text));
  } catch {
    return {};
  }
}

function faultOf({ what, upstreamRequestId }: ParsedText, words: string): ProviderFault {
  return new ProviderFault('failed', `the provider sent ${what} that ${words}`, { upstreamRequestId });
}

const REQUEST_ID_HEADERS = ['request-id', 'x-request-id', 'apim-request-id', 'x-generation-id', 'x-amzn-requestid'];

/** The provider's request id, under its family's header name; null without one. */
export function readUpstreamRequestId(headers: Headers): string | null {
  for (const name of REQUEST_ID_HEADERS) {
    const id = headers.get(name);
    if (id !== null) return id;
  }
  return null;
}

export interface Answer<Value> {
  value: Value;
  text: string;
  upstreamRequestId: string | null;
}

/** The JSON object of a response. Throws ProviderFault (failed, aborted). */
export function readObject(response: Response, signal: AbortSignal, parse?: Parse): Promise<Answer<JsonObject>> {
  return readAnswer(response, signal, requireObject, parse);
}

/** The JSON of a response. Throws ProviderFault (failed, aborted). */
export function readJson(response: Response, signal: AbortSignal, parse?: Parse): Promise<Answer<JsonValue>> {
  return readAnswer(response, signal, (answer) => answer, parse);
}

/** The same answer. Throws ProviderFault (failed). */
export function requireObject(answer: Answer<JsonValue>): Answer<JsonObject> {
  if (isJsonObject(answer.value)) return answer as Answer<JsonObject>;
  const { upstreamRequestId } = answer;
  throw new ProviderFault('failed', 'the provider answered with JSON that is not an object', { upstreamRequestId });
}

/** The JSON of a response, converted. Throws ProviderFault (failed, aborted). */
export async function readAnswer<Converted>(
  response: Response,
  signal: AbortSignal,
  convert: (answer: Answer<JsonValue>) => Converted,
  parse?: Parse,
): Promise<Converted> {
  const upstreamRequestId = readUpstreamRequestId(response.headers);
  if (response.headers.get('content-type')?.includes('text/event-stream') === true) {
    await cancelBody(response);
    throw new ProviderFault('failed', 'the provider streamed its response, but no stream was requested', {
      upstreamRequestId,
    });
  }
  let text: string | null;
  try {
    text = await readBounded(response, bounds.upstreamBodyBytesMax);
  } catch (thrown) {
    throw upstreamFault(thrown, signal);
  }
  if (text === null)
    throw new ProviderFault('failed', 'the response of the provider is too long', { upstreamRequestId });
  return convert({ value: parseJson(text, { what: 'a response', upstreamRequestId }, parse), text, upstreamRequestId });
}
