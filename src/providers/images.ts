// Generation and edits of images over OpenAI's POST /images/generations and /images/edits: the JSON of the provider, and its events, are relayed as they came.

import { parseDigits } from '../base/checked-number.ts';
import { bounds } from '../config/config.ts';
import { countOf } from '../protocols/token-counts.ts';
import {
  type FormField,
  type JsonObject,
  type JsonValue,
  jsonObjects,
  mediaTypeOf,
  objectOf,
  pauseAfter,
  readImageSize,
  textOf,
  type Units,
  unitsOf,
} from '../wire/wire.ts';
import { hashUserId } from './conversation.ts';
import { formBody } from './form-body.ts';
import { type Api, post, postForm } from './http-api.ts';
import { formedReply, formOf } from './image-forms.ts';
import { otherReply, usageOf } from './other-reply.ts';
import { parseObject, readText, readUpstreamRequestId } from './parse-json.ts';
import { type Attempt, type ByteReply, type OtherReply, ProviderFault } from './provider.ts';
import { begin, EVENT_STREAM, encodeOwn, isEventStream, type OwnEvent, readOwnEvents } from './relay-events.ts';

export interface ImagesRequest {
  prompt: string;
  count: number;
  isStream: boolean;
  isEdit: boolean;
  /** As the client sent them. */
  fields: JsonObject;
}

export function readImagesRequest({ request }: Pick<Attempt, 'request'>): ImagesRequest {
  const [message] = jsonObjects(request.body['messages']);
  const fields = objectOf(request.body['images']);
  return {
    prompt: textOf(jsonObjects(message?.['content'])[0]?.['text']),
    count: countOf(fields['n']) ?? 1,
    isStream: fields['stream'] === true,
    isEdit: request.form !== undefined,
    fields,
  };
}

/** `urlOf` gives the address of a path. Throws ProviderFault. */
export async function requestImages(api: Api, attempt: Attempt, urlOf: (path: string) => string): Promise<OtherReply> {
  const { prompt, isStream, fields } = readImagesRequest(attempt);
  const { form } = attempt.request;
  const user = hashUserId(attempt.request.body);
  const isOfGoogle = formOf(attempt) !== null && typeof fields['size'] === 'string';
  const size = isOfGoogle ? { size: sizeInPixels(attempt, textOf(fields['size'])) } : {};
  const about = { model: attempt.upstreamModel, prompt, ...fields, ...size };
  const body: JsonObject = { ...about, ...(user !== null && { user }), ...attempt.extra };
  const accept = isStream ? EVENT_STREAM : 'application/json';
  const response =
    form === undefined
      ? await post(api, attempt, urlOf('/images/generations'), JSON.stringify(body), accept)
      : await postForm(api, attempt, urlOf('/images/edits'), formBody(asFields(body), form.files), accept);
  if (isStream && isEventStream(response)) return await relayEvents(response, attempt);
  const { text, upstreamRequestId } = await readText(response, attempt.signal, bounds.upstreamImagesBytesMax);
  await pauseAfter(text);
  const value = parseObject(text, { what: 'a response', upstreamRequestId });
  const filled = await withBytes(attempt, value);
  return imagesReply(attempt, filled, filled === value ? text : JSON.stringify(filled), upstreamRequestId);
}

/**
 * The answer with images in base64 in place of web addresses, if the client asked for base64 or the provider's setting says so. An image
 * that cannot be fetched keeps its address: it was made, and is billed.
 */
async function withBytes(attempt: Attempt, answer: JsonObject): Promise<JsonObject> {
  const { response_format: asked } = readImagesRequest(attempt).fields;
  const isOn = ((attempt.provider.fetchUrls ?? 'off') !== 'off' && asked !== 'url') || formOf(attempt) !== null;
  const images = jsonObjects(answer['data']);
  const isLinked = ({ url, b64_json }: JsonObject) => textOf(b64_json) === '' && /^https?:/i.test(textOf(url));
  if (!(isOn || asked === 'b64_json') || !images.some(isLinked)) return answer;
  const data: JsonObject[] = [];
  for (const image of images) {
    const file = isLinked(image) ? await attempt.fetchFile?.(textOf(image['url'])) : undefined;
    const base64 = file === undefined || 'error' in file ? '' : file.bytes.toString('base64');
    if (mediaTypeOf(base64)?.startsWith('image/') !== true) data.push(image);
    else {
      const { url: _, ...others } = image;
      data.push({ ...others, b64_json: base64 });
    }
  }
  return { ...answer, data };
}

