// A streamed request as the public API hands it to the gateway, for tests that read the answer by hand.

import { type ClientRequest, startTimes } from '../../../src/gateway/gateway.ts';
import { parseInTurns } from '../../../src/wire/wire.ts';
import type { ControlledService } from '../../contract/post-messages/controlled-service.ts';
import type { Json } from '../../contract/post-messages/world.ts';

const BODY = { model: 'm', max_tokens: 64, stream: true, messages: [{ role: 'user', content: 'hi' }] };

export function clientRequestOf(
  service: ControlledService,
  secret: string,
  signal: AbortSignal,
  members: Json = {},
): ClientRequest {
  return {
    requestId: 'req_read_by_hand',
    receivedAtMs: service.gateway.clock.nowMs(),
    secret,
    origin: null,
    browserDeclared: false,
    address: '127.0.0.1',
    vendorPrefix: 'anthropic',
    header: () => null,
    query: '',
    version: null,
    betas: null,
    bearer: null,
    selectors: null,
    item: null,
    readBody: async () => Buffer.from(JSON.stringify({ ...BODY, ...members })),
    growBody: () => {},
    parseBody: parseInTurns,
    asImages: null,
    signal,
    trace: null,
    times: startTimes(),
    caller: null,
    agent: null,
    isAdmitted: false,
    idempotencyKey: null,
    replayOf: null,
    expect: () => {},
  };
}
