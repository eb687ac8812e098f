// POST /webhooks/stripe: the raw body of a webhook request, bounded in size, time and number, goes to the receiver. 200
// only when what it reports is durable; 5xx has the provider send it again.

import { FairQueue } from '../base/fair-queue.ts';
import { newRequestId } from '../base/ids.ts';
import { machineTimers, within } from '../base/timers.ts';
import { bounds } from '../config.ts';
import { asTurnpikeError, overloaded, TurnpikeError } from '../errors.ts';
import { bodyChunks, declaredLength, errorResponse } from '../http/http.ts';
import { describeFailure } from '../observability/observability.ts';
import type { EventReceiver } from '../payments/payments.ts';
import { type Observers, reportAnswer } from './observe.ts';

export const WEBHOOK_PATH = '/webhooks/stripe';

export class PaymentWebhook {
  readonly #receiver: EventReceiver;
  readonly #observers: Observers;
  readonly #queue = new FairQueue<string>(
    {
      running: bounds.paymentEventsAtOnceMax,
      runningPerOwner: bounds.paymentEventsAtOnceMax / 2,
      tasks: bounds.paymentEventsWaitingMax,
      tasksPerOwner: bounds.paymentEventsWaitingMax,
    },
    () => overloaded('Too many webhook requests are in progress. Send it again later.'),
  );

  constructor(receiver: EventReceiver, observers: Observers) {
    this.#receiver = receiver;
    this.#observers = observers;
  }

  /** Never rejects: errors become responses. */
  async fetch(request: Request, address: string): Promise<Response> {
    const receivedAtMs = this.#observers.clock.nowMs();
    const requestId = newRequestId(receivedAtMs);
    let response: Response;
    let failure: TurnpikeError | null = null;
    try {
      await this.#receive(request, address, requestId);
      const headers = { 'content-type': 'application/json', 'request-id': requestId };
      response = new Response('{"received":true}', { headers });
    } catch (thrown) {
      failure = asTurnpikeError(thrown);
      response = errorResponse(failure, requestId);
      if (failure.status >= 500)
        this.#observers.log.writeEvent('payment_event_failed', {
          request_id: requestId,
          cause: describeFailure(thrown),
        });
    }
    const times = { receivedAtMs, durationMs: this.#observers.clock.nowMs() - receivedAtMs };
    const facts = { requestId, ...times, method: request.method, path: WEBHOOK_PATH, address, status: response.status };
    reportAnswer(this.#observers, { ...facts, clientRequest: null, failure });
    return response;
  }

  async #receive(request: Request, address: string, requestId: string): Promise<void> {
    if (request.method !== 'POST')
      throw new TurnpikeError('method_not_allowed', `${WEBHOOK_PATH} accepts only POST.`, {
        headers: { allow: 'POST' },
      });
    const { headers } = request;
    const tooLarge = new TurnpikeError(
      'body_too_large',
      `The body must not be larger than ${bounds.stripeEventBytesMax} bytes.`,
    );
    if ((declaredLength(headers) ?? 0) > bounds.stripeEventBytesMax) throw tooLarge;
    using _turn = await this.#queue.enter(address);
    const late = () => new TurnpikeError('request_timeout', 'The body did not arrive in time.');
    const body = await within(machineTimers, bounds.paymentEventMsMax, readBody(request, tooLarge), late);
    await this.#receiver.receive({ body, headers, address, requestId });
  }
}

async function readBody(request: Request, tooLarge: TurnpikeError): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of bodyChunks(request)) {
    bytes += chunk.byteLength;
    if (bytes > bounds.stripeEventBytesMax) throw tooLarge;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