/** The size in pixels that is nearest to one that Google's clients name by its edge, such as "2K", and their ratio; any other size as it is. */
export function sizeInPixels({ request }: Pick<Attempt, 'request'>, size: string): string {
  const edge = /^(\d)K$/.exec(size)?.[1];
  if (edge === undefined) return size;
  const [, width = '1', height = '1'] = /^(\d+):(\d+)$/.exec(textOf(request.body['aspect_ratio'])) ?? [];
  const [across, down, scale] = [parseDigits(width), parseDigits(height), parseDigits(edge)];
  return `${scale * (across > down ? LONG_PIXELS : SHORT_PIXELS)}x${scale * (down > across ? LONG_PIXELS : SHORT_PIXELS)}`;
}

const SHORT_PIXELS = 1_024;
const LONG_PIXELS = 1_536;

function asFields(body: JsonObject): FormField[] {
  const textFor = (value: JsonValue) => (typeof value === 'object' ? JSON.stringify(value) : String(value));
  return Object.entries(body).map(([name, value]) => ({ name, value: textFor(value) }));
}

/** One image of an answer in OpenAI's form, in base64, or as a URL if the client asked for one. */
export function imageMember(attempt: Attempt, base64: string, type: string): JsonObject {
  const isUrl = readImagesRequest(attempt).fields['response_format'] === 'url';
  return isUrl ? { url: `data:${type};base64,${base64}` } : { b64_json: base64 };
}

/** The reply of an answer in OpenAI's form, as events if the client asked for them. Throws ProviderFault. */
export function imagesReply(
  attempt: Attempt,
  value: JsonObject,
  text: string,
  upstreamRequestId: string | null,
): OtherReply {
  const images = jsonObjects(value['data']);
  const isImage = ({ b64_json: base64, url }: JsonObject) => textOf(base64) !== '' || textOf(url) !== '';
  if (images.length === 0 || !images.every(isImage))
    throw new ProviderFault('failed', 'the provider did not send an image', { upstreamRequestId });
  const request = readImagesRequest(attempt);
  const used = new ImagesUsed(attempt);
  used.add(value, images);
  const form = formOf(attempt);
  if (form !== null) return formedReply(attempt, form, images, used, upstreamRequestId);
  if (!request.isStream) return otherReply(attempt, text, used.usage, upstreamRequestId, used.units);
  const { data: _, ...rest } = value;
  const type = request.isEdit ? 'image_edit.completed' : 'image_generation.completed';
  const events = images.map((image) => ({ type, ...rest, ...image }));
  const chunks = events.map((event) => encodeOwn(type, JSON.stringify(event))).values();
  return {
    form: 'bytes',
    contentType: EVENT_STREAM,
    chunks: { next: async () => chunks.next() },
    used: () => used,
    upstreamRequestId,
  };
}

const PARTIAL = /^image_(?:generation|edit)\.partial_image$/;
const COMPLETED = /^image_(?:generation|edit)\.completed$/;
const PARTIAL_TOKENS = 100; // src/fronts/images/image-tokens.ts has the source

async function relayEvents(response: Response, attempt: Attempt): Promise<ByteReply> {
  const { count } = readImagesRequest(attempt);
  const used = new ImagesUsed(attempt);
  let missing = count;
  const isLast = ({ type }: JsonObject) => COMPLETED.test(textOf(type)) && --missing === 0;
  const events = await begin(readOwnEvents(response, attempt.signal, isLast));
  return {
    form: 'bytes',
    contentType: EVENT_STREAM,
    chunks: relay(events, used),
    used: () => used,
    upstreamRequestId: readUpstreamRequestId(response.headers),
  };
}

