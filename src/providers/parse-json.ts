// JSON that a provider sent, bounded in depth: what nests deeper could be read and not be written again. The faults
// are without the parser's own words, which quote what could not be parsed.

import { isJsonObject, type JsonObject, type JsonValue } from '../wire/wire.ts';
import { ProviderFault } from './provider.ts';

const DEPTH_MAX = 1_000; // far more than any tool's input has

export type Parse = (text: string) => JsonValue;

/** What is told of a fault: `what` it is in, such as "an event", and the provider's id of the request. */
export interface Told {
  what: string;
  upstreamRequestId: string | null;
}

/** Throws ProviderFault (failed). */
export function parseJson(text: string, told: Told, parse: Parse = JSON.parse): JsonValue {
  if (isTooDeep(text)) throw faultOf(told, 'is nested too deep');
  try {
    return parse(text);
  } catch {
    throw faultOf(told, 'is not JSON');
  }
}

/** Throws ProviderFault (failed). */
export function parseObject(text: string, told: Told, parse?: Parse): JsonObject {
  const value = parseJson(text, told, parse);
  if (isJsonObject(value)) return value;
  throw faultOf(told, 'is no JSON object');
}

function faultOf({ what, upstreamRequestId }: Told, words: string): ProviderFault {
  return new ProviderFault('failed', `the provider sent ${what} that ${words}`, { upstreamRequestId });
}

/** Whether lists and objects stand in one another too deep; a short text cannot be. */
export function isTooDeep(text: string): boolean {
  if (text.length <= DEPTH_MAX) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22:
        at = endOfString(text, at);
        break;
      case 0x5b:
      case 0x7b:
        if (++depth > DEPTH_MAX) return true;
        break;
      case 0x5d:
      case 0x7d:
        depth--;
    }
  }
  return false;
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x5c) at++;
    else if (code === 0x22) return at;
  }
  return text.length;
}
