// Converts the conversation to Gemini's contents: alternating turns, all calls of one answered by the next.

import { readPlainDataUrl } from '../../protocols/data-url.ts';
import { type Placed, remind } from '../../protocols/placed.ts';
import { soundFormatOf, soundTypeOf } from '../../protocols/sound.ts';
import {
  isJsonObject,
  isOfGoogle,
  type JsonObject,
  type JsonValue,
  NO_THOUGHT_SIGNATURE,
  objectOf,
  readSignature,
  textOf,
} from '../../wire/wire.ts';
import { addTurn, checkCalls, heading, isBillingLine, joinTurns, partResults, placeBlocks } from '../conversation.ts';
import { refuseField, refuseType } from '../lost-fields.ts';
import { REQUEST_RULES } from '../request-rules.ts';
import { readCallId, shortenName } from './call-ids.ts';

const IMAGE_TYPES: readonly string[] = REQUEST_RULES.gemini.images;
/** For an image whose URL does not show its type: without one Gemini would accept a video, which is not priced. */
const DEFAULT_IMAGE_TYPE = 'image/jpeg';
const PDF = 'application/pdf';

/** The parts of the source of an image or document. Throws ProviderFault (rejected). */
function convertSource(block: JsonObject, path: string): JsonObject[] {
  const { type: kind, source } = block;
  if (!isJsonObject(source)) refuseField(`${path}.source`, 'Field required');
  const { type, media_type: mediaType, data, url, content } = source;
  const isImage = kind === 'image';
  if (type === 'text' && !isImage) return textPart(data);
  if (type === 'content' && !isImage) return readBlocks(content, `${path}.source.content`).flatMap(convertBlock);
  if (type === 'base64') {
    const mediaPath = `${path}.source.media_type`;
    if (!isImage && mediaType !== PDF) refuseField(mediaPath, `Input should be '${PDF}'`);
    return [inline(isImage ? imageType(mediaType, mediaPath) : PDF, data, `${path}.source.data`)];
  }
  if (type !== 'url')
    refuseField(`${path}.source.type`, 'this kind of source is not available for the provider of this model');
  if (isImage) return [imageAt(url, `${path}.source.url`)];
  return [{ fileData: { fileUri: readAddress(url, `${path}.source.url`).href, mimeType: PDF } }];
}

function imageType(type: JsonValue | undefined, path: string): string {
  if (typeof type === 'string' && IMAGE_TYPES.includes(type)) return type;
  refuseField(path, `the provider of this model accepts only ${IMAGE_TYPES.join(', ')}`);
}

function inline(mimeType: string, data: JsonValue | undefined, path: string): JsonObject {
  if (typeof data !== 'string' || data === '') refuseField(path, 'Field required');
  return { inlineData: { mimeType, data } };
}

/** https://ai.google.dev/gemini-api/docs/audio (30 November 2026). */
const SOUND_TYPES: readonly string[] = ['wav', 'mp3', 'aiff', 'aac', 'ogg', 'flac'].map((name) => `audio/${name}`);

function soundPart({ type, media_type: given, data }: JsonObject, path: string): JsonObject {
  if (type !== 'base64') refuseField(`${path}.source.type`, 'the provider of this model accepts sound only in base64');
  const mediaType = soundTypeOf(soundFormatOf(textOf(given)) ?? '') ?? textOf(given);
  if (!SOUND_TYPES.includes(mediaType))
    refuseField(`${path}.source.media_type`, `the provider of this model accepts only ${SOUND_TYPES.join(', ')}`);
  return inline(mediaType, data, `${path}.source.data`);
}

function imageAt(url: JsonValue | undefined, path: string): JsonObject {
  const inside = readPlainDataUrl(url);
  if (inside !== null) return inline(imageType(inside.mediaType, path), inside.base64, path);
  const address = readAddress(url, path);
  const suffix = /\.([A-Za-z0-9]{1,5})$/.exec(address.pathname)?.[1]?.toLowerCase();
  const type = suffix === undefined ? DEFAULT_IMAGE_TYPE : `image/${suffix === 'jpg' ? 'jpeg' : suffix}`;
  return { fileData: { fileUri: address.href, mimeType: imageType(type, path) } };
}

/** Clients may not name Google's URLs, which it reads with the operator's rights; YouTube's are videos. */
function readAddress(url: JsonValue | undefined, path: string): URL {
  const address = typeof url === 'string' ? URL.parse(url) : null;
  if (address === null || address.protocol !== 'https:')
    refuseField(path, 'the provider of this model accepts only https:// URLs');
  if (isOfGoogle(address.hostname)) refuseField(path, "Google's own URLs cannot be used here");
  return address;
}

/** Throws ProviderFault (rejected) for anything but a text or a list of blocks. */
function readBlocks(content: JsonValue | undefined, path: string): Placed[] {
  if (content === undefined || content === null) return [];
  if (typeof content !== 'string' && !Array.isArray(content))
    refuseField(path, 'Input should be a valid string or list');
  const wrong = typeof content === 'string' ? -1 : content.findIndex((block) => !isJsonObject(block));
  if (wrong >= 0) refuseField(`${path}.${wrong}`, 'Input should be a valid dictionary');
  return placeBlocks(content, path);
}

