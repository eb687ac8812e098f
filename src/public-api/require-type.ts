// Checks of the content type of requests with a body.

import { TurnpikeError } from '../errors.ts';

/** Throws content_type_unsupported unless the request declares JSON. */
export function requireJson(headers: Headers): void {
  const declared = headers.get('content-type');
  if (declared === 'application/json') return;
  const mediaType = (declared ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (mediaType === 'application/json' || /^[^/\s]+\/[^/\s]+\+json$/.test(mediaType)) return;
  throw new TurnpikeError('content_type_unsupported', 'content-type: must be application/json.');
}

/** Throws content_type_unsupported unless the request declares a form. */
export function requireForm(headers: Headers): void {
  if (/^multipart\/form-data\s*;/i.test(headers.get('content-type') ?? '')) return;
  throw new TurnpikeError('content_type_unsupported', 'content-type: must be multipart/form-data.');
}
