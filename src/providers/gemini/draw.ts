// Images in OpenAI's format over Gemini's generateContent, and over `predict` for Imagen.

import { bounds } from '../../config/config.ts';
import { countOf } from '../../protocols/token-counts.ts';
import {
  type JsonObject,
  jsonObjects,
  objectOf,
  parseImageSize,
  pauseAfter,
  type SentFile,
  textOf,
} from '../../wire/wire.ts';
import { type Api, post } from '../http-api.ts';
import { imageMember, imagesReply, readImagesRequest } from '../images.ts';
import { refuseField } from '../lost-fields.ts';
import { parseObject, readText } from '../parse-json.ts';
import { type Attempt, type OtherReply, ProviderFault } from '../provider.ts';

/** `url` gives the address of a method of the model. Throws ProviderFault. */
export async function draw(api: Api, attempt: Attempt, url: (method: string) => string): Promise<OtherReply> {
  const isImagen = /(?:^|\/)imagen/.test(attempt.upstreamModel);
  const body = isImagen ? imagenBody(attempt) : await geminiBody(attempt);
  const address = url(isImagen ? 'predict' : 'generateContent');
  const response = await post(api, attempt, address, JSON.stringify(body), 'application/json');
  const { text, upstreamRequestId } = await readText(response, attempt.signal, bounds.upstreamImagesBytesMax);
  await pauseAfter(text);
  const value = parseObject(text, { what: 'a response', upstreamRequestId });
  const images = isImagen ? imagesOfImagen(value) : imagesOfGemini(value);
  if (images.length === 0) refuseBlocked(value, upstreamRequestId);
  const answer = {
    created: Math.floor(Date.now() / 1000),
    data: images.map(({ base64, type }) => imageMember(attempt, base64, type)),
    ...(!isImagen && { usage: usageOf(objectOf(value['usageMetadata'])) }),
  };
  await pauseAfter(text);
  return imagesReply(attempt, answer, JSON.stringify(answer), upstreamRequestId);
}

/** https://ai.google.dev/gemini-api/docs/image-generation, 30 November 2026. */
const RATIOS = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9'];
/** https://ai.google.dev/gemini-api/docs/imagen, 30 November 2026. */
const IMAGEN_RATIOS = ['1:1', '3:4', '4:3', '9:16', '16:9'];
const IMAGEN_COUNT_MAX = 4;

async function geminiBody(attempt: Attempt): Promise<JsonObject> {
  const { prompt, count } = readImagesRequest(attempt);
  if (count > 1) refuseField('n', 'the provider of this model makes one image for each request');
  const { ratio, size } = readSize(attempt, RATIOS);
  const imageConfig = { ...(ratio !== null && { aspectRatio: ratio }), ...(size !== null && { imageSize: size }) };
  return {
    contents: [{ role: 'user', parts: [...(await editedImages(attempt)), { text: prompt }] }],
    generationConfig: {
      responseModalities: ['IMAGE'],
      ...(Object.keys(imageConfig).length > 0 && { imageConfig }),
    },
  };
}

/** The images that are edited, whose size the provider bounds. Throws ProviderFault. */
async function editedImages({ request }: Attempt): Promise<JsonObject[]> {
  const files = request.form?.files ?? [];
  const mask = files.find(({ field }) => !field.startsWith('image'));
  if (mask !== undefined) refuseField(mask.field, 'the provider of this model has no masks');
  if (files.reduce((sum, { bytes }) => sum + bytes, 0) > bounds.inlineImagesBytesMax)
    refuseField('image', `the provider of this model takes at most ${bounds.inlineImagesBytesMax} bytes of images`);
  const parts: JsonObject[] = [];
  for (const file of files) {
    const data = Buffer.concat(await Array.fromAsync(file.read())).toString('base64');
    parts.push({ inlineData: { mimeType: typeOf(file), data } });
  }
  return parts;
}

function typeOf({ mediaType, name }: SentFile): string {
  if (/^image\/[\w.+-]+$/.test(mediaType)) return mediaType;
  const known = Bun.file(name).type;
  return known.startsWith('image/') ? known : 'image/png';
}

