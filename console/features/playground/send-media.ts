// Asks a model for images or speech for the last prompt alone, and makes a response of what it sends. Loads with the first such model.

import { type Answer, type Block, emptyAnswer } from './answer.ts';
import type { MediaUse } from './media-models.ts';
import { post, readRejection, type Sent } from './send-message.ts';

interface MediaRequest {
  baseUrl: string;
  key: string;
  use: MediaUse;
  model: string;
  /** The user turn. */
  content: readonly Block[];
  signal: AbortSignal;
}

const VOICE = 'alloy';
const PATHS: Readonly<Record<MediaUse, string>> = {
  images: '/v1/images/generations',
  speech: '/v1/audio/speech',
};

/** Rejects with MessageRejected. */
export async function sendMedia({ baseUrl, key, use, model, content, signal }: MediaRequest): Promise<Sent> {
  const sentAtMs = performance.now();
  const prompt = content.map(({ text }) => (typeof text === 'string' ? text : '')).join('\n');
  const body = use === 'speech' ? { model, input: prompt, voice: VOICE } : { model, prompt };
  const response = await post(`${baseUrl}${PATHS[use]}`, key, body, signal);
  if (!response.ok) throw await readRejection(response);
  const requestId = response.headers.get('request-id');
  const read = use === 'speech' ? readSound : readImages;
  const answer = await read(response).then(
    (blocks): Answer => ({ ...emptyAnswer, model, blocks, stopReason: 'end_turn', isComplete: true }),
    (cause): Answer => ({
      ...emptyAnswer,
      model,
      failure: signal.aborted ? null : { code: 'connection_broken', message: String(cause) },
    }),
  );
  return { answer, requestId, firstContentMs: null, totalMs: performance.now() - sentAtMs };
}

async function readSound(response: Response): Promise<Block[]> {
  const type = response.headers.get('content-type') ?? 'audio/mpeg';
  return [
    { type: 'sound', source: { media_type: type, data: base64Of(new Uint8Array(await response.arrayBuffer())) } },
  ];
}

async function readImages(response: Response): Promise<Block[]> {
  const { data } = (await response.json()) as { data: { b64_json?: string; url?: string }[] };
  return data.map(({ b64_json: base64, url }) =>
    base64 === undefined
      ? { type: 'text', text: String(url) }
      : { type: 'image', source: { type: 'base64', media_type: typeOf(base64), data: base64 } },
  );
}

/** How base64 of files begins. */
const BEGINNINGS: readonly [beginning: string, type: string][] = [
  ['/9j/', 'image/jpeg'],
  ['UklGR', 'image/webp'],
  ['R0lGOD', 'image/gif'],
];

function typeOf(base64: string): string {
  return BEGINNINGS.find(([beginning]) => base64.startsWith(beginning))?.[1] ?? 'image/png';
}

const PIECE_BYTES = 24_576; // a multiple of three

function base64Of(bytes: Uint8Array): string {
  let base64 = '';
  for (let at = 0; at < bytes.length; at += PIECE_BYTES)
    base64 += btoa(String.fromCharCode(...bytes.subarray(at, at + PIECE_BYTES)));
  return base64;
}
