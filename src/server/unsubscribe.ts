// /unsubscribe?token=…, the address in the header List-Unsubscribe of mails. A mail program unsubscribes with one POST
// (RFC 8058), whose form says nothing more; a browser gets the page of the console, which asks first.

import { CONSOLE_PATH } from '../console/console.ts';
import { TurnpikeError } from '../errors.ts';

export const UNSUBSCRIBE_PATH = '/unsubscribe';

/** `request` has a whole URL. Throws method_not_allowed. */
export function answerUnsubscribe(
  request: Request,
  callAdmin: (request: Request) => Response | Promise<Response>,
): Response | Promise<Response> {
  const token = new URL(request.url).searchParams.get('token') ?? '';
  if (request.method === 'POST')
    return callAdmin(
      new Request(new URL('/api/v1/unsubscribe', request.url), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ token }),
      }),
    );
  if (!['GET', 'HEAD'].includes(request.method))
    throw new TurnpikeError('method_not_allowed', `${UNSUBSCRIBE_PATH} accepts only GET and POST.`, {
      headers: { allow: 'GET, HEAD, POST' },
    });
  const location = `${CONSOLE_PATH}/unsubscribe#${encodeURIComponent(token)}`;
  return new Response(null, { status: 302, headers: { location, 'cache-control': 'no-store' } });
}