function imagenBody(attempt: Attempt): JsonObject {
  const { prompt, count, isEdit } = readImagesRequest(attempt);
  if (isEdit) refuseField('image', 'the provider of this model edits no images');
  if (count > IMAGEN_COUNT_MAX) refuseField('n', `the provider of this model makes at most ${IMAGEN_COUNT_MAX} images`);
  const { ratio, size } = readSize(attempt, IMAGEN_RATIOS);
  const parameters = { ...(ratio !== null && { aspectRatio: ratio }), ...(size !== null && { sampleImageSize: size }) };
  return { instances: [{ prompt }], parameters: { sampleCount: count, ...parameters } };
}

/** The ratio that is nearest to a size in pixels; or a size in the vendor's words, such as "2K". */
function readSize(attempt: Attempt, ratios: readonly string[]): { ratio: string | null; size: string | null } {
  const asked = textOf(readImagesRequest(attempt).fields['size']);
  const given = textOf(attempt.request.body['aspect_ratio']); // of a client of Gemini
  if (given !== '' && !ratios.includes(given))
    refuseField('aspectRatio', `the provider of this model accepts only ${ratios.join(', ')}`);
  if (/^\dK$/.test(asked)) return { ratio: given || null, size: asked };
  if (given !== '') return { ratio: given, size: null };
  const pixels = parseImageSize(asked);
  if (pixels === null) return { ratio: null, size: null };
  const wanted = Math.log(pixels.width / pixels.height);
  const distances = ratios.map((ratio) => {
    const shape = parseImageSize(ratio.replace(':', 'x'));
    return { ratio, distance: Math.abs(Math.log((shape?.width ?? 1) / (shape?.height ?? 1)) - wanted) };
  });
  const nearest = distances.reduce((best, one) => (one.distance < best.distance ? one : best));
  return { ratio: nearest.ratio, size: null };
}

interface DrawnImage {
  base64: string;
  type: string;
}

function imagesOfGemini(value: JsonObject): DrawnImage[] {
  const parts = jsonObjects(value['candidates']).flatMap(({ content }) => jsonObjects(objectOf(content)['parts']));
  return parts
    .filter(({ thought }) => thought !== true) // drafts
    .map(({ inlineData }) => objectOf(inlineData))
    .flatMap(({ data, mimeType }) => imageOf(data, mimeType));
}

function imagesOfImagen(value: JsonObject): DrawnImage[] {
  return jsonObjects(value['predictions']).flatMap((one) => imageOf(one['bytesBase64Encoded'], one['mimeType']));
}

function imageOf(data: unknown, type: unknown): DrawnImage[] {
  return textOf(data) === '' ? [] : [{ base64: textOf(data), type: textOf(type) || 'image/png' }];
}

/** The refusal of a prompt, which is the client's fault. Throws ProviderFault. */
function refuseBlocked(value: JsonObject, upstreamRequestId: string | null): never {
  const [candidate] = jsonObjects(value['candidates']);
  const reason = textOf(objectOf(value['promptFeedback'])['blockReason']) || textOf(candidate?.['finishReason']);
  const isBlocked = /SAFETY|PROHIBITED|BLOCK|RECITATION|OTHER/.test(reason) || 'predictions' in value;
  if (!isBlocked) throw new ProviderFault('failed', 'the provider did not send an image', { upstreamRequestId });
  const facts = { status: 400, errorType: 'invalid_request_error', upstreamRequestId };
  throw new ProviderFault('rejected', 'prompt: the provider of this model refused to draw it', facts);
}

/** In the form of OpenAI's images; empty without counts. */
function usageOf(usage: JsonObject): JsonObject {
  const given = jsonObjects(usage['promptTokensDetails']).find(({ modality }) => modality === 'IMAGE');
  const [prompt, output] = [countOf(usage['promptTokenCount']), countOf(usage['candidatesTokenCount'])];
  if (prompt === null || output === null) return {};
  const details = jsonObjects(usage['candidatesTokensDetails']).find(({ modality }) => modality === 'IMAGE');
  const inputImage = Math.min(prompt, countOf(given?.['tokenCount']) ?? 0);
  const image = Math.min(output, countOf(details?.['tokenCount']) ?? output);
  const text = output - image + (countOf(usage['thoughtsTokenCount']) ?? 0);
  return {
    input_tokens: prompt,
    output_tokens: image + text,
    total_tokens: prompt + image + text,
    input_tokens_details: { text_tokens: prompt - inputImage, image_tokens: inputImage },
    output_tokens_details: { image_tokens: image, text_tokens: text },
  };
}