/** The parts of a user's block; empty for an empty text. Throws ProviderFault (rejected). */
function convertBlock({ block, path }: Placed): JsonObject[] {
  switch (block['type']) {
    case 'text':
      return textPart(block['text']);
    case 'image':
      return convertSource(block, path);
    case 'audio':
      return [soundPart(objectOf(block['source']), path)];
    case 'document': {
      const { title, context } = block;
      return [...textPart(heading({ title, context })), ...convertSource(block, path)];
    }
    case 'search_result':
      return [
        ...textPart(heading({ title: block['title'], source: block['source'] })),
        ...readBlocks(block['content'], `${path}.content`).flatMap(convertBlock),
      ];
    case 'tool_reference':
      return textPart(`Tool: ${String(block['tool_name'])}`);
    case 'tool_addition':
    case 'tool_removal':
      return []; // all tools of a conversation are sent from its start
    default:
      return refuseType('block', block['type'], path);
  }
}

function textPart(text: JsonValue | undefined): JsonObject[] {
  return typeof text === 'string' && text !== '' ? [{ text }] : [];
}

/** The response to a call, with the result's images and documents `beside` it. Throws ProviderFault (rejected). */
function convertResult(
  call: Placed,
  { block, path }: Placed,
  { hasCallIds }: MessageOptions,
): { response: JsonObject; beside: JsonObject[] } {
  const name = shortenName(String(call.block['name']));
  const parts = readBlocks(block['content'], `${path}.content`).flatMap(convertBlock);
  const text = parts.map((part) => part['text'] ?? '(an attachment, which follows)').join('\n');
  const given = hasCallIds ? readCallId(textOf(call.block['id'])) : null;
  const response = block['is_error'] === true ? { error: text } : { output: text };
  return {
    response: { functionResponse: { ...(given !== null && { id: given }), name, response } },
    beside: parts.flatMap((part) =>
      part['text'] === undefined ? [{ text: `Attached to the result of ${name}:` }, part] : [],
    ),
  };
}

export interface MessageOptions {
  /** The model refuses its own call without a signature. */
  needsSignatures: boolean;
  /** Calls and results have ids. */
  hasCallIds: boolean;
}

/** `contents`. Throws ProviderFault (rejected) for unsupported blocks, and for calls and results that do not match. */
export function convertMessages(messages: JsonValue | undefined, options: MessageOptions): JsonObject[] {
  const contents: JsonObject[] = [];
  const turns = joinTurns(messages, (blocks) => blocks.map(remind));
  checkCalls(turns, { pathOfUnanswered: ({ path }) => path.replace(/\.content.*$/, ''), mayRepeatResults: false });
  for (const [index, { role, blocks }] of turns.entries()) {
    if (role === 'assistant') addTurn(contents, 'model', 'parts', convertModelTurn(blocks, options));
    else addTurn(contents, 'user', 'parts', convertUserTurn(blocks, turns[index - 1]?.blocks ?? [], options));
  }
  return contents;
}

export function convertSystem(system: JsonValue | undefined): JsonObject {
  const said = readBlocks(system, 'system').filter(({ block }) => !isBillingLine(block));
  const parts = said.flatMap(convertBlock);
  return parts.length === 0 ? {} : { systemInstruction: { parts } };
}

/** Responses in the order of their calls, all together, as Gemini expects them. */
function convertUserTurn(blocks: readonly Placed[], before: readonly Placed[], options: MessageOptions): JsonObject[] {
  const { results, said } = partResults(blocks);
  // By the id of the call; the first one counts.
  const resultOf = new Map(results.toReversed().map((placed) => [placed.block['tool_use_id'], placed]));
  const answered = before.flatMap((call) => {
    const result = call.block['type'] === 'tool_use' ? resultOf.get(call.block['id']) : undefined;
    return result === undefined ? [] : [convertResult(call, result, options)];
  });
  return [
    ...answered.map(({ response }) => response),
    ...answered.flatMap(({ beside }) => beside),
    ...said.flatMap(convertBlock),
  ];
}

function convertModelTurn(blocks: readonly Placed[], { needsSignatures, hasCallIds }: MessageOptions): JsonObject[] {
  const parts: JsonObject[] = [];
  let forCall: string | null = null;
  let isFirstCall = true;
  for (const { block, path } of blocks) {
    if (block['type'] === 'text') parts.push(...textPart(block['text']));
    else if (block['type'] === 'thinking') forCall = placeThought(parts, block) ?? forCall;
    else if (block['type'] === 'tool_use') {
      const signature: string | null = forCall ?? (needsSignatures && isFirstCall ? NO_THOUGHT_SIGNATURE : null);
      parts.push({
        ...convertCall(block, path, hasCallIds),
        ...(signature !== null && { thoughtSignature: signature }),
      });
      forCall = null;
      isFirstCall = false;
    } else if (block['type'] !== 'redacted_thinking') refuseType('block', block['type'], path);
  }
  return parts;
}

/** Puts a signature back on its part; returns the one for the following call. */
function placeThought(parts: JsonObject[], block: JsonObject): string | null {
  const placed = readSignature(block['signature']);
  if (placed === null) return null; // another provider's, which is meaningless here
  const { place, signature: thoughtSignature } = placed;
  const last = parts.at(-1);
  if (place === 'call') return thoughtSignature;
  if (place === 'thought') parts.push({ text: block['thinking'] ?? '', thought: true, thoughtSignature });
  else if (place === 'text' && typeof last?.['text'] === 'string' && last['thoughtSignature'] === undefined)
    last['thoughtSignature'] = thoughtSignature;
  else parts.push({ text: '', thoughtSignature });
  return null;
}

function convertCall(block: JsonObject, path: string, hasCallIds: boolean): JsonObject {
  const { id, name, input } = block;
  if (typeof name !== 'string') refuseField(`${path}.name`, 'Field required');
  const given = hasCallIds ? readCallId(textOf(id)) : null;
  return { functionCall: { ...(given !== null && { id: given }), name: shortenName(name), args: objectOf(input) } };
}
