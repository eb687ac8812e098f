// Reads the body of a front's request as a message, with the bounds of any other body.

import { ownTurn } from '../base/timers.ts';
import { requireObject } from '../protocols/placed.ts';
import {
  decodeBody,
  isLong,
  type JsonObject,
  JsonWeight,
  parseExactly,
  parseJson,
  type ReceivedBody,
  scanJson,
} from '../wire/wire.ts';
import type { Asked, Front, Translated } from './front.ts';
import { requireWritable } from './require-writable.ts';

/** A translated request with its message as JSON. */
export interface TranslatedBody extends Pick<Translated, 'native' | 'answer'> {
  text: string;
}

const unchanged = async () => {};

/** Yields to the event loop between the steps of a long body. Throws as `Front.translate`, and invalid_json. */
export async function translateBody(
  front: Front,
  received: ReceivedBody,
  asked: Omit<Asked, 'text' | 'members'>,
): Promise<TranslatedBody> {
  const text = await decodeBody(received);
  const pause = isLong(text.length) ? ownTurn : unchanged;
  await pause();
  const weight = new JsonWeight();
  const members = scanJson(text, weight); // before parsing: bounds depth and cost
  await pause();
  const body = parseBody(front, text, weight);
  await pause();
  const { message, native, answer } = front.translate(body, { ...asked, text, members });
  await pause();
  if (isLong(text.length)) requireWritable(message, answer.origins);
  await pause();
  const written = JSON.stringify(message);
  await pause();
  return { text: written, native, answer };
}

/** Throws invalid_json and invalid_request. */
export function parseBody(front: Front, text: string, weight: JsonWeight): JsonObject {
  const body = requireObject(parseJson(text, parseExactly), 'body');
  front.weigh(body, weight);
  return body;
}
