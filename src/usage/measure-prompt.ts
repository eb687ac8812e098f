// Bounds and estimates the tokens of a prompt in one walk, before or instead of a provider's count.

import {
  findBlock,
  isJsonObject,
  isSound,
  type JsonObject,
  type MessageRequest,
  readImageSize,
  textOf,
} from '../wire/wire.ts';
import { imageTokens, type MediaTokens } from './image-tokens.ts';
import { type EncodedDocument, isTextType, measureDocuments } from './measure-documents.ts';
import { soundTokens } from './sound-tokens.ts';

const BYTES_PER_TOKEN = 4; // of text; the sandbox counts by it
const REMOTE_DOCUMENT_TOKENS_TYPICAL = 20_000;
const TOOLS_TOKENS = 1_000; // the prompt that a provider adds before tools
const BUILT_IN_TOOL_TOKENS = 1_000; // a tool that the provider defines and the body only names
const MESSAGE_TOKENS = 16; // separators between messages
const MESSAGE_JSON_BYTES = 30; // {"role":"user","content":""},

type Measured = Pick<MessageRequest, 'text' | 'bytes' | 'body' | 'members' | 'spoken'>;

export interface PromptMeasure {
  /** Bytes of the body without the base64 of images and of documents that do not count by their bytes. */
  textBytes: number;
  /** Upper bound of tokens other than text: images, documents, and what providers add around tools and messages. */
  fixedTokensMax: number;
  /** The part of them that images and documents have. */
  mediaTokensMax: number;
  /** Upper bound of the tokens of sound, which have a price of their own and are not among the others. */
  soundTokensMax: number;
  /** False: an image or document may have any number of tokens, up to what the model accepts. */
  isBounded: boolean;
  /** Likely tokens: a quarter of the text bytes, images by their dimensions, documents by their pages and text, sound by its length. */
  typicalTokens: number;
}

/**
 * Measures a prompt for the models that may get it, by their names at the providers. A promise only if the prompt has
 * documents or sound, whose content is read.
 */
export function measurePrompt(
  request: Measured,
  models: readonly string[] = [],
): PromptMeasure | Promise<PromptMeasure> {
  const media = measureMedia(request.body, models);
  if (media.documents.length + media.sounds.length === 0) return measureWith(request, media);
  return measureFiles(request, media, models);
}

async function measureFiles(request: Measured, media: MediaMeasure, models: readonly string[]): Promise<PromptMeasure> {
  if (media.documents.length > 0) add(media, await measureDocuments(media.documents, models));
  if (media.sounds.length > 0) {
    const { most, typical } = await soundTokens(media.sounds, models);
    media.soundTokensMax = most;
    media.tokensTypical += typical;
  }
  return measureWith(request, media);
}

function measureWith(request: Measured, media: MediaMeasure): PromptMeasure {
  const { bytes, body, spoken } = request;
  const [soundTokens, textBytes] = [spoken?.soundTokens ?? 0, spoken?.textBytes ?? 0];
  const messages = Array.isArray(body['messages']) ? body['messages'].length : 0;
  const plainBytes = Math.max(0, promptBytes(request) - media.bytes - messages * MESSAGE_JSON_BYTES);
  return {
    textBytes: bytes - media.bytes,
    fixedTokensMax: media.tokensMax + textBytes + toolTokens(body) + messages * MESSAGE_TOKENS,
    mediaTokensMax: media.tokensMax,
    soundTokensMax: media.soundTokensMax + soundTokens,
    isBounded: media.isBounded,
    typicalTokens: Math.ceil((plainBytes + textBytes) / BYTES_PER_TOKEN) + media.tokensTypical + soundTokens + 1,
  };
}

/**
 * An upper bound of the prompt's tokens, if it is bounded: one token per byte, since no tokenizer makes more. Excludes
 * content that tools of the provider fetch. The gateway also applies the model's context window, if known.
 */
export function inputTokensUpperBound({ textBytes, fixedTokensMax }: PromptMeasure): number {
  return textBytes + fixedTokensMax;
}

/** Bytes that the model reads, with the JSON around them. */
function promptBytes({ text, bytes, members }: Measured): number {
  let characters = 0;
  for (const name of ['system', 'tools', 'messages']) {
    const span = members.get(name);
    if (span !== undefined) characters += span.end - span.start;
  }
  return (characters * bytes) / text.length;
}

interface MediaMeasure {
  /** Bytes of the body that do not count as text. */
  bytes: number;
  tokensMax: number;
  isBounded: boolean;
  tokensTypical: number;
  documents: EncodedDocument[];
  /** In base64. */
  sounds: string[];
  soundTokensMax: number;
}

function measureMedia(body: JsonObject, models: readonly string[]): MediaMeasure {
  const media: MediaMeasure = {
    ...{ bytes: 0, tokensMax: 0, isBounded: true, tokensTypical: 0 },
    ...{ documents: [], sounds: [], soundTokensMax: 0 },
  };
  findBlock(body, (block) => {
    const source = block['source'];
    if (isJsonObject(source) && isSound(block)) addSound(media, source);
    else if (isJsonObject(source)) addSource(media, block['type'] === 'image', source, models);
    return false;
  });
  return media;
}

function addSource(media: MediaMeasure, isImage: boolean, source: JsonObject, models: readonly string[]): void {
  const { type, data } = source;
  if (type === 'url' || type === 'file') {
    add(media, isImage ? imageTokens(models, null) : { most: null, typical: REMOTE_DOCUMENT_TOKENS_TYPICAL });
  } else if (type === 'base64' && typeof data === 'string') {
    const mediaType = textOf(source['media_type']);
    // Other documents are text, of which each byte counts, and so is what no provider takes for an image.
    const isText = isImage ? !mediaType.startsWith('image/') : isTextType(mediaType);
    if (isText) return;
    if (isImage) add(media, imageTokens(models, readImageSize(data)));
    else media.documents.push({ mediaType, base64: data });
    media.bytes += data.length; // at most its size in the body, where it may be escaped
  }
}

/** Sound at an address is refused by every provider. */
function addSound(media: MediaMeasure, { data }: JsonObject): void {
  if (typeof data !== 'string') return;
  media.sounds.push(data);
  media.bytes += data.length;
}

function add(media: MediaMeasure, { most, typical }: MediaTokens): void {
  media.tokensMax += most ?? 0;
  if (most === null) media.isBounded = false;
  media.tokensTypical += typical;
}

function toolTokens(body: JsonObject): number {
  const tools = body['tools'];
  if (!Array.isArray(tools) || tools.length === 0) return 0;
  const builtIn = tools.filter(
    (tool) => isJsonObject(tool) && typeof tool['type'] === 'string' && tool['type'] !== 'custom',
  );
  return TOOLS_TOKENS + builtIn.length * BUILT_IN_TOOL_TOKENS;
}
