// Generation and edits of images in OpenAI's format.

import { createHash } from 'node:crypto';
import { isWholeNumber } from '../../base/checked-number.ts';
import { bounds } from '../../config/config.ts';
import { readDataUrl } from '../../protocols/data-url.ts';
import { requireObject } from '../../protocols/placed.ts';
import {
  fileInMemory,
  type JsonObject,
  type JsonValue,
  type MeasuredForm,
  requireList,
  requireText,
  type SentFile,
  type Unbounded,
  type Units,
  unitsOf,
  wrongField,
} from '../../wire/wire.ts';
import { storedFile } from '../convert-media.ts';
import { fieldsAsJson, fingerprint, plainName } from '../form-fields.ts';
import { frontOfUse } from '../other-use.ts';
import { requests } from '../request-fields.ts';
import { imageTokensMost, PARTIAL_IMAGE_TOKENS } from './image-tokens.ts';

const isText = (value: JsonValue, path: string) => void requireText(value, path);
const isFlag = (value: JsonValue, path: string) => {
  if (typeof value !== 'boolean') throw wrongField(path, 'Input should be a valid boolean');
};
const isUpTo = (most: number) => (value: JsonValue, path: string) => {
  if (!isWholeNumber(value) || value > most) throw wrongField(path, `Input should be an integer from 0 to ${most}`);
};
const isWord = (pattern: RegExp, words: string) => (value: JsonValue, path: string) => {
  if (!pattern.test(requireText(value, path))) throw wrongField(path, `Input should be ${words}`);
};

/** Fields that providers are sent as they came, and what each may be. */
const SENT: Readonly<Record<string, (value: JsonValue, path: string) => void>> = {
  background: isText,
  input_fidelity: isWord(/^(?:high|low)$/, '"high" or "low"'),
  moderation: isText,
  output_compression: isUpTo(100),
  output_format: isText,
  partial_images: isUpTo(3),
  quality: isWord(/^[a-z]{1,16}$/, 'a quality such as "high" or "auto"'),
  response_format: isText,
  size: isWord(/^[A-Za-z0-9][A-Za-z0-9.:_-]{0,31}$/, 'a size such as "1024x1024" or "auto"'),
  stream: isFlag,
  style: isText,
};
/** The fields that are read, and first parts of the path of an error. */
export const FIELDS: ReadonlySet<string> = new Set([
  ...['body', 'image', 'images', 'markup', 'mask', 'model', 'n', 'prompt', 'user'],
  ...Object.keys(SENT),
]);

export const images = frontOfUse({
  protocol: 'images',
  paths: ['/v1/images/generations'],
  forms: new Map([
    ['/v1/images/edits', { name: 'edits', filesMax: bounds.editedImagesMax + 2, of: 'images', orJson: true }],
  ]),
  fields: FIELDS,
  convert: (body, form) => (form === null ? convertGeneration(body) : convertEdit(body)),
  convertForm: (form) => readImages(fieldsAsJson(form, KINDS), form),
});

const KINDS = { numbers: ['n', 'output_compression', 'partial_images'], flags: ['stream'] };

/** OpenAI documents no bound of the text beside an image; more than this is not billed. */
const TEXT_TOKENS_MAX = 1_024;

/** A request in OpenAI's fields. `form`: the images that are edited; null: none. Throws invalid_request. */
export function readImages(
  body: JsonObject,
  form: MeasuredForm | null,
): { message: JsonObject; units: Units; unbounded: Unbounded } {
  const { model = null, user = null } = body;
  const prompt = requireText(body['prompt'], 'prompt');
  if (prompt === '') throw wrongField('prompt', 'String should have at least 1 character');
  const count = readCount(body['n'] ?? null);
  if (form !== null) checkFiles(form);
  const sent: JsonObject = { n: count };
  for (const [name, check] of Object.entries(SENT)) {
    const value = body[name] ?? null;
    if (value === null || (form === null && name === 'input_fidelity')) continue;
    check(value, name);
    sent[name] = value;
  }
  return {
    message: {
      ...(model !== null && { model }),
      max_tokens: count * TEXT_TOKENS_MAX,
      messages: [{ role: 'user', content: [{ type: 'text', text: prompt }] }],
      images: sent,
      ...(form !== null && { edits: fingerprint(form) }),
      ...(user !== null && { metadata: { user_id: requireText(user, 'user') } }),
    },
    ...unitsMost(count, sent, form),
  };
}

/** An image that is edited, as a data URL or an address, and its path in the body. */
export interface GivenImage {
  url: string;
  path: string;
}

type Drawing = ReturnType<typeof readImages> & { files?: readonly SentFile[] };

/** A request in JSON with images to edit, if any: they are sent in a form, as those of other clients are. Throws invalid_request. */
export function readDrawing(fields: JsonObject, given: readonly GivenImage[], mask: GivenImage | null = null): Drawing {
  if (given.length === 0) return readImages(fields, null);
  const field = given.length === 1 ? 'image' : 'image[]';
  const files = given.map((one, index) => fileOf(one, { field, name: `images-${index}.png` }));
  if (mask !== null) files.push(fileOf(mask, { field: 'mask', name: 'mask.png' }));
  const said = Object.entries(fields).map(([name, value]) => ({ name, value: JSON.stringify(value) }));
  const measured = files.map(({ file: { read: _, at: __, ...file }, sha256 }) => ({ ...file, sha256, seconds: null }));
  return { ...readImages(fields, { fields: said, files: measured }), files: files.map(({ file }) => file) };
}

