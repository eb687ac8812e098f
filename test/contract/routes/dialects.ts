// The wire format of each kind of provider: a complete response in parts, and its ways to fail. Each complete
// response reports 25 input and 12 output tokens. It has no tests of its own.

import type { Wire } from '../../support/fault-upstream.ts';
import { bedrock } from './bedrock-dialect.ts';

type Json = Record<string, unknown>;
export type ProviderKind = 'anthropic' | 'openai' | 'openai-responses' | 'gemini' | 'bedrock' | 'vertex' | 'foundry';
/** The kinds whose streams are server-sent events. */
export const EVENT_KINDS: readonly ProviderKind[] = [
  'anthropic',
  'openai',
  'openai-responses',
  'gemini',
  'vertex',
  'foundry',
];

export interface Dialect {
  kind: ProviderKind;
  /** Absent: server-sent events. */
  streamType?: string;
  /** Further members of its provider, and the protocol of its routes; absent: none. */
  members?: Json;
  protocol?: string;
  wantsStream(request: Pick<Wire, 'path' | 'body'>): boolean;
  /** Its response to a token count request; null if it has no counter. */
  counted: string | null;
  /** A stream with these texts: the part before its content, the content, and its end. */
  stream(texts: readonly string[]): { begin: string[]; content: string[]; end: string[] };
  /** The same response without streaming. */
  message(text: string): string;
  /** An error response with this status. */
  error(status: number): string;
  /** A rejection of the client's content, with status 400 and as an event. */
  contentRefused: string;
  contentRefusedEvent: string;
  /** A rejection of the operator's account because of its balance, with status 400. */
  creditRefused: string;
  /** An overload inside a stream, and as JSON with status 200. */
  overloadedEvent: string;
  overloadedJson: string;
}

/** The head of a stream. */
export function streamHead({ streamType }: Pick<Dialect, 'streamType'>): { 'content-type': string } {
  return { 'content-type': streamType ?? 'text/event-stream' };
}

/** The token count that a counter returns. */
export const COUNTED_TOKENS = 777;
const INPUT_TOKENS = 25;
const OUTPUT_TOKENS = 12;
const MODEL = 'model-at-the-provider';

const named = (event: Json) => `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`;
const unnamed = (event: unknown) => `data: ${JSON.stringify(event)}\n\n`;
const saysStream = ({ body }: Pick<Wire, 'body'>) => (JSON.parse(body) as Json)['stream'] === true;

const messagesError = (type: string, message: string) => ({ type: 'error', error: { type, message } });
const messagesUsage = { input_tokens: INPUT_TOKENS, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
const messagesHead = { id: 'msg_theirs', type: 'message', role: 'assistant', model: MODEL };
const anthropic: Dialect = {
  kind: 'anthropic',
  counted: JSON.stringify({ input_tokens: COUNTED_TOKENS }),
  wantsStream: saysStream,
  stream: (texts) => ({
    begin: [
      named({
        type: 'message_start',
        message: { ...messagesHead, content: [], stop_reason: null, usage: { ...messagesUsage, output_tokens: 1 } },
      }),
    ],
    content: texts.map((text, place) => {
      const start = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } };
      const delta = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } };
      return (place === 0 ? named(start) : '') + named(delta);
    }),
    end: [
      named({ type: 'content_block_stop', index: 0 }),
      named({
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: OUTPUT_TOKENS },
      }),
      named({ type: 'message_stop' }),
    ],
  }),
  message: (text) =>
    JSON.stringify({
      ...messagesHead,
      content: [{ type: 'text', text }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { ...messagesUsage, output_tokens: OUTPUT_TOKENS },
    }),
  error: (status) => JSON.stringify(messagesError(status === 401 ? 'authentication_error' : 'api_error', 'no')),
  contentRefused: JSON.stringify(messagesError('invalid_request_error', 'messages.0.content: is not to our taste')),
  contentRefusedEvent: named(messagesError('invalid_request_error', 'messages.0.content: is not to our taste')),
  creditRefused: JSON.stringify(
    messagesError('invalid_request_error', 'Your credit balance is too low to access the API. Go to Plans & Billing.'),
  ),
  overloadedEvent: named(messagesError('overloaded_error', 'Overloaded')),
  overloadedJson: JSON.stringify(messagesError('overloaded_error', 'Overloaded')),
};

const chatError = (message: string, code: string | number, type = 'invalid_request_error') => ({
  error: { message, type, param: null, code },
});
const chatChunk = (delta: Json, finish: string | null = null) =>
  unnamed({ id: 'chatcmpl-1', model: MODEL, choices: [{ index: 0, delta, finish_reason: finish }] });
