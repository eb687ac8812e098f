// A provider that follows the order in each prompt and records its output with times, as the reference for clients
// and ledger.

import { type Answer, type RecordedRequest, startScriptedUpstream } from '../../support/scripted-upstream.ts';

/** Order of one prompt. `inputTokens` is unique in a data directory and identifies the message. */
export interface Order {
  inputTokens: number;
  /** Pieces of the text; 0 means 1. */
  deltas: number;
  tokensPerDelta: number;
  bytesPerToken: number;
  /** Delay before the first piece and between pieces. */
  pauseMs: number;
}

/** Bytes per token of the model `even`, whose estimates are exact. */
export const EVEN_BYTES_PER_TOKEN = 4;
/** Range of bytes per token of the model `varied`. */
export const BYTES_PER_TOKEN_LEAST = 3;
export const BYTES_PER_TOKEN_MOST = 5;

export interface Call {
  order: Order;
  model: string;
  stream: boolean;
  /** Each piece, recorded before it is sent. A message without streaming sends all of them at once. */
  sent: { atMs: number; tokens: number; bytes: number }[];
  /** Whether the whole response was sent, including usage. */
  isFinished: boolean;
}

export interface CountingUpstream extends AsyncDisposable {
  url: string;
  /** By `inputTokens` of the order; several if a message was forwarded more than once. */
  calls: Map<number, Call[]>;
  /** Called for each request before anything is sent. */
  onRequest: () => void;
}

export async function startCountingUpstream(): Promise<CountingUpstream> {
  const calls = new Map<number, Call[]>();
  const server = await startScriptedUpstream((answer, request) => {
    const call = readCall(request);
    const { inputTokens } = call.order;
    calls.set(inputTokens, [...(calls.get(inputTokens) ?? []), call]);
    upstream.onRequest();
    server.requests.length = 0; // They are counted above.
    return call.stream ? sendStream(answer, call) : sendMessage(answer, call);
  });
  const upstream: CountingUpstream = {
    url: server.url,
    calls,
    onRequest: () => {},
    [Symbol.asyncDispose]: () => server.close(),
  };
  return upstream;
}

/** A prompt with this order and one byte per token, so that its hold suffices. */
export function promptOf(order: Order): string {
  return `${JSON.stringify(order)}\n`.padEnd(order.inputTokens, 'go ');
}

/** All output tokens of an order. */
export function outputTokensOf({ deltas, tokensPerDelta }: Order): number {
  return Math.max(1, deltas) * tokensPerDelta;
}

function readCall({ body }: RecordedRequest): Call {
  const request = JSON.parse(body) as { model: string; stream?: boolean; messages: { content: string }[] };
  const order = JSON.parse(request.messages[0]?.content.split('\n')[0] ?? '') as Order;
  return { order, model: request.model, stream: request.stream === true, sent: [], isFinished: false };
}

const HEADERS = { 'content-type': 'application/json', 'request-id': 'req_counting' };
const STREAM_HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'request-id': 'req_counting' };

async function sendMessage(answer: Answer, call: Call): Promise<void> {
  await Bun.sleep(call.order.pauseMs);
  if (answer.isGone) return;
  let text = '';
  for (let piece = 0; piece < Math.max(1, call.order.deltas); piece++) text += produce(call);
  answer.send(200, HEADERS, JSON.stringify(messageOf(call, text, outputTokensOf(call.order))));
  call.isFinished = true;
}

async function sendStream(answer: Answer, call: Call): Promise<void> {
  const { order } = call;
  const write = (event: { type: string; [name: string]: unknown }) =>
    answer.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  await Bun.sleep(order.pauseMs);
  answer.begin(200, STREAM_HEADERS);
  await write({ type: 'message_start', message: messageOf(call, null, 1) });
  await write({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } });
  for (let delta = 0; delta < order.deltas; delta++) {
    await Bun.sleep(order.pauseMs);
    if (answer.isGone) return;
    await write({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: produce(call) } });
  }
  await write({ type: 'content_block_stop', index: 0 });
  const usage = { output_tokens: outputTokensOf(order) };
  await write({ type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage });
  if (answer.isGone) return;
  call.isFinished = true;
  await write({ type: 'message_stop' });
  answer.end();
}

/** Returns the text of one piece and counts it as sent. */
function produce({ order, sent }: Call): string {
  const bytes = order.tokensPerDelta * order.bytesPerToken;
  sent.push({ atMs: Date.now(), tokens: order.tokensPerDelta, bytes });
  return 'x'.repeat(bytes);
}

function messageOf({ order, model }: Call, text: string | null, outputTokens: number): object {
  return {
    id: `msg_counting${order.inputTokens}`,
    type: 'message',
    role: 'assistant',
    model,
    content: text === null ? [] : [{ type: 'text', text }],
    stop_reason: text === null ? null : 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: order.inputTokens, output_tokens: outputTokens },
  };
}
