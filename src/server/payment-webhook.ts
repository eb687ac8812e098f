// POST /webhooks/stripe: the raw body of a webhook request, bounded in size, time and number, goes to the receiver. 200
// only when what it reports is durable; 5xx has the provider send it again.

import { FairQueue } from '../base/fair-queue.ts';
import { machineTimers, within } from '../base/timers.ts';
import { bounds } from '../config/config.ts';
import { overloaded, TurnpikeError } from '../errors.ts';
import { readBounded } from '../http/http.ts';
import type { EventReceiver } from '../payments/payments.ts';

export const WEBHOOK_PATH = '/webhooks/stripe';

export class PaymentWebhook {
  readonly #receiver: EventReceiver;
  readonly #queue = new FairQueue<string>(
    {
      running: bounds.paymentEventsAtOnceMax,
      runningPerOwner: bounds.paymentEventsAtOnceMax / 2,
      tasks: bounds.paymentEventsWaitingMax,
      tasksPerOwner: bounds.paymentEventsWaitingMax,
    },
    () => overloaded('Too many webhook requests are in progress. Send it again later.'),
  );

  constructor(receiver: EventReceiver) {
    this.#receiver = receiver;
  }

  /** Throws the errors of the response. */
  async answer(request: Request, address: string, requestId: string): Promise<Response> {
    if (request.method !== 'POST')
      throw new TurnpikeError('method_not_allowed', `${WEBHOOK_PATH} accepts only POST.`, {
        headers: { allow: 'POST' },
      });
    using _turn = await this.#queue.enter(address);
    const late = () => new TurnpikeError('request_timeout', 'The body did not arrive in time.');
    const reading = readBounded(request, bounds.stripeEventBytesMax);
    const body = await within(machineTimers, bounds.paymentEventMsMax, reading, late);
    await this.#receiver.receive({ body, headers: request.headers, address, requestId });
    const headers = { 'content-type': 'application/json', 'request-id': requestId };
    return new Response('{"received":true}', { headers });
  }
}
