// Translates a text completion to a message of the user, and keeps the prompt for providers that complete texts themselves.

import {
  type JsonObject,
  type JsonValue,
  type NativeBody,
  requireText,
  scanJson,
  wrongField,
} from '../../wire/wire.ts';
import { type ChatTerms, readChat, TRANSLATED_FIELDS } from '../chat-completions/chat-completions.ts';
import type { Origins } from '../origins.ts';
import { refuseFields, withInner } from '../request-fields.ts';
import { CHAT_FIELDS, FIELDS, REFUSED_FIELDS } from './completion-fields.ts';

/** The facts that the response needs. Small, because a stream may last much longer than its request is kept. */
export interface CompletionTerms extends Pick<ChatTerms, 'usage' | 'tier'> {
  /** Stop sequences of white space, which some providers refuse: the answer is cut here. */
  blankStops: readonly string[];
  origins: Origins;
}

interface ConvertedRequest {
  message: JsonObject;
  native: NativeBody;
  terms: CompletionTerms;
}

/** Throws invalid_request; the message begins with the field's path. */
export function convertRequest(body: JsonObject): ConvertedRequest {
  refuseFields(body, REFUSED_FIELDS);
  if ((body['logprobs'] ?? false) !== false) throw wrongField('logprobs', 'log probabilities are not available');
  const suffix = readSuffix(body['suffix'] ?? null);
  const prompt = readPrompt(body['prompt'], suffix);
  const { message, terms } = readChat({ ...chatFields(body), messages: messagesOf(prompt, suffix) });
  const stop = message['stop_sequences'] ?? [];
  return {
    message,
    native: nativeBody({ prompt, ...(suffix !== '' && { suffix }) }),
    terms: {
      usage: terms.usage,
      tier: terms.tier,
      blankStops: readBlankStops(Array.isArray(stop) ? stop : []),
      origins: {
        ...terms.origins,
        messages: [{ path: 'prompt', blocks: ['prompt'] }],
        system: ['suffix'],
        fields: new Map([...terms.origins.fields, ['messages', 'prompt'], ['system', 'suffix']]),
      },
    },
  };
}

/** The kind of native bodies of this protocol. */
const KIND = 'completions';

function nativeBody(members: JsonObject): NativeBody {
  const text = JSON.stringify(members);
  return { kind: KIND, text, members: scanJson(text) };
}

/** The fields that have the same meaning in Chat Completions, and those of neither protocol, which a provider may get. */
function chatFields(body: JsonObject): JsonObject {
  const isRead = (name: string) => CHAT_FIELDS.includes(name) || !(FIELDS.has(name) || TRANSLATED_FIELDS.has(name));
  return Object.fromEntries(Object.entries(withInner(body)).filter(([name]) => isRead(name)));
}

/** A list of one text is that text. */
function readPrompt(given: JsonValue | undefined, suffix: string): string {
  const [prompt, ...others] = Array.isArray(given) ? given : [given];
  if (Array.isArray(given) && typeof prompt !== 'string')
    throw wrongField('prompt', 'lists of tokens are not supported; send the text');
  if (others.length > 0)
    throw wrongField('prompt', 'a request has one prompt; send the request several times for more');
  const text = requireText(prompt, 'prompt');
  if (!SAYS.test(text + suffix)) throw wrongField('prompt', 'Input should have other characters than white space');
  return text;
}

const SAYS = /\S/;

function readSuffix(given: JsonValue): string {
  return given === null ? '' : requireText(given, 'suffix');
}

const FILL_IN =
  'You complete a text at a given place. Answer with exactly the text that belongs between <before> and <after>, and ' +
  'nothing else: no explanation, no code fence, and nothing of what stands before or after it.';

function messagesOf(prompt: string, suffix: string): JsonObject[] {
  if (suffix === '') return [{ role: 'user', content: prompt }];
  return [
    { role: 'system', content: FILL_IN },
    { role: 'user', content: `<before>${prompt}</before>\n<after>${suffix}</after>` },
  ];
}

const BLANK_STOPS_MAX = 16;
const BLANK_STOP_CHARACTERS_MAX = 64;

/** Bounded, because they are searched for in each piece of the answer. */
function readBlankStops(stops: readonly JsonValue[]): string[] {
  const blank = stops.filter((stop) => typeof stop === 'string').filter((stop) => !SAYS.test(stop));
  if (blank.length > BLANK_STOPS_MAX)
    throw wrongField('stop', `List should have at most ${BLANK_STOPS_MAX} items of white space`);
  if (blank.some(({ length }) => length > BLANK_STOP_CHARACTERS_MAX))
    throw wrongField('stop', `White space should have at most ${BLANK_STOP_CHARACTERS_MAX} characters`);
  return blank;
}
