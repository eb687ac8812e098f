// Converts the conversation to Chat Completions messages. Tool results directly follow their calls.

import { dataUrl } from '../../protocols/data-url.ts';
import { asReminder, type Placed } from '../../protocols/placed.ts';
import { soundFormatOf } from '../../protocols/sound.ts';
import { openReasoning, SignedJson } from '../../protocols/thinking.ts';
import type { JsonObject, JsonValue } from '../../wire/wire.ts';
import {
  isJsonObject,
  isSpokenAnswer,
  isThinking,
  jsonObjects,
  objectOf,
  signatureForCall,
  signatureMember,
  textOf,
} from '../../wire/wire.ts';
import { shortenToolName } from '../client-tools.ts';
import {
  checkCalls,
  isBillingLine,
  joinTurns,
  NO_PREFILL,
  partResults,
  placeBlocks,
  type Turn,
} from '../conversation.ts';
import { passAddress, refuseField } from '../lost-fields.ts';
import { type Profile, sentCallId } from './profile.ts';

const PDF_NAME = 'document.pdf';

/** The parts of one block of a user message or tool result. Throws ProviderFault (rejected). */
function convertBlock({ block, path }: Placed, profile: Profile): JsonObject[] {
  switch (block['type']) {
    case 'text':
      return textPart(textOf(block['text']), block, profile);
    case 'image':
      return [{ type: 'image_url', image_url: { url: imageUrl(block['source'], path, profile) } }];
    case 'document':
      return convertDocument({ block, path }, profile);
    case 'audio':
      return [soundPart(block['source'], path)];
    case 'search_result': {
      const head = `Search result: ${textOf(block['title'])}\nSource: ${textOf(block['source'])}`;
      const texts = jsonObjects(block['content']).map(({ text }) => textOf(text));
      return textPart([head, ...texts].join('\n\n'), block, profile);
    }
    case 'tool_reference':
      return textPart(`[The tool ${textOf(block['tool_name'])} is available.]`, block, profile);
    case 'browser_state':
      return textPart(JSON.stringify(block), block, profile);
    default:
      return refuseField(`${path}.type`, `the provider of this model does not accept content of type ${nameOf(block)}`);
  }
}

function collapseParts(parts: JsonObject[]): JsonValue {
  const isPlain = parts.every((part) => part['type'] === 'text' && part['cache_control'] === undefined);
  return isPlain ? joinTexts(parts) : parts;
}

function joinTexts(parts: readonly JsonObject[]): string {
  return parts.map(({ text }) => textOf(text)).join('\n\n');
}

/** A text part, with its cache breakpoint if the profile forwards those; empty for an empty text. */
function textPart(text: string, holder: JsonObject, profile: Profile): JsonObject[] {
  if (text === '') return [];
  const isBreakpoint = profile.cacheControl && isJsonObject(holder['cache_control']);
  // Without its lifetime: one-hour writes are billed at another rate, which the usage would not show.
  return [{ type: 'text', text, ...(isBreakpoint && { cache_control: { type: 'ephemeral' } }) }];
}

const TYPE_CHARACTERS_MAX = 64;

export function nameOf({ type }: JsonObject): string {
  return JSON.stringify(String(type).slice(0, TYPE_CHARACTERS_MAX));
}

function imageUrl(source: JsonValue | undefined, path: string, profile: Profile): string {
  const { type, media_type: mediaType, data, url } = objectOf(source);
  if (type === 'base64') return dataUrl(textOf(mediaType), textOf(data));
  if (type !== 'url') refuseField(`${path}.source`, 'the provider of this model accepts images as base64 or URLs');
  if (profile.imageUrls) return passAddress(url, `${path}.source.url`);
  const sentence = 'the provider of this model does not fetch URLs; send the image as base64';
  return refuseField(`${path}.source.url`, sentence);
}

function soundPart(source: JsonValue | undefined, path: string): JsonObject {
  const { type, media_type: mediaType, data } = objectOf(source);
  const format = type === 'base64' ? soundFormatOf(textOf(mediaType)) : null;
  if (format === null)
    refuseField(`${path}.source`, 'the provider of this model accepts sound as WAV or MP3 in base64');
  return { type: 'input_audio', input_audio: { data: textOf(data), format } };
}

