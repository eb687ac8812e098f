// Requests of batches: they take the path of any other request, without a socket.

import { assert } from '../base/assert.ts';
import { asTurnpikeError, TurnpikeError } from '../errors.ts';
import type { BatchItem, ClientRequest, Reply } from '../gateway/gateway.ts';
import type { Connection } from '../http/http.ts';
import { answerCall, refuse, respond } from './answer-call.ts';
import { askFront } from './answer-front.ts';
import type { PublicDependencies } from './dependencies.ts';
import { encodeReply } from './encode-reply.ts';
import { Exchange } from './exchange.ts';

const NO_CONNECTION: Connection = { address: '', isTls: false, setIdleSeconds() {} };

/** A request as a batch has it. */
export interface ItemRequest {
  /** A canonical path. */
  endpoint: string;
  headers: Readonly<Record<string, string>>;
  /** JSON. */
  body: string;
}

/** The answer in the client's protocol, also if it is an error. */
export interface SentRequest {
  requestId: string;
  status: number;
  body: string;
  failure: TurnpikeError | null;
}

export async function sendItem(
  dependencies: PublicDependencies,
  request: ItemRequest,
  item: BatchItem,
): Promise<SentRequest> {
  const exchange = exchangeOf(dependencies, request, item);
  let failure: TurnpikeError | null = null;
  let response: Response;
  try {
    const answered = await answerCall(exchange, 'POST');
    if (answered instanceof TurnpikeError) throw answered;
    response = respond(exchange, answered);
  } catch (thrown) {
    failure = asTurnpikeError(thrown);
    response = refuse(exchange, failure);
  }
  return { requestId: exchange.requestId, status: response.status, body: await response.text(), failure };
}

/** Plans what a request may cost, without sending it. Throws what it would be refused for before its admission. */
export async function planItemOf<Plan>(
  dependencies: PublicDependencies,
  plan: (clientRequest: ClientRequest) => Promise<Plan>,
  request: ItemRequest,
  item: BatchItem,
): Promise<Plan> {
  const exchange = exchangeOf(dependencies, request, item);
  try {
    return (await askFront(exchange, plan)).about;
  } finally {
    exchange.close(null);
  }
}

/** The stored answer to a request, in the client's protocol; null: there is none. `find` gets what reads the body. */
export async function readItemAnswer(
  dependencies: PublicDependencies,
  find: (clientRequest: ClientRequest) => Promise<Reply | null>,
  request: ItemRequest,
  item: BatchItem,
): Promise<string | null> {
  const exchange = exchangeOf(dependencies, request, item);
  try {
    const { about: reply, answer } = await askFront(exchange, find);
    if (reply === null) return null;
    const { body } = encodeReply(reply, answer);
    assert(typeof body === 'string', 'the answers of a batch are texts');
    return body;
  } finally {
    exchange.close(null);
  }
}

function exchangeOf(
  dependencies: PublicDependencies,
  { endpoint, headers, body }: ItemRequest,
  item: BatchItem,
): Exchange {
  const request = new Request(`http://batch${endpoint}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) },
    body,
  });
  return new Exchange(request, endpoint, NO_CONNECTION, dependencies, item);
}
