// Reads the body of a front's request as a message, with the bounds of any other body.

import { nextTurn } from '../base/timers.ts';
import { bounds } from '../config.ts';
import {
  decodeBody,
  type JsonObject,
  JsonWeight,
  parseExactly,
  parseJson,
  type ReceivedBody,
  scanJson,
} from '../wire/wire.ts';
import type { Asked, Front, Translated } from './front.ts';
import { requireObject } from './placed.ts';

/** A translated request with its message as JSON. */
export interface TranslatedBody extends Pick<Translated, 'native' | 'answer'> {
  bytes: Uint8Array;
}

const encoder = new TextEncoder();
const unchanged = async () => {};

/** Yields to the event loop between the steps of a long body. Throws as `Front.translate`, and invalid_json. */
export async function translateBody(
  front: Front,
  received: ReceivedBody,
  asked: Omit<Asked, 'text' | 'members'>,
): Promise<TranslatedBody> {
  const text = await decodeBody(received);
  const pause = Buffer.byteLength(text) <= bounds.bodyBytesAtOnceMax ? unchanged : nextTurn;
  await pause();
  const weight = new JsonWeight();
  const members = scanJson(text, weight); // before parsing: bounds depth and cost
  await pause();
  const body = parseBody(front, text, weight);
  await pause();
  const { message, native, answer } = front.translate(body, { ...asked, text, members });
  await pause();
  const bytes = encoder.encode(JSON.stringify(message));
  await pause();
  return { bytes, native, answer };
}

/** Throws invalid_json and invalid_request. */
export function parseBody(front: Front, text: string, weight: JsonWeight): JsonObject {
  const body = requireObject(parseJson(text, parseExactly), 'body');
  front.weigh(body, weight);
  return body;
}
