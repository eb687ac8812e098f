// GET /readyz: whether a load balancer should send messages here. It turns 503 as soon as the
// server is to stop: before messages are refused, where a setting says so, and well before the listener closes.

import { TurnpikeError } from '../errors.ts';
import type { Call, Reply } from './call.ts';

const BODY = JSON.stringify({ status: 'ready' });

export async function getReadyz(call: Call): Promise<Reply> {
  const { dependencies } = call;
  if (dependencies.isLeaving())
    throw new TurnpikeError('draining', 'This server is shutting down.', { headers: { connection: 'close' } });
  let cause: unknown;
  try {
    if (await dependencies.isStoreAvailable()) return { status: 200, headers: {}, body: BODY };
  } catch (thrown) {
    cause = thrown;
  }
  throw new TurnpikeError('store_unavailable', 'The store does not answer.', cause === undefined ? {} : { cause });
}
