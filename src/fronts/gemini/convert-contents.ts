// Translates contents to a conversation: text, media, calls and their results, and thinking carried in signatures.

import { dataUrl } from '../../protocols/data-url.ts';
import { isExactObject, type Placed, requireObject, textBlock } from '../../protocols/placed.ts';
import { soundBlock } from '../../protocols/sound.ts';
import {
  isOfGoogle,
  type JsonObject,
  type JsonValue,
  requireList,
  requireText,
  textOf,
  wrongField,
} from '../../wire/wire.ts';
import { CallIds } from '../call-ids.ts';
import { type Conversation, ConversationBuilder } from '../conversation-builder.ts';
import { convertDocument, convertImage, storedFile } from '../convert-media.ts';
import { type Carried, decodeThinking } from './carried-thinking.ts';
import { OpenCalls } from './open-calls.ts';

/** `messages` of the conversation, from canonical contents. Throws invalid_request, feature_unavailable. */
export function convertContents(value: JsonValue | undefined): Conversation {
  const conversation = new ConversationBuilder();
  const ids = new CallIds();
  let calls = new OpenCalls();
  for (const { role, path, parts } of joinTurns(value)) {
    if (role === 'user') {
      addUserTurn(conversation, { path, parts }, calls);
      continue;
    }
    const turn = convertModelTurn(parts, ids);
    if (turn.blocks.length > 0) calls = turn.calls;
    conversation.addAssistant(turn.blocks, path);
  }
  const converted = conversation.finish();
  if (converted.messages.length === 0) throw wrongField('contents', 'at least one content is required');
  return converted;
}

/** The system prompt. Throws invalid_request. */
export function convertSystem(value: JsonValue | undefined): Placed[] {
  if (value === undefined) return [];
  const path = 'systemInstruction';
  if (typeof value === 'string') return textBlock(value, path);
  return placeParts(requireObject(value, path), path).flatMap(({ part, path: place }) => {
    if (part['text'] === undefined) throw wrongField(place, 'Input should be text');
    return textBlock(requireText(part['text'], `${place}.text`), place);
  });
}

interface PlacedPart {
  part: JsonObject;
  path: string;
}

interface Turn {
  role: 'user' | 'model';
  /** Path of its first content. */
  path: string;
  parts: PlacedPart[];
}

/** Contents of one role follow each other where a client sends calls and results one by one. */
function joinTurns(value: JsonValue | undefined): Turn[] {
  const turns: Turn[] = [];
  for (const [index, given] of requireList(value, 'contents').entries()) {
    const path = `contents.${index}`;
    const content = requireObject(given, path);
    const role = readRole(content['role'], path);
    const parts = placeParts(content, path);
    const last = turns.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else turns.push({ role, path, parts });
  }
  return turns;
}

/** `function` is an older role of results; without a role, the content is the user's. */
function readRole(role: JsonValue | undefined, path: string): Turn['role'] {
  if (role === 'model') return role;
  if (role === undefined || role === '' || role === 'user' || role === 'function') return 'user';
  throw wrongField(`${path}.role`, "Input should be 'user' or 'model'");
}

const KINDS = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse'];

/** Each part has one kind of content: what is checked here is all that a provider of this protocol reads. */
function placeParts(content: JsonObject, path: string): PlacedPart[] {
  return requireList(content['parts'] ?? [], `${path}.parts`).map((given, place) => {
    const partPath = `${path}.parts.${place}`;
    const part = requireObject(given, partPath);
    const kinds = KINDS.filter((kind) => part[kind] !== undefined);
    if (kinds.length > 1) throw wrongField(partPath, `has both \`${kinds.join('` and `')}\``);
    if (part['thought'] === true && kinds.some((kind) => kind !== 'text'))
      throw wrongField(partPath, 'a thought can only be text');
    return { part, path: partPath };
  });
}

