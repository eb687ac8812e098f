// Transcription and translation of sound in OpenAI's format: a form with a file.

import { parseFraction } from '../../base/checked-number.ts';
import { bounds } from '../../config/config.ts';
import {
  type JsonObject,
  type MeasuredFile,
  type MeasuredForm,
  type Unbounded,
  type Units,
  unitsOf,
  wrongField,
} from '../../wire/wire.ts';
import { fingerprint, plainName, readFlag } from '../form-fields.ts';
import type { FormKind } from '../front.ts';
import { frontOfUse } from '../other-use.ts';

/** The answer is text, and not JSON. */
const TEXT_FORMATS: Readonly<Record<string, string>> = {
  text: 'text/plain; charset=utf-8',
  srt: 'text/plain; charset=utf-8',
  vtt: 'text/vtt; charset=utf-8',
};
const FORMATS: readonly string[] = ['json', 'verbose_json', 'diarized_json', ...Object.keys(TEXT_FORMATS)];

/** Checks of fields that are sent on as they came; the provider judges the others. */
const CHECKS: Readonly<Record<string, (value: string) => string | null>> = {
  response_format: (value) => (FORMATS.includes(value) ? null : `Input should be one of ${FORMATS.join(', ')}`),
  stream: (value) => (readFlag(value) === null ? 'Input should be true or false' : null),
  temperature: (value) => ((parseFraction(value) ?? 2) <= 1 ? null : 'Input should be a number from 0 to 1'),
};
const SENT: readonly string[] = [
  ...['chunking_strategy', 'include', 'keywords', 'known_speaker_names', 'known_speaker_references', 'language'],
  ...['languages', 'prompt', 'response_format', 'stream', 'temperature', 'timestamp_granularities'],
];
/** The fields that are read, and first parts of the path of an error. */
export const FIELDS: ReadonlySet<string> = new Set(['body', 'file', 'model', ...SENT]);

const kindOf = (name: string): FormKind => ({ name, filesMax: 1, of: 'sound' });

export const transcription = frontOfUse({
  protocol: 'transcription',
  forms: new Map([
    ['/v1/audio/transcriptions', kindOf('transcriptions')],
    ['/v1/audio/translations', kindOf('translations')],
  ]),
  fields: FIELDS,
  convertForm: convertRequest,
});

function convertRequest(form: MeasuredForm, { name: task }: FormKind) {
  const [file] = form.files.filter(({ field }) => field === 'file');
  if (file === undefined) throw wrongField('file', 'Field required');
  if (file.bytes === 0) throw wrongField('file', 'must not be empty');
  const stated = form.fields.filter(({ value }) => value !== ''); // an empty field says nothing
  const fields = new Map(stated.map(({ name, value }) => [plainName(name), value]));
  for (const [name, check] of Object.entries(CHECKS)) {
    const fault = fields.has(name) ? check(fields.get(name) ?? '') : null;
    if (fault !== null) throw wrongField(name, fault);
  }
  const format = fields.get('response_format') ?? 'json';
  const isStream = task === 'transcriptions' && readFlag(fields.get('stream') ?? '') === true;
  const model = fields.get('model');
  const seconds = secondsOf(file);
  const contentType = isStream ? undefined : TEXT_FORMATS[format];
  const message: JsonObject = {
    ...(model !== undefined && { model }),
    max_tokens: Math.ceil((seconds ?? bounds.soundSecondsMax) * TEXT_TOKENS_PER_SECOND) + TEXT_TOKENS_LEAST,
    messages: [{ role: 'user', content: fields.get('prompt') ?? '' }],
    transcription: { task, format, stream: isStream, form: fingerprint(form) },
  };
  return { message, ...unitsMost(seconds, fields), ...(contentType !== undefined && { contentType }) };
}

/** null: it cannot be told. */
function secondsOf({ seconds }: MeasuredFile): number | null {
  if (seconds === null) return null;
  if (seconds > bounds.soundSecondsMax)
    throw wrongField('file', `must not be longer than ${bounds.soundSecondsMax / 3_600} hours`);
  return Math.ceil(seconds);
}

/**
 * A minute of gpt-4o-transcribe costs 0.006 USD at 6 USD per million tokens of sound, which are 17 a second at most
 * (https://platform.openai.com/docs/pricing, 30 November 2026), and the bound is half as much again. The fastest speech has some ten tokens
 * of text a second, and the bound is twice as many.
 */
const SOUND_TOKENS_PER_SECOND = 25;
const TEXT_TOKENS_PER_SECOND = 20;
/** For the shortest sound, in formats with times and speakers. */
const TEXT_TOKENS_LEAST = 64;
/** A sample of a speaker's voice is at most as long, by https://developers.openai.com/api/reference/resources/audio (30 November 2026). */
const SAMPLES_SECONDS_MAX = 40;

const UNKNOWN_LENGTH =
  'file: the length of this sound cannot be told: send WAV, MP3, M4A, Ogg, WebM, or FLAC whose head states its length';

function unitsMost(
  seconds: number | null,
  fields: ReadonlyMap<string, string>,
): { units: Units; unbounded?: Unbounded } {
  if (seconds === null)
    return { units: unitsOf({}), unbounded: { seconds: UNKNOWN_LENGTH, input_audio_tokens: UNKNOWN_LENGTH } };
  const samples = fields.has('known_speaker_references') ? SAMPLES_SECONDS_MAX : 0;
  return { units: unitsOf({ seconds, input_audio_tokens: (seconds + samples) * SOUND_TOKENS_PER_SECOND }) };
}