function convertDocument({ block, path }: Placed, profile: Profile): JsonObject[] {
  const source = objectOf(block['source']);
  switch (source['type']) {
    case 'text':
      return textPart(documentHead(block) + textOf(source['data']), block, profile);
    case 'content': {
      const head = textPart(documentHead(block), {}, profile);
      if (typeof source['content'] === 'string') return [...head, ...textPart(source['content'], block, profile)];
      const inner = placeBlocks(source['content'], `${path}.source.content`);
      return [...head, ...inner.flatMap((placed) => convertBlock(placed, profile))];
    }
    case 'base64':
      if (profile.documents !== null && source['media_type'] === 'application/pdf')
        return fileParts(block, dataUrl('application/pdf', textOf(source['data'])), profile);
      return refuseField(`${path}.source`, 'the provider of this model does not accept PDFs; send the text');
    case 'url':
      if (profile.documents?.urls === true)
        return fileParts(block, passAddress(source['url'], `${path}.source.url`), profile);
      return refuseField(`${path}.source.url`, 'the provider of this model does not fetch documents from URLs');
    default:
      return refuseField(`${path}.source`, 'the provider of this model accepts documents as text or PDF');
  }
}

/** A file part has only a title: other facts precede it as text. */
function fileParts(block: JsonObject, url: string, profile: Profile): JsonObject[] {
  const title = textOf(block['title']);
  const context = textPart(documentHead({ context: block['context'] ?? '' }).trimEnd(), {}, profile);
  const part: JsonObject =
    profile.documents?.form === 'document_url'
      ? { type: 'document_url', document_url: url, ...(title && { document_name: title }) }
      : { type: 'file', file: { filename: title || PDF_NAME, file_data: url } };
  return [...context, part];
}

function documentHead({ title, context }: JsonObject): string {
  const lines = [title && `Document: ${textOf(title)}`, context && `Context: ${textOf(context)}`].filter(Boolean);
  return lines.length === 0 ? '' : `${lines.join('\n')}\n\n`;
}

/** The model's own reasoning in a thinking block. */
type OpenThought = (block: JsonObject) => JsonObject[];

/** All messages of a request, system first. `model` is its name at the provider. Throws ProviderFault (rejected). */
export function convertMessages(body: JsonObject, profile: Profile, model: string): JsonObject[] {
  const turns = joinTurns(body['messages'], profile.systemAnywhere ? null : remind);
  checkCalls(turns, { pathOfUnanswered: (_call, turn, next) => (next ?? turn).path, mayRepeatResults: true });
  const last = turns.at(-1);
  if (last?.role === 'assistant' && !profile.prefill) refuseField(last.path, NO_PREFILL);
  const isWithTools = jsonObjects(body['tools']).length > 0;
  const signed = new SignedJson();
  const open: OpenThought = ({ signature }) => openReasoning(signature, model, signed);
  return [
    ...systemMessage(body['system'], profile),
    ...turns.flatMap((turn) => {
      if (turn.role === 'user') return convertUser(turn, profile);
      if (turn.role === 'assistant') return convertAssistant(turn, profile, open, isWithTools);
      const blocks = turn.blocks.map(({ block }) => block);
      return systemMessage(blocks, profile);
    }),
  ];
}

function systemMessage(content: JsonValue | undefined, profile: Profile): JsonObject[] {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : jsonObjects(content);
  const parts = blocks
    .filter((block) => !isBillingLine(block))
    .flatMap((block) => textPart(textOf(block['text']), block, profile));
  return parts.length === 0 ? [] : [{ role: profile.systemRole, content: collapseParts(parts) }];
}

/** Mid-conversation system text for a model that reads it only at the start. */
function remind(blocks: readonly Placed[]): Placed[] {
  const text = joinTexts(blocks.map(({ block }) => block).filter((block) => textOf(block['text']) !== ''));
  return text === '' ? [] : [{ block: { type: 'text', text: asReminder(text) }, path: blocks[0]?.path ?? '' }];
}

