// How many tokens a request or an answer may have, before or instead of a provider's count. `typical` is
// a likely figure, `upperBound` one that a hold can rely on; neither is ever charged where a count was reported.

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

type Estimated = Pick<MessageRequest, 'text' | 'bytes' | 'body' | 'members'>;

/** Tokens of so many bytes of produced text. */
export function estimateOutputTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** The likely number of tokens of the prompt: a quarter of its text's bytes, and a likely figure for each image and page. */
export function typicalInputTokens(request: Estimated): number {
  const { text, bytes, body, members } = request;
  let characters = 0;
  for (const name of ['system', 'tools', 'messages']) {
    const span = members.get(name);
    if (span !== undefined) characters += span.end - span.start;
  }
  const media = countMedia(body, {
    imageTokens: IMAGE_TOKENS_TYPICAL,
    pageTokens: PAGE_TOKENS_TYPICAL,
    pagesUnseen: (fileBytes) => Math.ceil(fileBytes / PAGE_BYTES_TYPICAL),
    remoteDocumentTokens: REMOTE_DOCUMENT_TOKENS_TYPICAL,
  });
  const textBytes = (characters * bytes) / text.length - media.bytes - messageCount(body) * MESSAGE_JSON_BYTES;
  return estimateOutputTokens(Math.max(0, textBytes)) + media.tokens + 1;
}

/**
 * A number of tokens that the prompt as sent will not exceed. One token a byte, since no tokenizer makes
 * more; images and PDF files by their kind, since their bytes say little. What tools of the provider will
 * fetch is not foreseen. A model's context window, where it is known, bounds this further: that is the caller's.
 */
export function inputTokensUpperBound(request: Estimated): number {
  const { bytes, body } = request;
  const media = countMedia(body, {
    imageTokens: IMAGE_TOKENS_MAX,
    pageTokens: PAGE_TOKENS_MAX,
    pagesUnseen: () => Number.POSITIVE_INFINITY,
    remoteDocumentTokens: REMOTE_DOCUMENT_TOKENS_MAX,
  });
  return bytes - media.bytes + media.tokens + toolTokens(body) + messageCount(body) * MESSAGE_TOKENS;
}

interface MediaRates {
  imageTokens: number;
  pageTokens: number;
  /** Pages of a PDF file of so many bytes whose pages cannot be counted. */
  pagesUnseen(fileBytes: number): number;
  remoteDocumentTokens: number;
}

const PAGES_MAX = 600; // providers refuse longer documents

/** The tokens of all images and PDF files, and how many bytes of the body their base64 takes. */
function countMedia(body: JsonObject, rates: MediaRates): { bytes: number; tokens: number } {
  const media = { bytes: 0, tokens: 0 };
  findBlock(body, (block) => {
    const source = block['source'];
    if (isJsonObject(source)) addSource(media, block['type'] === 'image', source, rates);
    return false;
  });
  return media;
}

function addSource(
  media: { bytes: number; tokens: number },
  isImage: boolean,
  source: JsonObject,
  rates: MediaRates,
): void {
  const { type, data, media_type: mediaType } = source;
  if (type === 'url' || type === 'file') {
    media.tokens += isImage ? rates.imageTokens : rates.remoteDocumentTokens;
  } else if (type === 'base64' && typeof data === 'string' && typeof mediaType === 'string') {
    // What does not say that it is an image or a PDF file counts by its bytes, as text does.
    if (isImage && mediaType.startsWith('image/')) media.tokens += rates.imageTokens;
    else if (mediaType === 'application/pdf') media.tokens += pdfPages(data, rates) * rates.pageTokens;
    else return;
    media.bytes += data.length; // at most what it takes in the body, where it may be escaped
  }
}

function pdfPages(base64: string, rates: MediaRates): number {
  const seen = countPages(base64, PAGES_MAX);
  return Math.min(PAGES_MAX, Math.max(1, seen ?? rates.pagesUnseen((base64.length * 3) / 4)));
}

function messageCount(body: JsonObject): number {
  return Array.isArray(body['messages']) ? body['messages'].length : 0;
}

function toolTokens(body: JsonObject): number {
  const tools = body['tools'];
  if (!Array.isArray(tools) || tools.length === 0) return 0;
  const builtIn = tools.filter(
    (tool) => isJsonObject(tool) && typeof tool['type'] === 'string' && tool['type'] !== 'custom',
  );
  return TOOLS_TOKENS + builtIn.length * BUILT_IN_TOOL_TOKENS;
}
