// Reads the body of a front's request, JSON or a form, as a message, with the bounds of any other body.

import { assert } from '../base/assert.ts';
import { TurnpikeError } from '../errors.ts';
import { requireObject } from '../protocols/placed.ts';
import {
  decodeBody,
  isLong,
  type JsonObject,
  JsonWeight,
  type MeasuredForm,
  type MessageRequest,
  makeMessageRequest,
  type Protocol,
  parseExactly,
  parseJson,
  pauseAfter,
  type ReceivedBody,
  scanJson,
  textOf,
} from '../wire/wire.ts';
import type { Asked, FormKind, Front, ImagesForm, Translated } from './front.ts';
import { drawMessage } from './messages-images.ts';
import { withClientPaths } from './origins.ts';
import { UNTRANSLATED } from './other-use.ts';
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
  const translated = front.translate(body, { ...asked, text, members });
  await pauseAfter(text);
  if (isLong(text.length)) requireWritable(translated.message, translated.answer.origins);
  await pauseAfter(text);
  return await requestOf(front.protocol, translated, readNamed(body));
}

/** Throws as `Front.translateForm`. */
export async function translateForm(front: Front, form: MeasuredForm, kind: FormKind): Promise<TranslatedBody> {
  assert(front.translateForm !== undefined, 'a front whose operation takes a form translates it');
  const named = readNamed(Object.fromEntries(form.fields.map(({ name, value }) => [name, value])));
  return await requestOf(front.protocol, { ...front.translateForm(form, kind), native: null }, named);
}

/** A message to a model that makes images, as a request for an image. Throws invalid_request. */
export async function translateToImages({ body }: MessageRequest, form: ImagesForm): Promise<MessageRequest> {
  const translated = { ...drawMessage(body, form), native: null, answer: UNTRANSLATED };
  return (await requestOf('images', translated, null)).request;
}

async function requestOf(
  ofFront: Protocol,
  { message, native, answer, units, unbounded, files, protocol = ofFront }: Translated,
  named: ReturnType<typeof readNamed>,
): Promise<TranslatedBody> {
  try {
    const request = await makeMessageRequest(message, protocol, native);
    if (named !== null) request.named = named;
    if (units !== undefined) request.units = units;
    if (unbounded !== undefined) request.unbounded = unbounded;
    if (files !== undefined) request.form = { fields: [], files, keepUntil: () => {} };
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
