// The origin of a request, for addresses in its answer.

import { TurnpikeError } from '../errors.ts';
import { isOverTls } from '../http/http.ts';
import type { Exchange } from './exchange.ts';

/** The origin that the client used. Endpoints of another origin are ignored by clients. Throws invalid_request. */
export function baseOf({ request, connection, dependencies }: Exchange): string {
  if (!URL.canParse(request.url))
    throw new TurnpikeError('invalid_request', 'host: must be a host name, with an optional port');
  const scheme = isOverTls(connection, request.headers, dependencies.trustedProxies) ? 'https' : 'http';
  return `${scheme}://${new URL(request.url).host}`;
}
