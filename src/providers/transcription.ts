// Transcription over OpenAI's POST /audio/transcriptions and /audio/translations: the provider's text, JSON or events are relayed as they came.

import { parseFraction } from '../base/checked-number.ts';
import { bounds } from '../config/config.ts';
import { countOf } from '../protocols/token-counts.ts';
import {
  type FormField,
  type JsonObject,
  type JsonValue,
  jsonObjects,
  objectOf,
  pauseAfter,
  textOf,
  type Units,
  unitsOf,
} from '../wire/wire.ts';
import { formBody } from './form-body.ts';
import { type Api, postForm } from './http-api.ts';
import { otherReply, usageOf } from './other-reply.ts';
import { parseObject, readText, readUpstreamRequestId } from './parse-json.ts';
import { type Attempt, type ByteReply, type OtherReply, ProviderFault } from './provider.ts';
import { begin, EVENT_STREAM, encodeOwn, isEventStream, type OwnEvent, readOwnEvents } from './relay-events.ts';

export interface TranscriptionRequest {
  /** The last part of the path. */
  task: string;
  /** The format that the client asked for. */
  format: string;
  isStream: boolean;
}

export function readTranscriptionRequest({ request }: Pick<Attempt, 'request'>): TranscriptionRequest {
  const { task, format, stream } = objectOf(request.body['transcription']);
  return { task: textOf(task), format: textOf(format), isStream: stream === true };
}

/** `urlOf` gives the address of a path. Throws ProviderFault. */
export async function requestTranscription(
  api: Api,
  attempt: Attempt,
  urlOf: (path: string) => string,
): Promise<OtherReply> {
  const { task, format, isStream } = readTranscriptionRequest(attempt);
  const { fields = [], files = [] } = attempt.request.form ?? {};
  const body = formBody(sentFields(fields, attempt), files);
  const response = await postForm(api, attempt, urlOf(`/audio/${task}`), body, isStream ? EVENT_STREAM : '*/*');
  const upstreamRequestId = readUpstreamRequestId(response.headers);
  if (isStream && isEventStream(response)) return await relayEvents(response, attempt, upstreamRequestId);
  const { text } = await readText(response, attempt.signal, bounds.upstreamBodyBytesMax);
  await pauseAfter(text);
  if (CAPTIONS.includes(format)) return captionsReply(attempt, text, upstreamRequestId);
  return transcriptionReply(
    attempt,
    parseObject(text, { what: 'a response', upstreamRequestId }),
    text,
    upstreamRequestId,
  );
}

