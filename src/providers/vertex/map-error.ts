// Errors of Vertex AI: those of the Messages protocol pass through it for Claude, all others are Google's.

import { isJsonObject, type JsonValue } from '../../wire/wire.ts';
import { mapError, mapErrorInside } from '../gemini/gemini.ts';
import { mapFault, parseErrorJson } from '../map-fault.ts';
import { ProviderFault } from '../provider.ts';

/** The fault of an error response, including HTML, empty and broken bodies. */
export function mapVertexFault(status: number, headers: Headers, bodyText: string, nowMs: number): ProviderFault {
  if (isOfMessages(parseErrorJson(bodyText))) return mapFault(status, headers, bodyText, nowMs);
  return refuseFeature(mapError(status, headers, bodyText, nowMs), bodyText);
}

/** The fault of Google's error within a response of status 200; null for anything else. */
export function mapVertexError(value: JsonValue): ProviderFault | null {
  const fault = isOfMessages(value) ? null : mapErrorInside(value);
  return fault === null ? null : refuseFeature(fault, JSON.stringify(value));
}

/** An organization policy that lets the models be used, but without some of their features. */
const FEATURE_POLICY = /\bvertexai\.allowedPartnerModelFeatures\b|\bdisallowed Gen AI feature\b/i;

/** Only requests with the feature are refused: the project and its credential work for all others. */
function refuseFeature(fault: ProviderFault, errorText: string): ProviderFault {
  const { kind, message, status, upstreamRequestId } = fault;
  if (kind !== 'credentials' || status !== 400 || !FEATURE_POLICY.test(errorText)) return fault;
  const facts = { status, errorType: 'invalid_request_error', upstreamRequestId, isUnsupported: true };
  return new ProviderFault('rejected', message.replaceAll(/\borganizations\/\d+/g, 'organizations/[redacted]'), facts);
}

function isOfMessages(value: JsonValue | undefined): boolean {
  return isJsonObject(value) && typeof value['type'] === 'string';
}
