// Generation of images in OpenAI's format.

import { isWholeNumber } from '../../base/checked-number.ts';
import { bounds } from '../../config/config.ts';
import {
  type JsonObject,
  type JsonValue,
  requireText,
  type Unbounded,
  type Units,
  unitsOf,
  wrongField,
} from '../../wire/wire.ts';
import { frontOfUse } from '../other-use.ts';
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
export const FIELDS: ReadonlySet<string> = new Set(['body', 'model', 'n', 'prompt', 'user', ...Object.keys(SENT)]);

export const images = frontOfUse({
  protocol: 'images',
  paths: ['/v1/images/generations'],
  fields: FIELDS,
  convert: convertRequest,
});

/** OpenAI documents no bound of the text beside an image; more than this is not billed. */
const TEXT_TOKENS_MAX = 1_024;

function convertRequest(body: JsonObject): { message: JsonObject; units: Units; unbounded: Unbounded } {
  const { model = null, user = null } = body;
  const prompt = requireText(body['prompt'], 'prompt');
  if (prompt === '') throw wrongField('prompt', 'String should have at least 1 character');
  const count = readCount(body['n'] ?? null);
  const sent: JsonObject = { n: count };
  for (const [name, check] of Object.entries(SENT)) {
    const value = body[name] ?? null;
    if (value === null) continue;
    check(value, name);
    sent[name] = value;
  }
  return {
    message: {
      ...(model !== null && { model }),
      max_tokens: count * TEXT_TOKENS_MAX,
      messages: [{ role: 'user', content: [{ type: 'text', text: prompt }] }],
      images: sent,
      ...(user !== null && { metadata: { user_id: requireText(user, 'user') } }),
    },
    ...unitsMost(count, sent),
  };
}

function readCount(value: JsonValue): number {
  if (value === null) return 1;
  if (isWholeNumber(value) && value > 0 && value <= bounds.imagesPerRequestMax) return value;
  throw wrongField('n', `Input should be an integer from 1 to ${bounds.imagesPerRequestMax}`);
}

function unitsMost(count: number, sent: JsonObject): { units: Units; unbounded: Unbounded } {
  const [size, quality] = [statedIn(sent, 'size'), statedIn(sent, 'quality')];
  const tokens = imageTokensMost({ size, quality });
  const partial = isWholeNumber(sent['partial_images']) ? sent['partial_images'] * PARTIAL_IMAGE_TOKENS : 0;
  const counts = { images: count, output_image_tokens: count * ((tokens ?? 0) + partial) };
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
