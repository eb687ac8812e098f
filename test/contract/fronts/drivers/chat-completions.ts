// Clients of Chat Completions. It has no tests of its own.

import { type Chunk, chunksOf, foldChunks } from '../../../unit/fronts/chat-completions/chunks.ts';
import type { Answer, FrontDriver, Json, Prompt, Told, Turn } from '../front-driver.ts';

const END = 'data: [DONE]\n\n';

interface Message extends Json {
  content: string | null;
  reasoning_content?: string;
  tool_calls?: { id: string; type: string; function: { name: string; arguments: string } }[];
}

const user = (content: unknown): Json => ({ role: 'user', content });

function messagesOf(turn: Turn): readonly Json[] {
  if ('user' in turn) return [user(turn.user)];
  if ('image' in turn)
    return [user([{ type: 'image_url', image_url: { url: `data:image/png;base64,${turn.image}` } }])];
  return 'own' in turn ? turn.own : [{ role: 'tool', tool_call_id: turn.of.id, content: turn.result }];
}

function body({ model = 'plain', stream = false, maxTokens = 64, ...prompt }: Prompt): Json {
  const { system, turns = [{ user: 'Good morning!' }], tools, members = {} } = prompt;
  const asked = [...(system === undefined ? [] : [{ role: 'system', content: system }]), ...turns.flatMap(messagesOf)];
  return {
    model,
    max_tokens: maxTokens,
    messages: asked,
    ...(stream && { stream, stream_options: { include_usage: true } }),
    ...(tools !== undefined && {
      tools: tools.map(({ schema, ...tool }) => ({ type: 'function', function: { ...tool, parameters: schema } })),
    }),
    ...members,
  };
}

function read({ id, model, choices, usage }: Json): Answer {
  const [{ message, finish_reason }] = choices as [{ message: Message; finish_reason: string }];
  const { prompt_tokens, prompt_tokens_details, completion_tokens, total_tokens } = usage as Record<string, number> & {
    prompt_tokens_details: { cached_tokens: number };
  };
  return {
    id: String(id).replace(/^chatcmpl-/, ''),
    model: String(model),
    text: message.content ?? '',
    thinking: message.reasoning_content ?? '',
    calls: (message.tool_calls ?? []).map(({ id, function: { name, arguments: input } }) => ({ id, name, input })),
    stop: finish_reason,
    usage: {
      prompt: prompt_tokens as number,
      cached: prompt_tokens_details.cached_tokens,
      output: completion_tokens as number,
      total: total_tokens as number,
    },
    own: [message],
  };
}

function readStream(text: string) {
  const hasEnd = text.endsWith(END);
  const chunks = chunksOf(text);
  const last = chunks.at(-1);
  const { error = null } = (last ?? {}) as { error?: Json | null };
  const answered = error === null ? chunks : chunks.slice(0, -1);
  const ends = answered.filter(({ choices }) => typeof choices[0]?.finish_reason === 'string');
  const counted = answered.filter(({ usage = null }) => usage !== null);
  const isWhole = hasEnd && error === null && last === counted[0] && answered.at(-2) === ends[0];
  const counts = [text.split('[DONE]').length - 1, ends.length, counted.length];
  if (counts.some((count) => count !== (isWhole ? 1 : 0))) throw new Error(`not one end: ${text.slice(-500)}`);
  return {
    pieces: answered.flatMap(({ choices }: Chunk) => (choices[0]?.delta['content'] as string) || []),
    answer: isWhole ? read({ ...last, choices: [foldChunks(chunks)] }) : null,
    error: error === null ? null : ({ ...last } as Json),
  };
}

const called = { id: 'a', type: 'function', function: { name: 'f', arguments: [] } };

export const chatCompletions: FrontDriver = {
  name: 'chat completions',
  isTextOnly: false,
  path: () => '/v1/chat/completions',
  body,
  keyHeaders: (secret) => [{ authorization: `Bearer ${secret}` }, { 'x-api-key': secret }],
  paths: ['/v1/chat/completions', '/chat/completions', '/v1/v1/chat/completions/', '//chat//completions'],
  unknownPaths: ['/v1/chat/completions/chatcmpl-1', '/chat/other'],
  hasOpenAiHeaders: true,
  read,
  readStream,
  pings: ': ping\n\n: ping\n\n',
  stops: { end_turn: 'stop', tool_use: 'tool_calls', max_tokens: 'length', refusal: 'content_filter' },
  errorBody: ({ message, type, param, code }: Told) => ({ error: { message, type, param, code } }),
  hasParam: true,
  invalid: [
    [
      { messages: [user('go'), { role: 'assistant', tool_calls: [called] }] },
      'messages.1.tool_calls.0.function.arguments',
    ],
    [{ max_completion_tokens: -2, max_tokens: null }, 'max_completion_tokens'],
    [{ model: null }, 'model'],
    [{ messages: [] }, 'messages'],
  ],
  notOffered: [
    [{ service_tier: 'flex' }, 'feature_unavailable', 'service_tier'],
    [
      { messages: [user([{ type: 'file', file: { file_id: 'file-1' } }])] },
      'feature_unavailable',
      'messages.0.content.0.file.file_id',
    ],
  ],
  imagePath: 'messages.1.content.0.image_url.url',
};