const chatUsage = { prompt_tokens: INPUT_TOKENS, completion_tokens: OUTPUT_TOKENS };
const openai: Dialect = {
  kind: 'openai',
  counted: null,
  wantsStream: saysStream,
  stream: (texts) => ({
    begin: [chatChunk({ role: 'assistant', content: '' })],
    content: texts.map((content) => chatChunk({ content })),
    end: [
      chatChunk({}, 'stop'),
      unnamed({ id: 'chatcmpl-1', model: MODEL, choices: [], usage: chatUsage }),
      'data: [DONE]\n\n',
    ],
  }),
  message: (content) =>
    JSON.stringify({
      id: 'chatcmpl-1',
      model: MODEL,
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      usage: chatUsage,
    }),
  error: (status) => JSON.stringify(chatError('no', `status_${status}`, 'their_error')),
  contentRefused: JSON.stringify(chatError('messages.0.content: is not to our taste', 'invalid_value')),
  contentRefusedEvent: unnamed(chatError('messages.0.content: is not to our taste', 'invalid_value')),
  creditRefused: JSON.stringify(chatError('You have no money left.', 'insufficient_quota', 'insufficient_quota')),
  overloadedEvent: unnamed(chatError('Overloaded', 503, 'server_error')),
  overloadedJson: JSON.stringify(chatError('Overloaded', 503, 'server_error')),
};

const responseHead = { id: 'resp_1', object: 'response', model: MODEL };
const responseItem = (text: string) => ({
  type: 'message',
  id: 'msg_theirs',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [] }],
});
const responseOf = (text: string) => ({
  ...responseHead,
  status: 'completed',
  output: [responseItem(text)],
  usage: { input_tokens: INPUT_TOKENS, output_tokens: OUTPUT_TOKENS },
});
const responses: Dialect = {
  kind: 'openai-responses',
  counted: null,
  wantsStream: saysStream,
  stream: (texts) => ({
    begin: [
      named({ type: 'response.created', response: { ...responseHead, status: 'in_progress', output: [] } }),
      named({
        type: 'response.output_item.added',
        output_index: 0,
        item: { ...responseItem(''), status: 'in_progress', content: [] },
      }),
    ],
    content: texts.map((delta) =>
      named({ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta }),
    ),
    end: [
      named({ type: 'response.output_item.done', output_index: 0, item: responseItem(texts.join('')) }),
      named({ type: 'response.completed', response: responseOf(texts.join('')) }),
    ],
  }),
  message: (text) => JSON.stringify(responseOf(text)),
  error: openai.error,
  contentRefused: openai.contentRefused,
  contentRefusedEvent: named({
    type: 'error',
    code: 'invalid_prompt',
    message: 'messages.0.content: is not to our taste',
  }),
  creditRefused: openai.creditRefused,
  overloadedEvent: named({ type: 'error', code: 'server_is_overloaded', message: 'Overloaded' }),
  overloadedJson: JSON.stringify({
    ...responseHead,
    status: 'failed',
    output: [],
    error: { code: 'server_is_overloaded', message: 'Overloaded' },
  }),
};

const googleError = (code: number, status: string, message: string) => ({ error: { code, status, message } });
const googleChunk = (parts: Json[], members: Json = {}) => ({
  candidates: [{ content: { role: 'model', parts }, index: 0, ...members }],
  usageMetadata: {
    promptTokenCount: INPUT_TOKENS,
    ...(members['finishReason'] !== undefined && { candidatesTokenCount: OUTPUT_TOKENS }),
  },
  modelVersion: MODEL,
});
const gemini: Dialect = {
  kind: 'gemini',
  counted: JSON.stringify({ totalTokens: COUNTED_TOKENS }),
  wantsStream: ({ path }) => path.includes(':streamGenerateContent'),
  stream: (texts) => ({
    begin: [unnamed(googleChunk([]))],
    content: texts.map((text) => unnamed(googleChunk([{ text }]))),
    end: [unnamed(googleChunk([], { finishReason: 'STOP' }))],
  }),
  message: (text) => JSON.stringify(googleChunk([{ text }], { finishReason: 'STOP' })),
  error: (status) => JSON.stringify(googleError(status, 'THEIR_STATUS', 'no')),
  contentRefused: JSON.stringify(googleError(400, 'INVALID_ARGUMENT', 'messages.0.content: is not to our taste')),
  contentRefusedEvent: unnamed(googleError(400, 'INVALID_ARGUMENT', 'messages.0.content: is not to our taste')),
  creditRefused: JSON.stringify(googleError(400, 'FAILED_PRECONDITION', 'Please enable billing on your project.')),
  overloadedEvent: unnamed(googleError(503, 'UNAVAILABLE', 'The model is overloaded.')),
  overloadedJson: JSON.stringify(googleError(503, 'UNAVAILABLE', 'The model is overloaded.')),
};

/** Claude at clouds, with their errors. */
const vertex: Dialect = {
  ...anthropic,
  kind: 'vertex',
  members: { region: 'us-east5', project: 'our-project' },
  protocol: 'messages',
  wantsStream: ({ path }) => path.includes(':streamRawPredict'),
  error: gemini.error,
  creditRefused: gemini.creditRefused,
  overloadedEvent: gemini.overloadedEvent,
  overloadedJson: gemini.overloadedJson,
};
const foundry: Dialect = {
  ...anthropic,
  kind: 'foundry',
  protocol: 'messages',
  error: (status) => JSON.stringify({ error: { code: String(status), message: 'no' } }),
};

export const dialects: readonly Dialect[] = [anthropic, openai, responses, gemini, bedrock, vertex, foundry];