const SENT =
  /^(?:chunking_strategy|include|keywords|known_speaker_(?:names|references)|languages?|prompt|response_format|stream|temperature|timestamp_granularities)(?:\[|$)/;

/** Only JSON says what it costs, and it has the text. */
function sentFields(fields: readonly FormField[], { upstreamModel, extra = {} }: Attempt): FormField[] {
  const sent = fields
    .filter(({ name, value }) => SENT.test(name) && value !== '')
    .map((field) => (field.name === 'response_format' && field.value === 'text' ? { ...field, value: 'json' } : field));
  const named = Object.entries(extra).map(([name, value]) => ({ name, value: textOf(value) }));
  return [{ name: 'model', value: upstreamModel }, ...sent, ...named];
}

/** Formats with times, which are no JSON. */
const CAPTIONS: readonly string[] = ['srt', 'vtt'];

/** The reply of captions. Throws ProviderFault. */
export function captionsReply(attempt: Attempt, text: string, upstreamRequestId: string | null): OtherReply {
  if (/^\s*[{<]/.test(text))
    // JSON, or a page
    throw new ProviderFault('failed', 'the provider did not send captions', { upstreamRequestId });
  const used = new TranscriptionUsed(attempt);
  used.take({ text: text.replaceAll(CAPTION_TIMES, ''), duration: lastTime(text) });
  return used.reply(text, upstreamRequestId);
}

/** The reply of an answer in OpenAI's form. Throws ProviderFault. */
export function transcriptionReply(
  attempt: Attempt,
  value: JsonObject,
  text: string,
  upstreamRequestId: string | null,
): OtherReply {
  const { format, isStream } = readTranscriptionRequest(attempt);
  const { text: said } = value;
  if (typeof said !== 'string')
    throw new ProviderFault('failed', 'the provider did not send a transcript', { upstreamRequestId });
  const used = new TranscriptionUsed(attempt);
  used.take(value);
  if (!isStream) return used.reply(format === 'text' ? `${said}\n` : text, upstreamRequestId);
  const { text: _, ...rest } = value;
  const events = [
    { type: DELTA, delta: said },
    { type: DONE, text: said, ...rest },
  ];
  return bytesReply(
    events.map((event) => encodeOwn('message', JSON.stringify(event))),
    used,
    upstreamRequestId,
  );
}

const DELTA = 'transcript.text.delta';
const DONE = 'transcript.text.done';

async function relayEvents(response: Response, attempt: Attempt, upstreamRequestId: string | null): Promise<ByteReply> {
  const used = new TranscriptionUsed(attempt);
  const events = await begin(readOwnEvents(response, attempt.signal, ({ type }) => type === DONE));
  return { form: 'bytes', contentType: EVENT_STREAM, chunks: relay(events, used), used: () => used, upstreamRequestId };
}

async function* relay(
  events: AsyncGenerator<OwnEvent, void>,
  used: TranscriptionUsed,
): AsyncGenerator<Uint8Array, void> {
  for await (const { value, bytes } of events) {
    if (value['type'] === DONE) used.take(value);
    else used.addText(textOf(value['delta']));
    yield bytes;
  }
}

function bytesReply(chunks: Uint8Array[], used: TranscriptionUsed, upstreamRequestId: string | null): ByteReply {
  const left = chunks.values();
  return {
    form: 'bytes',
    contentType: EVENT_STREAM,
    chunks: { next: async () => left.next() },
    used: () => used,
    upstreamRequestId,
  };
}

const BYTES_PER_TOKEN = 4; // of text, as for prompts

/** Reports of an answer so far. */
class TranscriptionUsed {
  readonly #attempt: Attempt;
  #text = '';
  #seconds = 0;
  #tokens: { text: number; sound: number; output: number } | null = null;

  constructor(attempt: Attempt) {
    this.#attempt = attempt;
  }

  addText(text: string): void {
    this.#text += text;
  }

  /** A whole answer. */
  take(value: JsonObject): void {
    this.#text = textOf(value['text']);
    const usage = objectOf(value['usage']);
    this.#seconds = Math.max(secondsOf(usage['seconds']), secondsOf(value['duration']), lastEnd(value['segments']));
    const [input, output] = [countOf(usage['input_tokens']), countOf(usage['output_tokens'])];
    if (input === null || output === null) return;
    const details = objectOf(usage['input_token_details']);
    const [text, sound] = [countOf(details['text_tokens']), countOf(details['audio_tokens'])];
    const inSound = sound ?? Math.max(0, input - (text ?? 0));
    this.#tokens = { text: text ?? Math.max(0, input - inSound), sound: inSound, output };
  }

  /** Whether the bill needs tokens that were not reported. */
  get #lacksTokens(): boolean {
    return this.#tokens === null && this.#attempt.request.units?.counts.input_audio_tokens !== undefined;
  }

  get usage(): JsonObject {
    if (this.#tokens !== null) return usageOf(this.#tokens.text, this.#tokens.output);
    return this.#lacksTokens ? usageOf(null, Math.ceil(Buffer.byteLength(this.#text) / BYTES_PER_TOKEN)) : usageOf(0);
  }

  /** No fewer seconds than were measured; without a report, the held tokens are billed. */
  get units(): Units {
    const { seconds = 0, input_audio_tokens: held = 0 } = this.#attempt.request.units?.counts ?? {};
    return unitsOf({
      seconds: Math.max(seconds, Math.min(Math.ceil(this.#seconds), bounds.soundSecondsMax)),
      input_audio_tokens: this.#tokens?.sound ?? held,
    });
  }

  reply(text: string, upstreamRequestId: string | null): OtherReply {
    return otherReply(this.#attempt, text, this.usage, upstreamRequestId, this.units);
  }
}

/** 0: not a length. Some servers write it as a text. */
function secondsOf(value: JsonValue | undefined): number {
  return parseFraction(typeof value === 'string' ? value : JSON.stringify(value ?? 0)) ?? 0;
}

function lastEnd(segments: JsonValue | undefined): number {
  return jsonObjects(segments).reduce((last, { end }) => Math.max(last, secondsOf(end)), 0);
}

const CAPTION_TIMES = /^.*-->.*$/gm;
const TIMES = /-->\s*(?:(\d{1,5}):)?(\d\d):(\d\d)[.,](\d{1,3})/g;

/** Seconds at the end of the last caption (https://www.w3.org/TR/webvtt1/). */
function lastTime(text: string): string {
  let last = 0;
  for (const [, hours = '0', minutes = '0', seconds = '0', rest = '0'] of text.matchAll(TIMES)) {
    const whole = secondsOf(hours) * 3_600 + secondsOf(minutes) * 60 + secondsOf(seconds);
    last = Math.max(last, whole + secondsOf(`0.${rest}`));
  }
  return last.toFixed(3);
}
