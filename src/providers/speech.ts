// Speech over OpenAI's POST /audio/speech: sound or events, as the client asked for them.

import { countOf } from '../protocols/token-counts.ts';
import { type JsonObject, jsonObjects, objectOf, textOf, type Units, unitsOf } from '../wire/wire.ts';
import { type Api, post } from './http-api.ts';
import { usageOf } from './other-reply.ts';
import { readUpstreamRequestId } from './parse-json.ts';
import { type Attempt, type ByteReply, ProviderFault } from './provider.ts';
import {
  begin,
  EVENT_STREAM,
  encodeOwn,
  isEventStream,
  type OwnEvent,
  readBytes,
  readOwnEvents,
} from './relay-events.ts';
import { cancelBody } from './upstream.ts';

export interface SpeechRequest {
  input: string;
  /** The client asked for events. */
  isEvents: boolean;
  /** As the client sent them. */
  fields: JsonObject;
}

export function readSpeechRequest({ request }: Pick<Attempt, 'request'>): SpeechRequest {
  const [message] = jsonObjects(request.body['messages']);
  const fields = objectOf(request.body['speech']);
  return {
    input: textOf(jsonObjects(message?.['content'])[0]?.['text']),
    isEvents: fields['stream_format'] === 'sse',
    fields,
  };
}

/** Throws ProviderFault. */
export async function requestSpeech(api: Api, attempt: Attempt, url: string): Promise<ByteReply> {
  const response = await send(api, attempt, url);
  if (isEventStream(response)) {
    const events = await begin(readOwnEvents(response, attempt.signal, ({ type }) => type === DONE));
    return relayEvents(attempt, events, readUpstreamRequestId(response.headers));
  }
  const contentType = soundType(response.headers.get('content-type'));
  const upstreamRequestId = readUpstreamRequestId(response.headers);
  if (contentType === null) {
    await cancelBody(response);
    throw new ProviderFault('failed', 'the provider answered with neither sound nor events', { upstreamRequestId });
  }
  return soundReply(attempt, await begin(readBytes(response, attempt.signal)), contentType, upstreamRequestId);
}

/** Only events report tokens, so they are requested where the bill needs them; servers without events refuse the field. */
async function send(api: Api, attempt: Attempt, url: string): Promise<Response> {
  const { input, isEvents, fields } = readSpeechRequest(attempt);
  const body = { model: attempt.upstreamModel, input, ...fields, ...attempt.extra };
  const needsTokens = attempt.request.units?.counts.output_audio_tokens !== undefined;
  if (!needsTokens || isEvents) return await post(api, attempt, url, JSON.stringify(body), ANY);
  try {
    return await post(api, attempt, url, JSON.stringify({ ...body, stream_format: 'sse' }), ANY);
  } catch (thrown) {
    if (!(thrown instanceof ProviderFault && thrown.kind === 'rejected' && /stream_format/.test(thrown.message)))
      throw thrown;
  }
  return await post(api, attempt, url, JSON.stringify(body), ANY);
}

const ANY = '*/*';
const DELTA = 'speech.audio.delta';
const DONE = 'speech.audio.done';
const BINARY = 'application/octet-stream';

/** null: no sound. Text of the provider in a header is sent on only in this form. */
function soundType(contentType: string | null): string | null {
  const [, type, rest = ''] =
    /^\s*([\w/+.-]{1,64})\s*((?:;\s*[\w-]+=[\w.-]+\s*){0,4})$/.exec(contentType ?? BINARY) ?? [];
  if (type === undefined) return null;
  return /^audio\/./i.test(type) || type === BINARY ? type + rest : null;
}

/** By `response_format`; the first is the default. */
const SOUND_TYPES: Readonly<Record<string, string>> = {
  mp3: 'audio/mpeg',
  opus: 'audio/opus',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
};

