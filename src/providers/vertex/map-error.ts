// Errors of Vertex AI: those of the Messages protocol pass through it for Claude, all others are Google's.

import { isJsonObject, type JsonValue } from '../../wire/wire.ts';
import { mapError, mapErrorInside } from '../gemini/gemini.ts';
import { mapFault, parseErrorJson } from '../map-fault.ts';
import type { ProviderFault } from '../provider.ts';

/** The fault of an error response, including HTML, empty and broken bodies. */
export function mapVertexFault(status: number, headers: Headers, bodyText: string, nowMs: number): ProviderFault {
  const map = isOfMessages(parseErrorJson(bodyText)) ? mapFault : mapError;
  return map(status, headers, bodyText, nowMs);
}

/** The fault of Google's error within a response of status 200; null for anything else. */
export function mapVertexError(value: JsonValue): ProviderFault | null {
  return isOfMessages(value) ? null : mapErrorInside(value);
}

function isOfMessages(value: JsonValue | undefined): boolean {
  return isJsonObject(value) && typeof value['type'] === 'string';
}
