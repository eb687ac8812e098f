// Checks of the content type of requests with a body.

import { TurnpikeError } from '../errors.ts';

/** Throws content_type_unsupported unless the request declares JSON. */
export function requireJson(headers: Headers): void {
  if (isJson(headers)) return;
  throw new TurnpikeError('content_type_unsupported', 'content-type: must be application/json.');
}

export function isJson(headers: Headers): boolean {
  const declared = headers.get('content-type');
  if (declared === 'application/json') return true;
  const mediaType = (declared ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return mediaType === 'application/json' || /^[^/\s]+\/[^/\s]+\+json$/.test(mediaType);
}

/** Throws content_type_unsupported unless the request declares a form. */
export function requireForm(headers: Headers): void {
  if (/^multipart\/form-data\s*;/i.test(headers.get('content-type') ?? '')) return;
  throw new TurnpikeError('content_type_unsupported', 'content-type: must be multipart/form-data.');
}