async function* relay(events: AsyncGenerator<OwnEvent, void>, used: ImagesUsed): AsyncGenerator<Uint8Array, void> {
  for await (const { value, bytes } of events) {
    const type = textOf(value['type']);
    if (COMPLETED.test(type)) used.add(value, [value]);
    if (PARTIAL.test(type)) used.addPartial();
    yield bytes;
  }
}

/** Reports of an answer so far. */
class ImagesUsed {
  readonly #attempt: Attempt;
  #images = 0;
  #partialTokens = 0;
  #tokens: { text: number; input: number; inputImage: number; image: number } | null = null;
  #image: string | null = null;

  constructor(attempt: Attempt) {
    this.#attempt = attempt;
  }

  /** `images` were completed with this report. */
  add(report: JsonObject, images: readonly JsonObject[]): void {
    this.#images += images.length;
    this.#image ??= describeImage(this.#attempt, report, images[0] ?? {});
    const usage = objectOf(report['usage']);
    const input = countOf(usage['input_tokens']);
    const output = countOf(usage['output_tokens']);
    if (output === null) return;
    const { text_tokens: texts, image_tokens: given } = objectOf(usage['input_tokens_details']);
    const inputImage = countOf(given) ?? 0;
    const { image_tokens: image, text_tokens: text } = objectOf(usage['output_tokens_details']);
    const before = this.#tokens ?? { text: 0, input: 0, inputImage: 0, image: 0 };
    this.#tokens = {
      input: before.input + (countOf(texts) ?? Math.max(0, (input ?? 0) - inputImage)),
      inputImage: before.inputImage + inputImage,
      image: before.image + (countOf(image) ?? output),
      text: before.text + (countOf(image) === null ? 0 : (countOf(text) ?? 0)),
    };
  }

  /** Partial images have tokens of their own, which the report of the completed image includes. */
  addPartial(): void {
    this.#partialTokens += PARTIAL_TOKENS;
  }

  /** null tokens: not reported. */
  get usage(): JsonObject {
    return usageOf(this.#tokens?.input ?? null, this.#tokens?.text ?? 0);
  }

  get units(): Units {
    const images = { images: this.#images };
    if (this.#tokens !== null) {
      const { image, inputImage } = this.#tokens;
      return unitsOf({ ...images, output_image_tokens: image, input_image_tokens: inputImage }, this.#image);
    }
    if (this.#images > 0) return unitsOf(images, this.#image); // without a report, the most is billed
    return unitsOf({ ...images, output_image_tokens: this.#partialTokens }, this.#image);
  }
}

/** Size and quality as the answer states them, as the image is, as they were requested, or as its model's are by default. */
function describeImage({ request, upstreamModel }: Attempt, report: JsonObject, image: JsonObject): string | null {
  const asked = objectOf(request.body['images']);
  // https://platform.openai.com/docs/api-reference/images/create, 30 November 2026; other models choose.
  const usual: JsonObject = /dall-e-[23]/.test(upstreamModel) ? { size: '1024x1024', quality: 'standard' } : {};
  const pixels = sizeOf(image);
  const sizes = [
    report['size'],
    VENDOR_SIZE.test(textOf(asked['size'])) ? asked['size'] : pixels,
    asked['size'],
    usual['size'],
  ];
  const size = sizes.map((one) => wordOf(one, SIZE)).find((one) => one !== null);
  const quality = [report, asked, usual].map((one) => wordOf(one['quality'], QUALITY)).find((one) => one !== null);
  return [size, quality].filter((one) => typeof one === 'string').join(' ') || null;
}

const SIZE = /^\d{1,5}x\d{1,5}$|^\dK$/;
/** The vendor's words for sizes of several shapes, by which it has prices. */
const VENDOR_SIZE = /^\dK$/;
const QUALITY = /^(?!auto$)[a-z]{1,16}$/;

function wordOf(value: JsonValue | undefined, pattern: RegExp): string | null {
  return typeof value === 'string' && pattern.test(value) ? value : null;
}

function sizeOf({ b64_json: base64, url }: JsonObject): string | null {
  const address = textOf(url);
  const file = textOf(base64) || (address.startsWith('data:') ? address.slice(address.indexOf(',') + 1) : '');
  const size = readImageSize(file);
  return size === null ? null : `${size.width}x${size.height}`;
}
