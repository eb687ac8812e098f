// GET /metrics, for whoever watches the installation: Prometheus, with a token of the role operator or
// viewer. Browsers have no business here, so it sends no CORS headers.

import type { AdminApi } from '../admin-api/admin-api.ts';
import { newRequestId } from '../base/ids.ts';
import { asTurnpikeError, TurnpikeError } from '../errors.ts';
import { errorResponse } from '../http/http.ts';
import { type Observers, tellAnswer } from './observe.ts';

export const METRICS_PATH = '/metrics';

/** Never rejects: what is thrown becomes an answer. */
export async function handleMetrics(
  request: Request,
  address: string,
  admin: AdminApi,
  observers: Observers,
): Promise<Response> {
  const receivedAtMs = observers.clock.nowMs();
  const requestId = newRequestId(receivedAtMs);
  let response: Response;
  let failure: TurnpikeError | null = null;
  try {
    if (!['GET', 'HEAD'].includes(request.method))
      throw new TurnpikeError('method_not_allowed', `${METRICS_PATH} takes GET.`, { headers: { allow: 'GET, HEAD' } });
    await admin.requireInstallation(request, address);
    const headers = {
      'content-type': observers.metrics.contentType,
      'cache-control': 'no-store',
      'request-id': requestId,
    };
    response = new Response(await observers.metrics.scrape(), { headers });
  } catch (thrown) {
    failure = asTurnpikeError(thrown);
    response = errorResponse(failure, requestId);
  }
  const durationMs = observers.clock.nowMs() - receivedAtMs;
  const { method } = request;
  const { status } = response;
  const facts = { requestId, receivedAtMs, durationMs, method, path: METRICS_PATH, address, status, submission: null };
  tellAnswer(observers, { ...facts, failure });
  return response;
}