/** Without its images, the answer would be another one. */
function convertGeneration(body: JsonObject): Drawing {
  const given = ['image', 'images', 'mask'].find((name) => requests(body[name]));
  if (given !== undefined) throw wrongField(given, 'images are edited by POST /v1/images/edits');
  return readImages(body, null);
}

function convertEdit({ images: given, mask = null, ...fields }: JsonObject): Drawing {
  const list = requireList(given, 'images');
  if (list.length === 0) throw wrongField('images', 'Field required');
  if (list.length > bounds.editedImagesMax)
    throw wrongField('images', `List should have at most ${bounds.editedImagesMax} items`);
  const read = list.map((one, index) => readReference(one, `images.${index}`));
  return readDrawing(fields, read, mask === null ? null : readReference(mask, 'mask'));
}

/** https://developers.openai.com/api/reference/resources/images (30 November 2026). */
function readReference(value: JsonValue, path: string): GivenImage {
  const { image_url: url = null, file_id: id = null } = requireObject(value, path);
  if (url === null && id !== null) throw storedFile(`${path}.file_id`);
  return { url: requireText(url ?? undefined, `${path}.image_url`), path: `${path}.image_url` };
}

function fileOf({ url, path }: GivenImage, about: { field: string; name: string }): { file: SentFile; sha256: string } {
  const sha256 = createHash('sha256').update(url).digest('hex');
  if (/^https?:\/\//i.test(url))
    return { file: { ...fileInMemory({ ...about, mediaType: '' }, UNKNOWN), at: { url, path } }, sha256 };
  const inside = readDataUrl(url);
  const content = Buffer.from(inside?.base64 ?? '', 'base64');
  if (inside === null || content.length === 0)
    throw wrongField(path, 'Input should be an http(s) URL or a base64 data URL');
  if (content.length > bounds.imageFileBytesMax)
    throw wrongField(path, `must have at most ${bounds.imageFileBytesMax} bytes`);
  return { file: fileInMemory({ ...about, mediaType: inside.mediaType }, content), sha256 };
}

/** The content of a file until it is fetched. */
const UNKNOWN = Buffer.from('?');

function checkFiles({ files }: MeasuredForm): void {
  const named = files.map(({ field }) => plainName(field));
  const countOf = (name: string) => named.filter((one) => one === name).length;
  if (countOf('image') === 0) throw wrongField('image', 'Field required');
  if (countOf('image') > bounds.editedImagesMax)
    throw wrongField('image', `List should have at most ${bounds.editedImagesMax} items`);
  for (const name of ['mask', 'markup']) if (countOf(name) > 1) throw wrongField(name, 'must be sent once');
  const other = named.find((name) => !['image', 'mask', 'markup'].includes(name));
  if (other !== undefined) throw wrongField('body', 'has a file that is neither image, mask nor markup');
  for (const { field, bytes } of files) if (bytes === 0) throw wrongField(plainName(field), 'must not be empty');
}

function readCount(value: JsonValue): number {
  if (value === null) return 1;
  if (isWholeNumber(value) && value > 0 && value <= bounds.imagesPerRequestMax) return value;
  throw wrongField('n', `Input should be an integer from 1 to ${bounds.imagesPerRequestMax}`);
}

/**
 * The most tokens that an image has that is edited: of gpt-image-1, 65, 129 for each tile of 512 pixels with the short edge at 512, and 6,240 with
 * high fidelity (https://platform.openai.com/docs/guides/image-generation, 30 November 2026), here with a ratio of 5 to 1; later models and
 * Gemini's have fewer. Each of several results has them again.
 */
const INPUT_TOKENS = 7_000;

function unitsMost(count: number, sent: JsonObject, form: MeasuredForm | null): { units: Units; unbounded: Unbounded } {
  const [size, quality] = [statedIn(sent, 'size'), statedIn(sent, 'quality')];
  const tokens = imageTokensMost({ size, quality });
  const partial = isWholeNumber(sent['partial_images']) ? sent['partial_images'] * PARTIAL_IMAGE_TOKENS : 0;
  const input = form === null ? {} : { input_image_tokens: count * form.files.length * INPUT_TOKENS };
  const counts = { images: count, output_image_tokens: count * ((tokens ?? 0) + partial), ...input };
  const image = [size, quality].filter((one) => one !== null).join(' ') || null;
  return {
    units: unitsOf(counts, image),
    unbounded: tokens === null ? { output_image_tokens: `size: the tokens of an image of ${size} are not known` } : {},
  };
}

/** null: the model chooses it. */
function statedIn(sent: JsonObject, name: string): string | null {
  const value = sent[name];
  return typeof value === 'string' && value !== 'auto' ? value : null;
}
