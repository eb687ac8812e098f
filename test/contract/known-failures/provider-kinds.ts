// A service with one provider of each kind. All send the same text in their own protocol, followed by an end, an
// error or nothing. It has no tests of its own.

import {
  eventText,
  type Script,
  type ScriptedUpstream,
  scripts,
  startScriptedUpstream,
} from '../../support/scripted-upstream.ts';
import { startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';

export const KINDS = ['anthropic', 'openai', 'openai-responses', 'gemini'] as const;
export type Kind = (typeof KINDS)[number];

/** The wire format of one kind. The counts are in the closing part; some kinds also send the prompt count earlier. */
interface WireFormat {
  opening: string;
  piece: (text: string) => string;
  closing: string;
  error: (words: string) => string;
}

/** The usage that a provider reports for a complete response. */
export const COUNTED = { input_tokens: 25, output_tokens: 12 };

const line = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
const chatChunk = (delta: object, finish: string | null = null) =>
  line({ object: 'chat.completion.chunk', model: 'theirs', choices: [{ index: 0, delta, finish_reason: finish }] });
const geminiChunk = (text: string, more: object = {}, counts: object = {}) =>
  line({
    candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0, ...more }],
    usageMetadata: { promptTokenCount: 25, totalTokenCount: 25, ...counts },
    modelVersion: 'theirs',
  });
const responsesItem = { type: 'message', id: 'msg_theirs', role: 'assistant', content: [] };
const responsesAnswer = { id: 'resp_1', model: 'theirs', output: [] };
const counts = { prompt_tokens: 25, completion_tokens: 12, total_tokens: 37 };

const WIRE_FORMATS: Readonly<Record<Kind, WireFormat>> = {
  anthropic: {
    opening:
      eventText({
        type: 'message_start',
        message: {
          id: 'msg_theirs',
          type: 'message',
          role: 'assistant',
          model: 'theirs',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 25, output_tokens: 1 },
        },
      }) + eventText({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    piece: (text) => eventText({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
    closing:
      eventText({ type: 'content_block_stop', index: 0 }) +
      eventText({
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: 12 },
      }) +
      eventText({ type: 'message_stop' }),
    error: (message) => eventText({ type: 'error', error: { type: 'api_error', message } }),
  },
  openai: {
    opening: chatChunk({ role: 'assistant', content: '' }),
    piece: (content) => chatChunk({ content }),
    closing: `${chatChunk({}, 'stop')}${line({ model: 'theirs', choices: [], usage: counts })}data: [DONE]\n\n`,
    error: (message) => line({ error: { message, type: 'server_error', code: 500 } }),
  },
  'openai-responses': {
    opening:
      eventText({ type: 'response.created', response: { ...responsesAnswer, status: 'in_progress' } }) +
      eventText({ type: 'response.output_item.added', output_index: 0, item: responsesItem }),
    piece: (delta) => eventText({ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta }),
    closing:
      eventText({ type: 'response.output_item.done', output_index: 0, item: responsesItem }) +
      eventText({
        type: 'response.completed',
        response: { ...responsesAnswer, status: 'completed', usage: COUNTED },
      }),
    error: (message) => eventText({ type: 'error', code: 'server_error', message }),
  },
  gemini: {
    opening: '',
    piece: (text) => geminiChunk(text),
    closing: geminiChunk('', { finishReason: 'STOP' }, { candidatesTokenCount: 12, totalTokenCount: 37 }),
    error: (message) => line({ error: { code: 500, status: 'INTERNAL', message } }),
  },
};

type Ending = 'whole' | 'cut' | 'silence' | { error: string };

/** A stream of these pieces, each written after the one before it was consumed, then its ending. */
export function streamText(kind: Kind, pieces: Iterable<string>, ending: Ending = 'whole'): Script {
  const { opening, piece, closing, error } = WIRE_FORMATS[kind];
  return async (answer) => {
    answer.begin(200, { 'content-type': 'text/event-stream' });
    if (opening !== '') await answer.write(opening); // an empty piece would end the body
    for (const text of pieces) {
      if (answer.isGone) return;
      await answer.write(piece(text));
    }
    if (ending === 'silence') return;
    if (ending === 'cut') return answer.end();
    await answer.write(ending === 'whole' ? closing : error(ending.error));
    answer.end();
  };
}

/** A stream with status 200 whose first event is an error. */
export function streamError(kind: Kind, words: string): Script {
  return scripts.rawStream(WIRE_FORMATS[kind].error(words));
}

/** One provider of each kind at this address, and for each a model named after the kind. */
export function documentOf(url: string, price: object = { input: '3', output: '15' }): Record<string, object> {
  const provider = (kind: Kind) => ({ kind, base_url: url, api_key: 'sk-of-the-provider', private_network: true });
  const model = (kind: Kind) => ({ price, routes: [{ provider: `their-${kind}`, model: 'theirs' }] });
  return {
    providers: Object.fromEntries(KINDS.map((kind) => [`their-${kind}`, provider(kind)])),
    models: Object.fromEntries(KINDS.map((kind) => [kind, model(kind)])),
  };
}

export interface KindsWorld extends Turnpike {
  upstream: ScriptedUpstream;
}

/** Starts the service with these providers and the given settings. */
export async function startKindsWorld(settings: object = {}): Promise<KindsWorld> {
  const upstream = await startScriptedUpstream(scripts.hangBeforeHead());
  const turnpike = await startTurnpike({ ...documentOf(upstream.url), settings });
  const stop = async () => {
    await turnpike.stop();
    await upstream.close();
  };
  return { ...turnpike, upstream, stop, [Symbol.asyncDispose]: stop };
}
