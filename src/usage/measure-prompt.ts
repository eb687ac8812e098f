// How many tokens a prompt may have, before or instead of a provider's count. Measured once, since the body is
// walked for it; the likely figure and the bounds are read off the measure. None is charged where a count was reported.

import { findBlock, isJsonObject, type JsonObject, type MessageRequest } from '../wire/wire.ts';
import { countPages } from './count-pages.ts';

const BYTES_PER_TOKEN = 4; // of text; what the sandbox counts by
const IMAGE_TOKENS_MAX = 5_000; // the largest image that a provider does not scale down
const IMAGE_TOKENS_TYPICAL = 1_600;
const PAGE_TOKENS_MAX = 3_000; // a page counts as an image and as its text; providers say 1,500 to 3,000
const PAGE_TOKENS_TYPICAL = 2_000;
const PAGE_BYTES_TYPICAL = 50_000; // of a document whose pages cannot be counted
const REMOTE_DOCUMENT_TOKENS_MAX = 300_000; // a hundred pages
const REMOTE_DOCUMENT_TOKENS_TYPICAL = 20_000;
const TOOLS_TOKENS = 1_000; // the prompt that a provider puts before the tools
const BUILT_IN_TOOL_TOKENS = 1_000; // a definition that the provider knows and the body only names
const MESSAGE_TOKENS = 16; // what parts one message from the next
const MESSAGE_JSON_BYTES = 30; // {"role":"user","content":""},

type Measured = Pick<MessageRequest, 'text' | 'bytes' | 'body' | 'members'>;

export interface PromptMeasure {
  /** Bytes of the body, without the base64 of images and PDF files. */
  textBytes: number;
  /** The most tokens that are no text: images and pages, what a provider puts before tools and around messages. */
  fixedTokensMax: number;
  /** What the prompt likely has: a quarter of its text's bytes, and a likely figure for each image and page. */
  typicalTokens: number;
}

export function measurePrompt(request: Measured): PromptMeasure {
  const { bytes, body } = request;
  const media = measureMedia(body);
  const messages = Array.isArray(body['messages']) ? body['messages'].length : 0;
  const plainBytes = Math.max(0, promptBytes(request) - media.bytes - messages * MESSAGE_JSON_BYTES);
  return {
    textBytes: bytes - media.bytes,
    fixedTokensMax: media.tokensMax + toolTokens(body) + messages * MESSAGE_TOKENS,
    typicalTokens: Math.ceil(plainBytes / BYTES_PER_TOKEN) + media.tokensTypical + 1,
  };
}

/**
 * A number of tokens that the prompt as sent will not exceed: one token a byte, since no tokenizer makes more.
 * What tools of the provider will fetch is not foreseen. A model's context window, where it is known, bounds
 * this further: that is the caller's.
 */
export function inputTokensUpperBound({ textBytes, fixedTokensMax }: PromptMeasure): number {
  return textBytes + fixedTokensMax;
}

/** A number of tokens that few prompts exceed, by what was learned of the model: at most the upper bound. */
export function inputTokensLikely({ textBytes, fixedTokensMax }: PromptMeasure, tokensPerByte: number): number {
  return Math.ceil(textBytes * Math.min(1, tokensPerByte)) + fixedTokensMax;
}

/** Bytes of what the model reads, with the JSON around it. */
function promptBytes({ text, bytes, members }: Measured): number {
  let characters = 0;
  for (const name of ['system', 'tools', 'messages']) {
    const span = members.get(name);
    if (span !== undefined) characters += span.end - span.start;
  }
  return (characters * bytes) / text.length;
}

interface MediaMeasure {
  /** Of the body, that the base64 of images and PDF files takes. */
  bytes: number;
  tokensMax: number;
  tokensTypical: number;
}

const PAGES_MAX = 600; // providers refuse longer documents

function measureMedia(body: JsonObject): MediaMeasure {
  const media: MediaMeasure = { bytes: 0, tokensMax: 0, tokensTypical: 0 };
  findBlock(body, (block) => {
    const source = block['source'];
    if (isJsonObject(source)) addSource(media, block['type'] === 'image', source);
    return false;
  });
  return media;
}

function addSource(media: MediaMeasure, isImage: boolean, source: JsonObject): void {
  const { type, data, media_type: mediaType } = source;
  if (type === 'url' || type === 'file') {
    if (isImage) addImage(media);
    else {
      media.tokensMax += REMOTE_DOCUMENT_TOKENS_MAX;
      media.tokensTypical += REMOTE_DOCUMENT_TOKENS_TYPICAL;
    }
  } else if (type === 'base64' && typeof data === 'string' && typeof mediaType === 'string') {
    // What does not say that it is an image or a PDF file counts by its bytes, as text does.
    if (isImage && mediaType.startsWith('image/')) addImage(media);
    else if (mediaType === 'application/pdf') addPages(media, data);
    else return;
    media.bytes += data.length; // at most what it takes in the body, where it may be escaped
  }
}

function addImage(media: MediaMeasure): void {
  media.tokensMax += IMAGE_TOKENS_MAX;
  media.tokensTypical += IMAGE_TOKENS_TYPICAL;
}

/** Where the pages of a file cannot be counted, the longest document is the most, and its size says what is likely. */
function addPages(media: MediaMeasure, base64: string): void {
  const seen = countPages(base64, PAGES_MAX);
  const likely = seen ?? Math.ceil((base64.length * 3) / 4 / PAGE_BYTES_TYPICAL);
  media.tokensMax += Math.max(1, seen ?? PAGES_MAX) * PAGE_TOKENS_MAX;
  media.tokensTypical += Math.min(PAGES_MAX, Math.max(1, likely)) * PAGE_TOKENS_TYPICAL;
}

function toolTokens(body: JsonObject): number {
  const tools = body['tools'];
  if (!Array.isArray(tools) || tools.length === 0) return 0;
  const builtIn = tools.filter(
    (tool) => isJsonObject(tool) && typeof tool['type'] === 'string' && tool['type'] !== 'custom',
  );
  return TOOLS_TOKENS + builtIn.length * BUILT_IN_TOOL_TOKENS;
}
