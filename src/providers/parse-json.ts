// Parses a provider's JSON with bounded depth. Faults omit the parser's message, which quotes the text.

import { bounds } from '../config.ts';
import { isJsonObject, isTooDeep, type JsonObject, type JsonValue, objectOf } from '../wire/wire.ts';
import { withUsage } from './endings.ts';
import { ProviderFault } from './provider.ts';
import { cancelBody, readBounded, upstreamFault } from './upstream.ts';

export const DEPTH_MAX = 1_000; // far more than any tool input has

type Parse = (text: string) => JsonValue;

/** Facts for the fault: `what` was parsed, such as "an event", and the provider's request id. */
interface ParsedText {
  what: string;
  upstreamRequestId: string | null;
  /** The usage that it reports, in the form of a message's; absent: none. */
  usageOf?: UsageOf;
}

type UsageOf = (value: JsonObject) => JsonObject | null;

/** Throws ProviderFault (failed; unusable if it is nested too deep). */
export function parseJson(text: string, parsed: ParsedText, parse: Parse = JSON.parse): JsonValue {
  if (isTooDeep(text, DEPTH_MAX)) {
    // Only the input of a tool can be: the model wrote it.
    const usage = parsed.usageOf?.(parseLeniently(text)) ?? null;
    throw withUsage(faultOf(parsed, 'is nested too deep', 'unusable'), usage);
  }
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

/** The object in a text that is read for its counts alone; empty without any. */
export function parseLeniently(text: string): JsonObject {
  try {
    return /usage/i.test(text) ? objectOf(JSON.parse(text)) : {};
  } catch {
    return {};
  }
}

function faultOf(
  { what, upstreamRequestId }: ParsedText,
  words: string,
  kind: 'failed' | 'unusable' = 'failed',
): ProviderFault {
  return new ProviderFault(kind, `the provider sent ${what} that ${words}`, { upstreamRequestId });
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

/** The JSON object of a response. Throws ProviderFault (failed, aborted, unusable). */
export function readObject(
  response: Response,
  signal: AbortSignal,
  parse?: Parse,
  usageOf: UsageOf = () => null,
): Promise<Answer<JsonObject>> {
  return readAnswer(response, signal, requireObject, parse, usageOf);
}

/** The JSON of a response. Throws ProviderFault (failed, aborted, unusable). */
export function readJson(
  response: Response,
  signal: AbortSignal,
  parse?: Parse,
  usageOf: UsageOf = () => null,
): Promise<Answer<JsonValue>> {
  return readAnswer(response, signal, (answer) => answer, parse, usageOf);
}

/** The same answer. Throws ProviderFault (failed). */
export function requireObject(answer: Answer<JsonValue>): Answer<JsonObject> {
  if (isJsonObject(answer.value)) return answer as Answer<JsonObject>;
  const { upstreamRequestId } = answer;
  throw new ProviderFault('failed', 'the provider answered with JSON that is not an object', { upstreamRequestId });
}

/** The JSON of a response, converted; by default one of the Messages protocol. Throws ProviderFault (failed, aborted, unusable). */
export async function readAnswer<Converted>(
  response: Response,
  signal: AbortSignal,
  convert: (answer: Answer<JsonValue>) => Converted,
  parse?: Parse,
  usageOf: UsageOf = (value) => optionalObject(value['usage']),
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
  const value = parseJson(text, { what: 'a response', upstreamRequestId, usageOf }, parse);
  return convert({ value, text, upstreamRequestId });
}

function optionalObject(value: JsonValue | undefined): JsonObject | null {
  return isJsonObject(value) ? value : null;
}
