// Serves a front: its requests reach the same gateway as messages, and replies are translated back.

import { assert } from '../base/assert.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import {
  type AnswerTranslator,
  type FormKind,
  type Front,
  findFront,
  type Operation,
  type TranslatedBody,
  translateBody,
  translateForm,
  translateToImages,
  UNTRANSLATED,
  withClientPaths,
} from '../fronts/fronts.ts';
import type { ClientRequest, Reply } from '../gateway/gateway.ts';
import type { FormLimits } from '../http/http.ts';
import { isJsonObject, type JsonObject, type JsonValue, pauseAfter } from '../wire/wire.ts';
import { type EncodedReply, encodeReply } from './encode-reply.ts';
import type { Exchange } from './exchange.ts';
import { measureFile, sentFile } from './measure-file.ts';
import { isJson, requireForm, requireJson } from './require-type.ts';

/** May throw; `handlePublic` closes the exchange. */
export async function answerFront(exchange: Exchange, front: Front, operation: Operation): Promise<EncodedReply> {
  const { messages } = exchange.dependencies;
  switch (operation.asks) {
    case 'message':
      return submit(exchange, front, operation);
    case 'count':
      return count(exchange, front, operation);
    case 'models':
      return convertBody(await messages.listModels(exchange.open()), front.modelsBody);
    case 'model':
      return convertBody(await messages.getModel(exchange.open(), operation.id), front.modelBody);
  }
}

async function submit(exchange: Exchange, front: Front, operation: Operation): Promise<EncodedReply> {
  const reading = readAs(exchange, front, operation);
  try {
    const reply = await exchange.dependencies.messages.submitMessage(reading.clientRequest);
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

async function count(exchange: Exchange, front: Front, operation: Operation): Promise<EncodedReply> {
  const reading = readAs(exchange, front, operation);
  try {
    const reply = await exchange.dependencies.messages.countTokens(reading.clientRequest);
    return convertBody(reply, front.countBody);
  } catch (thrown) {
    throw inOwnPaths(thrown, reading);
  }
}

/** Asks about a request of a batch, of whatever protocol its path is. The translation of its answer follows if its body was read. */
export async function askFront<About>(
  exchange: Exchange,
  ask: (clientRequest: ClientRequest) => Promise<About>,
): Promise<{ about: About; answer: AnswerTranslator | null }> {
  const front = findFront(exchange.path, exchange);
  exchange.front = front;
  if (front === null) return { about: await ask(exchange.open()), answer: null };
  const operation = front.findOperation(exchange.path);
  assert(operation?.asks === 'message', 'the requests of a batch are messages');
  const reading = readAs(exchange, front, operation);
  try {
    const about = await ask(reading.clientRequest);
    return { about, answer: reading.answer };
  } catch (thrown) {
    throw inOwnPaths(thrown, reading);
  }
}

interface Reading {
  clientRequest: ClientRequest;
  /** The translation of the answer, once the body was read. */
  answer: AnswerTranslator | null;
}

/** The gateway reads the body of an authenticated request as a message. */
function readAs(exchange: Exchange, front: Front, operation: Operation): Reading {
  const form = operation.asks === 'message' ? (operation.form ?? null) : null;
  const kind = form?.orJson && isJson(exchange.headers) ? null : form;
  const { query, headers, requestId, receivedAtMs, dependencies } = exchange;
  const take = ({ request, answer }: TranslatedBody) => {
    reading.answer = answer;
    return request;
  };
  if (kind === null) requireJson(headers);
  else requireForm(headers);
  const clientRequest =
    kind === null
      ? exchange.open(async (received, change) => {
          const asked = { operation, query, headers, requestId, receivedAtMs, clock: dependencies.clock };
          return take(await translateBody(front, received, asked, change));
        })
      : exchange.open(async () => take(await translateSent(exchange, front, kind)), formLimits(exchange, kind));
  const reading: Reading = { clientRequest, answer: null };
  const { imagesForm } = front;
  if (imagesForm !== undefined)
    clientRequest.asImages = async (sent) => {
      const request = await translateToImages(sent, imagesForm({ operation, query }));
      reading.answer = UNTRANSLATED;
      return request;
    };
  return reading;
}

function formLimits({ dependencies }: Exchange, { filesMax, of }: FormKind): FormLimits {
  const { fileBytesMax } = dependencies.settings();
  return { filesMax, fileBytesMax: of === 'images' ? Math.min(fileBytesMax, bounds.imageFileBytesMax) : fileBytesMax };
}

async function translateSent(exchange: Exchange, front: Front, kind: FormKind): Promise<TranslatedBody> {
  const { fields, files } = exchange.form;
  const measured = [];
  for (const file of files) measured.push(await measureFile(file, kind.of));
  const translated = await translateForm(front, { fields, files: measured }, kind);
  translated.request.form = {
    fields,
    files: files.map(sentFile),
    keepUntil: (settled) => exchange.keepFormUntil(settled),
  };
  return translated;
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
