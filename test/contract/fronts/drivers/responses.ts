// Clients of Responses. It has no tests of its own.

import { eventsOf } from '../../../unit/fronts/responses/read-response.ts';
import type { Answer, FrontDriver, Json, Prompt, Told, Turn } from '../front-driver.ts';

interface Item extends Json {
  type: string;
  content?: { type: string; text: string }[];
  summary?: { text: string }[];
}

const user = (...content: Json[]): Json => ({ role: 'user', content });

function itemsOf(turn: Turn): readonly Json[] {
  if ('user' in turn) return [{ role: 'user', content: turn.user }];
  if ('image' in turn) return [user({ type: 'input_image', image_url: `data:image/png;base64,${turn.image}` })];
  return 'own' in turn ? turn.own : [{ type: 'function_call_output', call_id: turn.of.id, output: turn.result }];
}

function body({ model = 'plain', stream = false, maxTokens = 64, ...prompt }: Prompt): Json {
  const { system, turns, tools, thinking, members = {} } = prompt;
  return {
    model,
    max_output_tokens: maxTokens,
    input: turns?.flatMap(itemsOf) ?? 'Good morning!',
    ...(stream && { stream }),
    ...(system !== undefined && { instructions: system }),
    ...(thinking === true && { reasoning: { summary: 'auto' } }),
    ...(tools !== undefined && {
      tools: tools.map(({ schema, ...tool }) => ({ type: 'function', ...tool, parameters: schema })),
    }),
    ...members,
  };
}

function read({ id, model, status, incomplete_details, output, usage }: Json): Answer {
  const items = output as Item[];
  const { input_tokens, input_tokens_details, output_tokens, total_tokens } = usage as Record<string, number> & {
    input_tokens_details: { cached_tokens: number };
  };
  const details = incomplete_details as { reason: string } | null;
  return {
    id: String(id).replace(/^resp_/, ''),
    model: String(model),
    text: items
      .flatMap(({ type, content = [] }) => (type === 'message' ? content.map(({ text }) => text) : []))
      .join(''),
    thinking: items.flatMap(({ summary = [] }) => summary.map(({ text }) => text)).join(''),
    calls: items.flatMap(({ type, call_id, name, arguments: input }) =>
      type === 'function_call' ? [{ id: String(call_id), name: String(name), input: String(input) }] : [],
    ),
    stop: [status, ...(details === null ? [] : [details.reason])].join(' '),
    usage: {
      prompt: input_tokens as number,
      cached: input_tokens_details.cached_tokens,
      output: output_tokens as number,
      total: total_tokens as number,
    },
    own: items,
  };
}

const END = /^response\.(?:completed|incomplete|failed)$/;

function readStream(text: string) {
  if (!text.endsWith('\n\n')) throw new Error(`the stream ends within an event: ${text.slice(-100)}`);
  const [whole = '', ...after] = text.split('data: [DONE]\n\n');
  if (after.join('') !== '') throw new Error(`something follows the end: ${text.slice(-500)}`);
  const events = eventsOf(whole);
  const last = events.at(-1);
  const ends = events.filter(({ type }) => END.test(type));
  if (ends.length > 1 || (ends.length === 1 && ends[0] !== last)) throw new Error(`not one end: ${text.slice(-500)}`);
  const { status, error, usage } = (ends[0]?.['response'] ?? {}) as {
    status?: string;
    error?: Json;
    usage?: Json | null;
  };
  if (ends.length > 0 && last?.type !== `response.${status}`) throw new Error(`a wrong end: ${text.slice(-500)}`);
  return {
    pieces: events.flatMap(({ type, delta }) => (type === 'response.output_text.delta' ? String(delta) : [])),
    answer: ends.length === 0 || status === 'failed' ? null : read(last?.['response'] as Json),
    error: status === 'failed' && usage === null ? toldTwice(events.at(-2), error as Json) : null,
  };
}

/** The error of a stream, which it has in two forms: some clients read only one of them. */
function toldTwice(event: Json | undefined, failure: Json): Json {
  const { error } = event as { error: Json };
  if (event?.['type'] !== 'error' || failure['message'] !== error['message'] || failure['code'] !== failureOf(error))
    throw new Error(`two different errors: ${JSON.stringify([event, failure])}`);
  return { error };
}

/** Clients repeat a request after any code that they do not know. */
function failureOf({ code, type }: Json): string {
  if (['insufficient_quota', 'rate_limit_exceeded', 'context_length_exceeded'].includes(String(code)))
    return String(code);
  return /^(?:authentication|invalid_request|not_found|permission)_error$/.test(String(type))
    ? 'invalid_prompt'
    : 'server_error';
}

function errorBody({ message, type, param, code }: Told): Json {
  const known = code === 'insufficient_user_quota' ? 'insufficient_quota' : code;
  const own = type === 'rate_limit_error' ? 'rate_limit_exceeded' : known;
  return { error: { message, type, param, code: own, details: { error_code: code } } };
}

export const responses: FrontDriver = {
  name: 'responses',
  isTextOnly: false,
  path: () => '/v1/responses',
  body,
  keyHeaders: (secret) => [{ authorization: `Bearer ${secret}` }, { 'x-api-key': secret }],
  paths: ['/v1/responses', '/responses', '/v1/v1/responses/', '//responses'],
  unknownPaths: ['/v1/responses/resp_1', '/responses/resp_1/cancel'],
  hasOpenAiHeaders: true,
  read,
  readStream,
  pings: ': ping\n\n: ping\n\n',
  stops: {
    end_turn: 'completed',
    tool_use: 'completed',
    max_tokens: 'incomplete max_output_tokens',
    refusal: 'incomplete content_filter',
  },
  errorBody,
  hasParam: true,
  invalid: [
    [{ max_output_tokens: -2 }, 'max_output_tokens'],
    [{ model: null }, 'model'],
    [{ input: [] }, 'input'],
    [{ store: true }, 'store'],
    [{ previous_response_id: 'resp_1' }, 'previous_response_id'],
  ],
  notOffered: [
    [{ service_tier: 'flex' }, 'feature_unavailable', 'service_tier'],
    [{ input: [user({ type: 'input_file', file_id: 'file-1' })] }, 'feature_unavailable', 'input.0.content.0.file_id'],
  ],
  imagePath: 'input.0.content.0.image_url',
};
