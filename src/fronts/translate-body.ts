// Reads the body of a front's request as a message, with the bounds of any other body.

import { TurnpikeError } from '../errors.ts';
import { requireObject } from '../protocols/placed.ts';
import {
  decodeBody,
  isLong,
  type JsonObject,
  JsonWeight,
  type MessageRequest,
  makeMessageRequest,
  parseExactly,
  parseJson,
  pauseAfter,
  type ReceivedBody,
  scanJson,
  textOf,
} from '../wire/wire.ts';
import type { Asked, Front, Translated } from './front.ts';
import { withClientPaths } from './origins.ts';
import { requireWritable } from './require-writable.ts';

export interface TranslatedBody extends Pick<Translated, 'answer'> {
  request: MessageRequest;
}

/** Yields to the event loop between the steps of a long body, whose text `change` may replace. Throws as `Front.translate`, and invalid_json. */
export async function translateBody(
  front: Front,
  received: ReceivedBody,
  asked: Omit<Asked, 'text' | 'members'>,
  change: (text: string) => string | Promise<string> = (sent) => sent,
): Promise<TranslatedBody> {
  const text = await change(await decodeBody(received));
  await pauseAfter(text);
  const weight = new JsonWeight();
  const members = scanJson(text, weight); // before parsing: bounds depth and cost
  await pauseAfter(text);
  const body = parseBody(front, text, weight);
  await pauseAfter(text);
  const { message, native, answer, units, unbounded } = front.translate(body, { ...asked, text, members });
  await pauseAfter(text);
  if (isLong(text.length)) requireWritable(message, answer.origins);
  await pauseAfter(text);
  try {
    const request = await makeMessageRequest(message, front.protocol, native);
    const named = readNamed(body);
    if (named !== null) request.named = named;
    if (units !== undefined) request.units = units;
    if (unbounded !== undefined) request.unbounded = unbounded;
    return { request, answer };
  } catch (thrown) {
    throw thrown instanceof TurnpikeError ? withClientPaths(thrown, answer.origins) : thrown;
  }
}

/** Fields of OpenAI's protocols. */
function readNamed(body: JsonObject): NonNullable<MessageRequest['named']> | null {
  const user = textOf(body['safety_identifier']) || textOf(body['user']);
  const session = textOf(body['prompt_cache_key']);
  return user === '' && session === '' ? null : { user: user || null, session: session || null };
}

/** Throws invalid_json and invalid_request. */
export function parseBody(front: Front, text: string, weight: JsonWeight): JsonObject {
  const body = requireObject(parseJson(text, parseExactly), 'body');
  front.weigh(body, weight);
  return body;
}
