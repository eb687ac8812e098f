// Images for clients of Gemini: `predict` as for Imagen, and generateContent that asks for images. Their requests are those of OpenAI's
// images, and their answers have Google's form.

import { isWholeNumber, parseDigits } from '../../base/checked-number.ts';
import { bounds } from '../../config/config.ts';
import { requireObject } from '../../protocols/placed.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonObjects,
  objectOf,
  requireText,
  textOf,
  wrongField,
} from '../../wire/wire.ts';
import type { Asked, Front, ImagesForm, Operation, Translated } from '../front.ts';
import { type GivenImage, readDrawing } from '../images/images.ts';
import { UNTRANSLATED } from '../other-use.ts';
import { geminiErrorBody } from './convert-error.ts';
import { KEY_HEADER, METHOD, MODELS, plainModel } from './model-paths.ts';
import { readBody } from './read-body.ts';

/** `predict`, of models that make images. */
export const geminiImages: Front = {
  protocol: 'images',
  hasOpenAiHeaders: false,
  keyHeader: KEY_HEADER,
  owns: (path) => findOperation(path) !== null,
  findOperation,
  weigh: () => {},
  translate: (body, { operation }) => translatePrediction(body, modelOf(operation)),
  errorBody: geminiErrorBody,
};

function findOperation(path: string): Operation | null {
  const [, name = ''] = MODELS.exec(path) ?? [];
  const [, model = '', method = ''] = METHOD.exec(name) ?? [];
  return method === 'predict' ? { asks: 'message', model: plainModel(model), stream: false } : null;
}

function modelOf(operation: Operation): string {
  return 'model' in operation ? (operation.model ?? '') : '';
}

/** https://ai.google.dev/gemini-api/docs/imagen (30 November 2026). Other parameters are left out. */
function translatePrediction(body: JsonObject, model: string): Translated {
  const { instances: given } = body;
  const instances = isJsonObject(given) ? [given] : jsonObjects(given); // Open WebUI sends one alone, which Google accepts
  const [instance] = instances;
  if (instance === undefined || instances.length > 1) throw wrongField('instances', 'Input should be a list of one');
  const prompt = requireText(instance['prompt'], 'instances.0.prompt');
  if (prompt === '') throw wrongField('instances.0.prompt', 'String should have at least 1 character');
  if ((instance['image'] ?? null) !== null)
    throw wrongField('instances.0.image', 'images are edited by generateContent');
  const parameters = body['parameters'] === undefined ? {} : requireObject(body['parameters'], 'parameters');
  const { sampleCount: n = 1, aspectRatio, sampleImageSize, outputOptions } = parameters;
  if (!isWholeNumber(n) || n < 1 || n > bounds.imagesPerRequestMax)
    throw wrongField('parameters.sampleCount', `Input should be an integer from 1 to ${bounds.imagesPerRequestMax}`);
  const shape = readShape(
    { aspectRatio, imageSize: sampleImageSize },
    ['aspectRatio', 'sampleImageSize'],
    'parameters',
  );
  const format = /^image\/(\w+)$/.exec(textOf(objectOf(outputOptions)['mimeType']))?.[1];
  const fields = { model, prompt, n, ...shape.fields, ...(format !== undefined && { output_format: format }) };
  return answered(readDrawing(fields, []), shape.ratio, 'predict');
}

interface Shape {
  ratio: string | null;
  fields: { size?: string };
}

const RATIO = /^(\d{1,2}):(\d{1,2})$/;

/** Kinds that have no ratios get the nearest size of OpenAI's. */
function readShape(
  { aspectRatio = null, imageSize = null }: { aspectRatio?: JsonValue | undefined; imageSize?: JsonValue | undefined },
  [ratioName, sizeName]: readonly [string, string],
  path: string,
): Shape {
  const ratio = aspectRatio === null ? null : requireText(aspectRatio, `${path}.${ratioName}`);
  const [, width = '1', height = '1'] = RATIO.exec(ratio ?? '') ?? [];
  const [across, down] = [parseDigits(width), parseDigits(height)];
  if (ratio !== null && !RATIO.test(ratio))
    throw wrongField(`${path}.${ratioName}`, 'Input should be a ratio such as "16:9"');
  if (imageSize !== null && !/^\dK$/.test(requireText(imageSize, `${path}.${sizeName}`)))
    throw wrongField(`${path}.${sizeName}`, 'Input should be a size such as "2K"');
  if (imageSize !== null) return { ratio, fields: { size: textOf(imageSize) } };
  if (ratio === null) return { ratio, fields: {} };
  return { ratio, fields: { size: across === down ? '1024x1024' : across > down ? '1536x1024' : '1024x1536' } };
}

