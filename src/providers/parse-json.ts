// Parses a provider's JSON with bounded cost, because parsing blocks the event loop. Faults omit the parser's message, which
// quotes the text.

import { bounds } from '../config/config.ts';
import {
  findCost,
  isJsonObject,
  isTooDeep,
  type JsonObject,
  type JsonValue,
  JsonWeight,
  pauseAfter,
} from '../wire/wire.ts';
import { withUsage } from './endings.ts';
import { ProviderFault } from './provider.ts';
import { cancelBody, readBounded, upstreamFault } from './upstream.ts';

const CHEAP_CHARACTERS = 64 * 1024; // a text of this length may have any members
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
  requireCheap(text, parsed);
  return parseCheap(text, parsed, parse);
}

function parseCheap(text: string, parsed: ParsedText, parse: Parse): JsonValue {
  try {
    return parse(text);
  } catch {
    throw new NotJson(parsed, text);
  }
}

/** A text that is not JSON: a stream of events, perhaps, under another content type. */
export class NotJson extends ProviderFault {
  readonly text: string;

  constructor({ what, upstreamRequestId }: ParsedText, text: string) {
    super('failed', `the provider sent ${what} that is not JSON`, { upstreamRequestId });
    this.text = text;
  }

  get isOfEvents(): boolean {
    return /^\s*(?:event|data|id|retry)?:/.test(this.text);
  }
}

/** Throws ProviderFault for a text that takes long to parse (failed), or is nested too deep (unusable). */
function requireCheap(text: string, parsed: ParsedText): void {
  const cost = costOf(text, bounds.answerDepthMax);
  if (cost === 'costly') throw faultOf(parsed, 'has too many members or characters to be parsed');
  if (cost === null) return;
  // Only the input of a tool can be: the model wrote it.
  const usage = parsed.usageOf?.(parseLeniently(text)) ?? null;
  throw withUsage(faultOf(parsed, 'is nested too deep', 'unusable'), usage);
}

function costOf(text: string, depthMax: number): ReturnType<typeof findCost> {
  if (text.length > CHEAP_CHARACTERS) return findCost(text, new JsonWeight(depthMax));
  return isTooDeep(text, depthMax) ? 'deep' : null;
}

export function parseObject(text: string, parsed: ParsedText, parse?: Parse): JsonObject {
  const value = parseJson(text, parsed, parse);
  if (isJsonObject(value)) return value;
  throw faultOf(parsed, 'is not a JSON object');
}

/** The object in a text that is read for its counts alone; empty without any. */
export function parseLeniently(text: string): JsonObject {
  return /usage/i.test(text) ? (parseAnyDepth(text) ?? {}) : {};
}

/** The object in a text, however deep; null: there is none, or it takes long to parse. */
export function parseAnyDepth(text: string, parse: Parse = JSON.parse): JsonObject | null {
  if (costOf(text, Number.POSITIVE_INFINITY) !== null) return null;
  try {
    const value = parse(text);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
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

/**
 * The JSON of a response, converted; by default one of the Messages protocol. Yields to the event loop between the steps of a long
 * one. Throws ProviderFault (failed, aborted, unusable).
 */
export async function readAnswer<Converted>(
  response: Response,
  signal: AbortSignal,
  convert: (answer: Answer<JsonValue>) => Converted,
  parse: Parse = JSON.parse,
  usageOf: UsageOf = (value) => optionalObject(value['usage']),
): Promise<Converted> {
  const { text, upstreamRequestId } = await readText(response, signal, bounds.upstreamBodyBytesMax);
  const parsed = { what: 'a response', upstreamRequestId, usageOf };
  await pauseAfter(text);
  requireCheap(text, parsed);
  await pauseAfter(text);
  const value = parseCheap(text, parsed, parse);
  await pauseAfter(text);
  return convert({ value, text, upstreamRequestId });
}

/** The text of a response. Throws ProviderFault (failed, aborted). */
export async function readText(
  response: Response,
  signal: AbortSignal,
  bytesMax: number,
): Promise<Omit<Answer<unknown>, 'value'>> {
  const upstreamRequestId = readUpstreamRequestId(response.headers);
  if (response.headers.get('content-type')?.includes('text/event-stream') === true) {
    await cancelBody(response);
    throw new ProviderFault('failed', 'the provider streamed its response, but no stream was requested', {
      upstreamRequestId,
    });
  }
  let text: string | null;
  try {
    text = await readBounded(response, bytesMax);
  } catch (thrown) {
    throw upstreamFault(thrown, signal);
  }
  if (text === null)
    throw new ProviderFault('failed', 'the response of the provider is too long', { upstreamRequestId });
  return { text, upstreamRequestId };
}

function optionalObject(value: JsonValue | undefined): JsonObject | null {
  return isJsonObject(value) ? value : null;
}
