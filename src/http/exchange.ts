// The life of an exchange outside of the path of messages: its request id, its time, its errors and its report.

import { newRequestId } from '../base/ids.ts';
import { asTurnpikeError, type TurnpikeError } from '../errors.ts';
import { errorResponse, type SharedHeaders } from './reply.ts';

export interface Exchanged {
  requestId: string;
  receivedAtMs: number;
  durationMs: number;
  status: number;
  /** The error of the response; null for any other. */
  failure: TurnpikeError | null;
  /** The cause of the failure. */
  thrown: unknown;
}

/** Never rejects: what `answer` throws becomes an error response, with the shared headers. */
export async function exchange(
  nowMs: () => number,
  answer: (requestId: string) => Response | Promise<Response>,
  report: (exchanged: Exchanged) => void,
  shared?: SharedHeaders,
): Promise<Response> {
  const receivedAtMs = nowMs();
  const requestId = newRequestId(receivedAtMs);
  let response: Response;
  let failure: TurnpikeError | null = null;
  let thrown: unknown = null;
  try {
    response = await answer(requestId);
  } catch (cause) {
    thrown = cause;
    failure = asTurnpikeError(cause);
    response = errorResponse(failure, requestId, shared);
  }
  const durationMs = nowMs() - receivedAtMs;
  report({ requestId, receivedAtMs, durationMs, status: response.status, failure, thrown });
  return response;
}
