// Bounds and estimates the tokens of a prompt in one walk, before or instead of a provider's count.

import { findBlock, isJsonObject, type JsonObject, type MessageRequest } from '../wire/wire.ts';

const BASE64_CHARACTERS_MAX = 8 * 1024 * 1024; // longer files are not searched: it would block the event loop

const SLASH = 0x2f;
const HASH = 0x23;
const PAGE = codesOf('Page');
const COUNT = codesOf('Count');
const OBJECT_STREAM = codesOf('ObjStm');
const COUNT_MAX = 999_999_999;

/** Counts pages, by page objects and by the page tree, up to `pagesMax`; null if they cannot be counted. */
function countPages(base64: string, pagesMax: number): number | null {
  if (base64.length > BASE64_CHARACTERS_MAX) return null;
  const file = Buffer.from(base64, 'base64');
  let pages = 0;
  let nodes = 0;
  let counted = 0;
  // One pass over the bytes: regular expressions take ten times as long on malicious files.
  for (let at = 0; at < file.length; at++) {
    if (file[at] !== SLASH) continue;
    const first = file[at + 1];
    const isEscaped = first === HASH;
    if ((isEscaped || first === OBJECT_STREAM[0]) && nameEnd(file, at + 1, OBJECT_STREAM) > 0) return null;
    if (pages < pagesMax && (isEscaped || first === PAGE[0])) {
      const end = nameEnd(file, at + 1, PAGE);
      if (end > 0 && !isOfName(file[end])) pages++; // "/Pages" is a node of the tree, not a page
    } else if (nodes < pagesMax && first === COUNT[0]) {
      const count = countAt(file, nameEnd(file, at + 1, COUNT));
      if (count >= 0) nodes++;
      counted = Math.max(counted, count);
    }
  }
  if (pages === 0) return null;
  // With more tree nodes than possible pages, the count is the maximum.
  return nodes >= pagesMax ? pagesMax : Math.min(pagesMax, Math.max(pages, counted));
}

function codesOf(name: string): readonly number[] {
  return [...name].map((letter) => letter.charCodeAt(0));
}

/** The end of the name at `from`; -1 if it is another name. Names may have escapes: "/Pa#67e" is a page too. */
function nameEnd(file: Buffer, from: number, name: readonly number[]): number {
  let at = from;
  for (let place = 0; place < name.length; place++) {
    const letter = name[place];
    if (file[at] === letter) at++;
    else if (file[at] === HASH && hexAt(file, at + 1) === letter) at += 3;
    else return -1;
  }
  return at;
}

/** The byte of two hexadecimal digits; -1 if invalid. */
function hexAt(file: Buffer, at: number): number {
  const high = hexDigit(file[at]);
  const low = hexDigit(file[at + 1]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

function hexDigit(code = 0): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20; // in lower case
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

/** A letter, or the start of an escape. */
function isOfName(code = 0): boolean {
  const letter = code | 0x20;
  return (letter >= 0x61 && letter <= 0x7a) || code === HASH;
}

/** The number after white space, by its first nine digits; -1 if there is none. */
function countAt(file: Buffer, from: number): number {
  if (from < 0) return -1;
  let at = from;
  while (isSpace(file[at])) at++;
  let count = -1;
  for (; count <= COUNT_MAX / 10; at++) {
    const digit = (file[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) break;
    count = Math.max(0, count) * 10 + digit;
  }
  return count;
}

/** White space as in regular expressions. */
function isSpace(code = 0): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d) || code === 0xa0;
}

const BYTES_PER_TOKEN = 4; // of text; the sandbox counts by it
const IMAGE_TOKENS_MAX = 5_000; // the largest image that providers do not scale down
const IMAGE_TOKENS_TYPICAL = 1_600;
const PAGE_TOKENS_MAX = 3_000; // a page counts as an image and as text; providers say 1,500 to 3,000
const PAGE_TOKENS_TYPICAL = 2_000;
const PAGE_BYTES_TYPICAL = 50_000; // of a document whose pages cannot be counted
const REMOTE_DOCUMENT_TOKENS_MAX = 300_000; // a hundred pages
const REMOTE_DOCUMENT_TOKENS_TYPICAL = 20_000;
const TOOLS_TOKENS = 1_000; // the prompt that a provider adds before tools
const BUILT_IN_TOOL_TOKENS = 1_000; // a tool that the provider defines and the body only names
const MESSAGE_TOKENS = 16; // separators between messages
const MESSAGE_JSON_BYTES = 30; // {"role":"user","content":""},

type Measured = Pick<MessageRequest, 'text' | 'bytes' | 'body' | 'members'>;

export interface PromptMeasure {
  /** Bytes of the body without the base64 of images and PDF files. */
  textBytes: number;
  /** Upper bound of tokens other than text: images, pages, and what providers add around tools and messages. */
  fixedTokensMax: number;
  /** Likely tokens: a quarter of the text bytes, and a typical figure per image and page. */
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
 * An upper bound of the prompt's tokens: one token per byte, since no tokenizer makes more. Excludes content that tools
 * of the provider fetch. The gateway also applies the model's context window, if known.
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
  /** Bytes of the body taken by base64 of images and PDF files. */
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
    // Anything not declared as an image or PDF counts by its bytes, as text.
    if (isImage && mediaType.startsWith('image/')) addImage(media);
    else if (mediaType === 'application/pdf') addPages(media, data);
    else return;
    media.bytes += data.length; // at most its size in the body, where it may be escaped
  }
}

function addImage(media: MediaMeasure): void {
  media.tokensMax += IMAGE_TOKENS_MAX;
  media.tokensTypical += IMAGE_TOKENS_TYPICAL;
}

/** If the pages cannot be counted: the longest document as the upper bound, and a likely number by size. */
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