/** Clients return a streamed text in the pieces that they received. As one block, it is what the provider has in its cache. */
function convertModelTurn(parts: readonly PlacedPart[], ids: CallIds): { blocks: Placed[]; calls: OpenCalls } {
  const blocks: Placed[] = [];
  const calls = new OpenCalls();
  let since = 0; // the blocks after the last call or signed text
  let text = '';
  let textPath = '';
  const endText = () => {
    blocks.push(...textBlock(text, textPath));
    text = '';
  };
  for (const { part, path } of parts) {
    // Thoughts come back with the signature of a later part: alone they are unsigned, and providers would refuse them.
    if (part['thought'] === true) continue;
    const call = part['functionCall'];
    if (call === undefined) {
      if (text === '') textPath = path;
      text += readModelText(part, path);
    }
    const carried = decodeThinking(part['thoughtSignature']);
    if (call === undefined && carried === null) continue;
    endText();
    if (call !== undefined) {
      placeThinking(blocks, since, carried ?? [], path);
      blocks.push(convertCall(requireObject(call, `${path}.functionCall`), `${path}.functionCall`, ids, calls));
    } else if (blocks.length > since) {
      // Before the text, because providers refuse turns that end with thinking.
      const thinking = (carried ?? []).flatMap((block) => (block === 'text' ? [] : { block, path }));
      blocks.splice(since, 0, ...thinking);
    }
    since = blocks.length;
  }
  endText();
  return { blocks, calls };
}

function readModelText(part: JsonObject, path: string): string {
  for (const name of ['inlineData', 'fileData', 'functionResponse'])
    if (part[name] !== undefined) throw wrongField(`${path}.${name}`, 'is not supported in the content of a model');
  return part['text'] === undefined ? '' : requireText(part['text'], `${path}.text`);
}

/** Puts carried thinking back where it was, before or after the text since the last call. */
function placeThinking(blocks: Placed[], since: number, carried: Carried, path: string): void {
  if (carried.length === 0) return;
  let texts = blocks.splice(since);
  for (const one of carried) {
    if (one !== 'text') blocks.push({ block: one, path });
    else {
      blocks.push(...texts);
      texts = [];
    }
  }
  blocks.push(...texts);
}

function convertCall(call: JsonObject, path: string, ids: CallIds, calls: OpenCalls): Placed {
  const name = requireText(call['name'], `${path}.name`);
  const given = textOf(call['id']);
  const id = ids.ofCall(given || `call${path.replaceAll(/\D+/g, '_')}`.slice(0, -1));
  const input = call['args'] === undefined ? {} : requireObject(call['args'], `${path}.args`);
  calls.add(given, name, id);
  return { block: { type: 'tool_use', id, name, input }, path };
}

function addUserTurn(conversation: ConversationBuilder, { path, parts }: Omit<Turn, 'role'>, calls: OpenCalls): void {
  conversation.addUser([], path);
  for (const { part, path: place } of parts) {
    if (part['functionCall'] !== undefined)
      throw wrongField(`${place}.functionCall`, 'is supported only in the content of a model');
    if (part['functionResponse'] === undefined) {
      conversation.addUser(convertUserPart(part, place), path);
      continue;
    }
    const resultPath = `${place}.functionResponse`;
    addResult(conversation, { result: requireObject(part['functionResponse'], resultPath), resultPath, path }, calls);
  }
}

function convertUserPart(part: JsonObject, path: string): Placed[] {
  const { text, inlineData, fileData } = part;
  if (inlineData !== undefined)
    return convertInline(requireObject(inlineData, `${path}.inlineData`), `${path}.inlineData`);
  if (fileData !== undefined) return convertLinked(requireObject(fileData, `${path}.fileData`), `${path}.fileData`);
  if (text === undefined) return []; // an empty part
  return textBlock(requireText(text, `${path}.text`), `${path}.text`);
}

const IMAGE = /^image\/[\w.+-]+$/;
const SOUND = /^audio\/[\w.+-]+$/;
const PDF = 'application/pdf';
const TEXT = /^text\/[\w.+-]+$|^application\/json$/;