function relayEvents(
  attempt: Attempt,
  events: AsyncGenerator<OwnEvent, void>,
  upstreamRequestId: string | null,
): ByteReply {
  const { isEvents, fields } = readSpeechRequest(attempt);
  const used = new SpeechUsed(attempt);
  return {
    form: 'bytes',
    contentType: isEvents ? EVENT_STREAM : (SOUND_TYPES[textOf(fields['response_format'])] ?? 'audio/mpeg'),
    chunks: relay(events, used, isEvents),
    used: () => used,
    upstreamRequestId,
  };
}

async function* relay(
  events: AsyncGenerator<OwnEvent, void>,
  used: SpeechUsed,
  isEvents: boolean,
): AsyncGenerator<Uint8Array, void> {
  for await (const { value, bytes } of events) {
    const sound = value['type'] === DELTA ? Buffer.from(textOf(value['audio']), 'base64') : null;
    if (sound !== null) used.addSound(sound.length);
    if (value['type'] === DONE) used.report(objectOf(value['usage']));
    if (isEvents) yield bytes;
    else if (sound !== null && sound.length > 0) yield sound;
  }
}

/** The reply of a provider that sends sound. */
export function soundReply(
  attempt: Attempt,
  sound: AsyncGenerator<Uint8Array, void>,
  contentType: string,
  upstreamRequestId: string | null,
): ByteReply {
  const { isEvents } = readSpeechRequest(attempt);
  const used = new SpeechUsed(attempt);
  return {
    form: 'bytes',
    contentType: isEvents ? EVENT_STREAM : contentType,
    chunks: isEvents ? asEvents(sound, used) : measured(sound, used),
    used: () => used,
    upstreamRequestId,
  };
}

async function* measured(sound: AsyncGenerator<Uint8Array, void>, used: SpeechUsed): AsyncGenerator<Uint8Array, void> {
  for await (const bytes of sound) {
    used.addSound(bytes.length);
    yield bytes;
  }
}

async function* asEvents(sound: AsyncGenerator<Uint8Array, void>, used: SpeechUsed): AsyncGenerator<Uint8Array, void> {
  for await (const bytes of measured(sound, used))
    yield encodeOwn('message', JSON.stringify({ type: DELTA, audio: Buffer.from(bytes).toString('base64') }));
  yield encodeOwn('message', JSON.stringify({ type: DONE }));
}

const TOKENS_PER_SECOND = 21; // src/fronts/speech/speech.ts has the source
/** Bytes a second of sound of OpenAI's, which has 24,000 samples; of compressed sound about so many. */
const SOUND_BYTES: Readonly<Record<string, number>> = {
  mp3: 16_000,
  opus: 6_000,
  aac: 12_000,
  flac: 24_000,
  wav: 48_000,
  pcm: 48_000,
};

/** Reports of an answer so far; without one, tokens are estimated by the sound. */
class SpeechUsed {
  readonly #attempt: Attempt;
  #bytes = 0;
  #tokens: { input: number | null; output: number } | null = null;

  constructor(attempt: Attempt) {
    this.#attempt = attempt;
  }

  addSound(bytes: number): void {
    this.#bytes += bytes;
  }

  report(usage: JsonObject): void {
    const output = countOf(usage['output_tokens']);
    if (output !== null) this.#tokens = { input: countOf(usage['input_tokens']), output };
  }

  get usage(): JsonObject {
    return usageOf(this.#tokens?.input ?? null);
  }

  get units(): Units {
    const { fields } = readSpeechRequest(this.#attempt);
    const perSecond = SOUND_BYTES[textOf(fields['response_format'])] ?? SOUND_BYTES['mp3'] ?? 1;
    const estimated = Math.ceil((this.#bytes / perSecond) * TOKENS_PER_SECOND);
    const { characters = 0 } = this.#attempt.request.units?.counts ?? {};
    return unitsOf({ characters, output_audio_tokens: this.#tokens?.output ?? estimated });
  }
}
