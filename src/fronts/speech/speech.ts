// Speech from text in OpenAI's format.

import { bounds } from '../../config/config.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  requireText,
  type Units,
  unitsOf,
  wrongField,
} from '../../wire/wire.ts';
import { frontOfUse } from '../other-use.ts';

/** The fields that are read, and first parts of the path of an error. */
export const FIELDS: ReadonlySet<string> = new Set([
  'body',
  'input',
  'instructions',
  'model',
  'response_format',
  'speed',
  'stream_format',
  'voice',
]);

export const speech = frontOfUse({
  protocol: 'speech',
  paths: ['/v1/audio/speech'],
  fields: FIELDS,
  convert: convertRequest,
});

const [SPEED_LEAST, SPEED_MOST] = [0.25, 4];
const STREAM_FORMATS: readonly JsonValue[] = ['audio', 'sse'];

function convertRequest(body: JsonObject): { message: JsonObject; units: Units } {
  const { model = null, voice = null, speed = null, stream_format: streamFormat = null } = body;
  const input = requireText(body['input'], 'input');
  if (input === '') throw wrongField('input', 'String should have at least 1 character');
  if (input.length > bounds.speechCharactersMax)
    throw wrongField('input', `String should have at most ${bounds.speechCharactersMax} characters`);
  if (voice !== null && !isJsonObject(voice)) requireText(voice, 'voice');
  if (speed !== null && !(typeof speed === 'number' && speed >= SPEED_LEAST && speed <= SPEED_MOST))
    throw wrongField('speed', `Input should be a number from ${SPEED_LEAST} to ${SPEED_MOST}`);
  if (streamFormat !== null && !STREAM_FORMATS.includes(streamFormat))
    throw wrongField('stream_format', "Input should be 'audio' or 'sse'");
  const instructions = optionalText(body, 'instructions');
  const spoken = { voice, speed, stream_format: streamFormat, response_format: optionalText(body, 'response_format') };
  const texts = instructions === null ? [input] : [input, instructions];
  const stated = Object.entries({ ...spoken, instructions }).filter(([, value]) => value !== null);
  return {
    message: {
      ...(model !== null && { model }),
      max_tokens: 0,
      messages: [{ role: 'user', content: texts.map((text) => ({ type: 'text', text })) }],
      speech: Object.fromEntries(stated),
    },
    units: unitsMost(input, speed ?? 1),
  };
}

function optionalText(body: JsonObject, name: string): string | null {
  const value = body[name] ?? null;
  return value === null ? null : requireText(value, name);
}

/**
 * A minute of gpt-4o-mini-tts costs 0.015 USD at 12 USD per million tokens, which are 21 a second
 * (https://platform.openai.com/docs/pricing, 30 November 2026). Speech has two characters a second at least, a Chinese one or a digit
 * being a word of its own, and a short text may begin and end with silence.
 */
const TOKENS_PER_CHARACTER = 10.5;
const SILENCE_TOKENS = 210;

/** Characters are code points of the input, as OpenAI bills them (the same page). */
function unitsMost(input: string, speed: number): Units {
  let characters = 0;
  for (const _ of input) characters++;
  const tokens = Math.ceil((characters * TOKENS_PER_CHARACTER) / Math.min(1, speed)) + SILENCE_TOKENS;
  return unitsOf({ characters, output_audio_tokens: tokens });
}
