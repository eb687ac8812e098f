// The provider of the service whose data is kept, and what its clients got.

import type { Turnpike } from '../../support/start-turnpike.ts';
import type { Batches } from './state-batches.ts';
import type { Features } from './state-features.ts';

const PIECE = 'All work of this stream is counted. ';
const SLOW_MS = 100;
/** The length of a stream that is not slow. */
const PIECES = 5;

/** The secret of every state on PostgreSQL. */
export const TURNPIKE_SECRET = Buffer.alloc(32, 7).toString('base64');

export const TOKENS_PER_PIECE = 8;
export const PROMPT_TOKENS = 40;

/** One request, and what its client got before the kill. */
export interface Sent {
  secret: string;
  prompt: string;
  stream: boolean;
  idempotencyKey: string | null;
  /** null: the service was killed first. */
  requestId: string | null;
  isFinished: boolean;
  /** Pieces of text that arrived. */
  pieces: number;
}

export interface State {
  accounts: string[];
  keys: string[];
  sent: Sent[];
  /** Address of the provider. */
  upstream: string;
  features: Features;
  /** null or absent: the build has none. */
  batches?: Batches | null;
}

/** A provider of the Messages protocol. Prompts with "slow" get a stream that does not end. */
export async function stateUpstream(): Promise<{ url: string } & AsyncDisposable> {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { stream, messages } = (await request.json()) as { stream?: boolean; messages: { content: string }[] };
      const isSlow = JSON.stringify(messages).includes('slow');
      if (stream !== true) {
        if (isSlow) await Bun.sleep(60_000);
        return Response.json(wholeMessage());
      }
      const headers = { 'content-type': 'text/event-stream' };
      return new Response(streamOf(isSlow, request.signal) as unknown as BodyInit, { headers });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    async [Symbol.asyncDispose]() {
      await server.stop(true);
    },
  };
}

const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', model: 'scripted', stop_sequence: null };

function wholeMessage() {
  const usage = { input_tokens: PROMPT_TOKENS, output_tokens: TOKENS_PER_PIECE };
  return { ...MESSAGE, content: [{ type: 'text', text: PIECE }], stop_reason: 'end_turn', usage };
}

async function* streamOf(isSlow: boolean, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const usage = { input_tokens: PROMPT_TOKENS, output_tokens: 0 };
  yield eventOf({ type: 'message_start', message: { ...MESSAGE, content: [], stop_reason: null, usage } });
  yield eventOf({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } });
  let made = 0;
  for (; !signal.aborted && (isSlow ? made < 1_000 : made < PIECES); made++) {
    yield eventOf({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: PIECE } });
    if (isSlow) await Bun.sleep(SLOW_MS);
  }
  yield eventOf({ type: 'content_block_stop', index: 0 });
  const delta = { stop_reason: 'end_turn', stop_sequence: null };
  yield eventOf({ type: 'message_delta', delta, usage: { output_tokens: made * TOKENS_PER_PIECE } });
  yield eventOf({ type: 'message_stop' });
}

function eventOf(value: { type: string } & Record<string, unknown>): Uint8Array {
  return Buffer.from(`event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`);
}

export function bodyOf(prompt: string, stream: boolean): object {
  return { model: 'scripted', max_tokens: 1_000, stream, messages: [{ role: 'user', content: prompt }] };
}

/** Posts a message with its prompt as idempotency key, and reads until the answer or the service ends. */
export async function postIdempotently(
  turnpike: Pick<Turnpike, 'post'>,
  secret: string,
  prompt: string,
  { stream }: { stream: boolean },
  idempotencyKey: string | null = prompt.replaceAll(' ', '-'),
): Promise<Sent> {
  const body = bodyOf(prompt, stream);
  const headers: Record<string, string> = idempotencyKey === null ? {} : { 'idempotency-key': idempotencyKey };
  const sent: Sent = { secret, prompt, stream, idempotencyKey, requestId: null, isFinished: false, pieces: 0 };
  let text = '';
  try {
    const response = await turnpike.post(secret, body, { headers });
    sent.requestId = response.headers.get('request-id');
    const decoder = new TextDecoder();
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>)
      text += decoder.decode(chunk, { stream: true });
    if (response.status !== 200) throw new Error(`${response.status} ${text}`);
    sent.isFinished = stream ? text.includes('message_stop') : true;
  } catch (fault) {
    if (String(fault).startsWith('Error: ')) throw fault;
  }
  sent.pieces = text.split(PIECE).length - 1;
  return sent;
}