function answered(
  { message, ...read }: ReturnType<typeof readDrawing>,
  ratio: string | null,
  form: 'predict' | ImagesForm,
): Translated {
  return {
    message: { ...message, answer_form: form, ...(ratio !== null && { aspect_ratio: ratio }) },
    ...read,
    native: null,
    answer: UNTRANSLATED,
  };
}

const CONFIG = 'generationConfig';

/** Whether generateContent asks for images. */
export function asksForImages(body: JsonObject): boolean {
  const config = configOf(body);
  const modalities = config['responseModalities'] ?? config['response_modalities'] ?? null;
  const list = Array.isArray(modalities) ? modalities : [modalities];
  const isOfImages = Object.keys(objectOf(config['imageConfig'] ?? config['image_config'])).length > 0;
  return isOfImages || list.some((one) => textOf(one).toUpperCase() === 'IMAGE');
}

function configOf(body: JsonObject): JsonObject {
  return objectOf(body[CONFIG] ?? body['generation_config']);
}

/** The conversation is one prompt: all of its texts, with all of its images. Throws invalid_request, feature_unavailable. */
export function translateImages(given: JsonObject, { operation, query }: Asked): Translated {
  const { responseModalities: _, response_modalities: __, imageConfig, image_config, ...config } = configOf(given);
  const { [CONFIG]: ___, generation_config: ____, ...others } = given;
  const { body } = readBody({ ...others, [CONFIG]: config });
  if (jsonObjects(body['tools']).length > 0) throw wrongField('tools', 'an image is made without tools');
  const asked = objectOf(imageConfig ?? image_config);
  const shape = readShape(
    {
      aspectRatio: asked['aspectRatio'] ?? asked['aspect_ratio'],
      imageSize: asked['imageSize'] ?? asked['image_size'],
    },
    ['aspectRatio', 'imageSize'],
    `${CONFIG}.imageConfig`,
  );
  const texts = jsonObjects(objectOf(body['systemInstruction'])['parts']).map(({ text }) => textOf(text));
  const images: GivenImage[] = [];
  for (const [index, { parts }] of jsonObjects(body['contents']).entries())
    for (const [place, part] of jsonObjects(parts).entries())
      addPart(part, `contents.${index}.parts.${place}`, texts, images);
  const prompt = texts.filter((text) => text !== '').join('\n\n');
  if (prompt === '') throw wrongField('contents', 'Input should have a text');
  if (images.length > bounds.editedImagesMax)
    throw wrongField('contents', `must not have more than ${bounds.editedImagesMax} images`);
  const fields = { model: modelOf(operation), prompt, n: 1, ...shape.fields };
  const form = imagesForm({ operation, query });
  return { ...answered(readDrawing(fields, images), shape.ratio, form), protocol: 'images' };
}

export function imagesForm({ operation, query }: Pick<Asked, 'operation' | 'query'>): ImagesForm {
  if (!('stream' in operation && operation.stream === true)) return 'content';
  return new URLSearchParams(query).get('alt') === 'sse' ? 'event' : 'list';
}

function addPart(
  { text, inlineData, thought, ...others }: JsonObject,
  path: string,
  texts: string[],
  images: GivenImage[],
): void {
  const other = ['fileData', 'functionCall', 'functionResponse'].find((name) => others[name] !== undefined);
  if (other !== undefined) throw wrongField(`${path}.${other}`, 'is not supported where an image is made');
  if (thought === true) return;
  if (text !== undefined) texts.push(requireText(text, `${path}.text`));
  if (inlineData === undefined) return;
  const { mimeType, data } = requireObject(inlineData, `${path}.inlineData`);
  const mediaType = requireText(mimeType, `${path}.inlineData.mimeType`);
  if (!mediaType.startsWith('image/')) throw wrongField(`${path}.inlineData.mimeType`, 'Input should be an image');
  const base64 = requireText(data, `${path}.inlineData.data`);
  images.push({ url: `data:${mediaType};base64,${base64}`, path: `${path}.inlineData` });
}