function convertUser({ blocks }: Turn, profile: Profile): JsonObject[] {
  const parted = partResults(blocks);
  const results = parted.results.map((placed) => convertResult(placed, profile));
  const said = parted.said.flatMap((placed) => convertBlock(placed, profile));
  const rest = [...results.flatMap(({ beside }) => beside), ...said];
  const messages = results.map(({ message }) => message);
  const last = messages.at(-1);
  if (rest.length === 0 && last !== undefined) return messages;
  if (last === undefined || profile.userAfterTools)
    return [...messages, { role: 'user', content: collapseParts(rest) }];
  const before = textOf(last['content']);
  last['content'] = collapseParts([...(before === '' ? [] : [{ type: 'text', text: before }]), ...rest]);
  return messages;
}

/** Tool messages contain only text: other content of the result follows directly, `beside` it. */
function convertResult({ block, path }: Placed, profile: Profile): { message: JsonObject; beside: JsonObject[] } {
  const id = sentCallId(textOf(block['tool_use_id']), profile);
  const inner = placeBlocks(block['content'], `${path}.content`);
  const parts = inner.flatMap((placed) => convertBlock(placed, profile));
  const others = parts.filter(({ type }) => type !== 'text');
  const texts = joinTexts(parts.filter(({ type }) => type === 'text'));
  const text = [texts, others.length > 0 && '[What it shows follows.]'].filter(Boolean).join('\n\n');
  const content = block['is_error'] === true ? `Error: ${text}` : text;
  const label: JsonObject[] = others.length > 0 ? [{ type: 'text', text: `Shown by the tool call ${id}:` }] : [];
  return { message: { role: 'tool', tool_call_id: id, content }, beside: [...label, ...others] };
}

/** A message has one spoken answer: each but the last one is a message of its own. */
function convertAssistant({ blocks }: Turn, profile: Profile, open: OpenThought, isWithTools: boolean): JsonObject[] {
  const texts: JsonObject[] = [];
  const calls: JsonObject[] = [];
  const thoughts: JsonObject[] = [];
  const spoken: JsonObject[] = [];
  let signature: string | null = null; // for the next call
  for (const { block, path } of blocks) {
    if (isSpokenAnswer(block)) spoken.push({ role: 'assistant', audio: { id: textOf(block['id']) } });
    if (block['type'] === 'text' || isSpokenAnswer(block))
      texts.push(...textPart(textOf(block['text']), block, profile));
    else if (block['type'] === 'tool_use') {
      calls.push({ ...convertCall(block, profile), ...(profile.callSignatures && signatureMember(signature)) });
      signature = null;
    } else if (isThinking(block)) {
      signature = signatureForCall(block) ?? signature;
      thoughts.push(block);
    } else refuseField(`${path}.type`, `the provider of this model does not accept content of type ${nameOf(block)}`);
  }
  const last = spoken.pop();
  const empty = calls.length > 0 ? profile.contentOfCalls : last === undefined ? '' : null;
  const message = {
    role: 'assistant',
    content: texts.length > 0 ? collapseParts(texts) : empty,
    ...last,
    ...convertThinking(thoughts, profile, open, isWithTools && calls.length > 0, isWithTools),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  return [...spoken, message];
}

function convertCall(block: JsonObject, profile: Profile): JsonObject {
  const call = { name: shortenToolName(textOf(block['name'])), arguments: JSON.stringify(block['input'] ?? {}) };
  return { id: sentCallId(textOf(block['id']), profile), type: 'function', function: call };
}

/** In a tool loop some models need their thinking back; `isNeeded` even if it is empty. */
function convertThinking(
  thoughts: readonly JsonObject[],
  { thinkingBack, thinkingMember }: Profile,
  open: OpenThought,
  isNeeded: boolean,
  isWithTools: boolean,
): JsonObject {
  if (thinkingBack === 'details') {
    const details = thoughts.flatMap(open);
    return details.length === 0 ? {} : { reasoning_details: details };
  }
  if (thinkingBack === null || !isWithTools) return {};
  const text = thoughts.map(({ thinking }) => textOf(thinking)).join('');
  return text !== '' || (isNeeded && thinkingBack === 'text') ? { [thinkingMember]: text } : {};
}