function convertInline(blob: JsonObject, path: string): Placed[] {
  const type = readMediaType(blob, path);
  const place = `${path}.data`;
  const data = requireText(blob['data'], place);
  const base64 = plainBase64(data);
  if (IMAGE.test(type)) return [convertImage(dataUrl(type, base64), place)];
  if (SOUND.test(type)) return [{ block: soundBlock(type, base64), path: place }];
  if (type !== PDF && !TEXT.test(type))
    throw wrongField(`${path}.mimeType`, 'Input should be an image, sound, application/pdf or text');
  const url = dataUrl(type === PDF ? PDF : 'text/plain', base64);
  return [convertDocument(url, place, textOf(blob['displayName']))];
}

/** Google accepts both alphabets. A text that is not base64 is left to the provider. */
function plainBase64(data: string): string {
  if (!data.includes('-') && !data.includes('_')) return data;
  const bytes = Buffer.from(data, 'base64'); // of either alphabet; skips other characters
  const characters = data.endsWith('=') ? data.replace(/={1,2}$/, '').length : data.length;
  return bytes.length === Math.floor((characters * 3) / 4) ? bytes.toString('base64') : data;
}

/** Google's own URLs are read with the operator's rights: accounts could read each other's files. */
function convertLinked(file: JsonObject, path: string): Placed[] {
  const place = `${path}.fileUri`;
  const uri = requireText(file['fileUri'], place);
  const address = URL.parse(uri);
  if (address === null || address.protocol !== 'https:' || isOfGoogle(address.hostname)) throw storedFile(place);
  const type = readMediaType(file, path);
  if (IMAGE.test(type)) return [convertImage(address.href, place)];
  if (type === PDF) return [convertDocument(address.href, place, textOf(file['displayName']))];
  throw wrongField(`${path}.mimeType`, 'Input should be an image or application/pdf');
}

function readMediaType(holder: JsonObject, path: string): string {
  return requireText(holder['mimeType'], `${path}.mimeType`).toLowerCase().replace(/;.*$/s, '').trim();
}

/**
 * One client sends each result twice when it resumes a conversation: the second is left out. Its media are not, because
 * a provider of this protocol reads and bills them.
 */
function addResult(
  conversation: ConversationBuilder,
  { result, resultPath, path }: { result: JsonObject; resultPath: string; path: string },
  calls: OpenCalls,
): void {
  const { text, isError } = resultText(result['response'], `${resultPath}.response`);
  const media = placeParts(result, resultPath).flatMap(({ part, path: place }) => convertUserPart(part, place));
  const id = calls.answer(textOf(result['id']), textOf(result['name']), resultPath);
  if (id === null) {
    conversation.addUser(media, path);
    return;
  }
  const content = media.length === 0 ? text : [...textBlock(text, resultPath), ...media].map(({ block }) => block);
  const block = {
    type: 'tool_result',
    tool_use_id: id,
    ...(content.length > 0 && { content }),
    ...(isError && { is_error: true }),
  };
  conversation.addResult({ block, path: resultPath }, path);
}

const RESULT_NAMES = ['output', 'result', 'content'];

/** Clients wrap a text in an object, each with its own name; anything else is JSON. */
function resultText(value: JsonValue | undefined, path: string): { text: string; isError: boolean } {
  if (value === undefined) return { text: '', isError: false };
  if (!isExactObject(value)) throw wrongField(path, 'Input should be a valid dictionary');
  const { name, ...members } = value;
  const [only, ...others] = Object.entries(typeof name === 'string' && 'content' in members ? members : value);
  if (only === undefined || others.length > 0 || typeof only[1] !== 'string')
    return { text: JSON.stringify(value), isError: 'error' in value && !('output' in value) };
  if (only[0] === 'error') return { text: only[1], isError: true };
  return { text: RESULT_NAMES.includes(only[0]) ? only[1] : JSON.stringify(value), isError: false };
}
