// Serves a front: its requests reach the same gateway as messages, and replies are translated back.

import { assert } from '../base/assert.ts';
import { TurnpikeError } from '../errors.ts';
import { type AnswerTranslator, type Front, type Operation, translateBody, withClientPaths } from '../fronts/fronts.ts';
import { isJsonObject, type JsonObject, type JsonValue, pauseAfter } from '../wire/wire.ts';
import type { Call, Reply } from './call.ts';
import { type EncodedReply, encodeReply } from './encode-reply.ts';
import { requireJson } from './require-json.ts';

/** May throw; `handlePublic` closes the call. */
export async function answerFront(call: Call, front: Front, operation: Operation): Promise<EncodedReply> {
  const { messages } = call.dependencies;
  switch (operation.asks) {
    case 'message':
      return submit(call, front, operation);
    case 'count':
      return count(call, front, operation);
    case 'models':
      call.open();
      return convertBody(await messages.listModels(call), front.modelsBody);
    case 'model':
      call.open();
      return convertBody(await messages.getModel(call, operation.id), front.modelBody);
  }
}

async function submit(call: Call, front: Front, operation: Operation): Promise<EncodedReply> {
  const reading = readAs(call, front, operation);
  try {
    const reply = await call.dependencies.messages.submitMessage(call);
    if (reply instanceof TurnpikeError) throw reply;
    const { answer } = reading;
    assert(answer !== null, 'a reply follows a request');
    reading.answer = null; // the relay may last much longer
    if (typeof reply.body === 'object' && 'text' in reply.body) await pauseAfter(reply.body.text);
    return encodeReply(reply, answer);
  } catch (thrown) {
    throw inOwnPaths(thrown, reading);
  }
}

async function count(call: Call, front: Front, operation: Operation): Promise<EncodedReply> {
  const reading = readAs(call, front, operation);
  try {
    const reply = await call.dependencies.messages.countTokens(call);
    return convertBody(reply, front.countBody);
  } catch (thrown) {
    throw inOwnPaths(thrown, reading);
  }
}

/** The translation of a request's answer, once its body was read. */
interface Reading {
  answer: AnswerTranslator | null;
}

/** The gateway reads the body of an authenticated request as a message. */
function readAs(call: Call, front: Front, operation: Operation): Reading {
  requireJson(call.request.headers);
  const reading: Reading = { answer: null };
  call.open(async (received) => {
    const { query, headers, requestId, receivedAtMs, dependencies } = call;
    const asked = { operation, query, headers, requestId, receivedAtMs, clock: dependencies.clock };
    const { request, answer } = await translateBody(front, received, asked);
    reading.answer = answer;
    return request;
  });
  return reading;
}

function inOwnPaths(thrown: unknown, { answer }: Reading): unknown {
  return thrown instanceof TurnpikeError && answer !== null ? withClientPaths(thrown, answer.origins) : thrown;
}

function convertBody(reply: Reply, convert: ((body: JsonObject) => string) | undefined): EncodedReply {
  assert(
    typeof reply.body === 'string' && convert !== undefined,
    'the front has this operation, and its reply is JSON',
  );
  const value: JsonValue = JSON.parse(reply.body);
  assert(isJsonObject(value), 'the reply is an object');
  return { ...reply, body: convert(value) };
}
