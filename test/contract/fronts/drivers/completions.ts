// Clients of text completions. It has no tests of its own.

import type { Answer, FrontDriver, Json, Prompt, Told, Turn } from '../front-driver.ts';

const END = 'data: [DONE]\n\n';

interface Chunk extends Json {
  choices: { text: string; index: number; logprobs: null; finish_reason: string | null }[];
  usage?: Json | null;
  error?: Json;
}

function textOf(turn: Turn): string {
  if ('user' in turn) return turn.user;
  if ('image' in turn) return turn.image;
  throw new Error('a text completion has one turn');
}

function body({ model = 'plain', stream = false, maxTokens = 64, turns, members = {} }: Prompt): Json {
  return {
    model,
    max_tokens: maxTokens,
    prompt: turns?.map(textOf).join('\n') ?? 'Good morning!',
    ...(stream && { stream, stream_options: { include_usage: true } }),
    ...members,
  };
}

function read({ id, object, model, choices, usage }: Json): Answer {
  const [{ text, finish_reason }] = choices as [{ text: string; finish_reason: string }];
  if (object !== 'text_completion') throw new Error(`not a text completion: ${String(object)}`);
  const counts = usage as Record<string, number> & { prompt_tokens_details: { cached_tokens: number } };
  return {
    id: String(id).replace(/^cmpl-/, ''),
    model: String(model),
    text,
    thinking: '',
    calls: [],
    stop: finish_reason,
    usage: {
      prompt: counts['prompt_tokens'] as number,
      cached: counts.prompt_tokens_details.cached_tokens,
      output: counts['completion_tokens'] as number,
      total: counts['total_tokens'] as number,
    },
    own: [],
  };
}

function chunksOf(text: string): Chunk[] {
  if (!text.endsWith('\n\n')) throw new Error(`the stream ends within an event: ${text.slice(-100)}`);
  return text
    .slice(0, -2)
    .split('\n\n')
    .filter((event) => !event.startsWith(':') && event !== 'data: [DONE]')
    .map((event) => JSON.parse(event.slice('data: '.length)) as Chunk);
}

function readStream(text: string) {
  if (text === '' || /^(?:: ping\n\n)+$/.test(text)) return { pieces: [], answer: null, error: null };
  const chunks = chunksOf(text);
  const last = chunks.at(-1);
  const error = last?.error ?? null;
  const answered = error === null ? chunks : chunks.slice(0, -1);
  const ends = answered.filter(({ choices }) => typeof choices[0]?.finish_reason === 'string');
  const counted = answered.filter(({ usage = null }) => usage !== null);
  const isWhole = text.endsWith(END) && error === null && last === counted[0] && answered.at(-2) === ends[0];
  const counts = [text.split('[DONE]').length - 1, ends.length, counted.length];
  if (counts.some((count) => count !== (isWhole ? 1 : 0))) throw new Error(`not one end: ${text.slice(-500)}`);
  const pieces = answered.map(({ choices }) => choices[0]?.text ?? '').filter((piece) => piece !== '');
  const choice = { ...ends[0]?.choices[0], text: pieces.join('') };
  return {
    pieces,
    answer: isWhole ? read({ ...last, choices: [choice] }) : null,
    error: error === null ? null : ({ ...last } as Json),
  };
}

export const completions: FrontDriver = {
  name: 'text completions',
  isTextOnly: true,
  path: () => '/v1/completions',
  body,
  keyHeaders: (secret) => [{ authorization: `Bearer ${secret}` }, { 'x-api-key': secret }],
  paths: ['/v1/completions', '/completions', '/v1/v1/completions/', '//completions'],
  unknownPaths: ['/v1/completions/cmpl-1'],
  hasOpenAiHeaders: true,
  read,
  readStream,
  pings: ': ping\n\n: ping\n\n',
  stops: { end_turn: 'stop', tool_use: 'stop', max_tokens: 'length', refusal: 'content_filter' },
  errorBody: ({ message, type, param, code }: Told) => ({ error: { message, type, param, code } }),
  hasParam: true,
  invalid: [
    [{ max_tokens: -2 }, 'max_tokens'],
    [{ model: null }, 'model'],
    [{ prompt: undefined }, 'prompt'],
    [{ prompt: '\n' }, 'prompt'],
    [{ prompt: [] }, 'prompt'],
    [{ prompt: ['a', 'b'] }, 'prompt'],
    [{ prompt: [1, 2] }, 'prompt'],
    [{ prompt: [[1, 2]] }, 'prompt'],
    [{ prompt: [{}] }, 'prompt'],
    [{ suffix: 1 }, 'suffix'],
    [{ n: 2 }, 'n'],
    [{ best_of: 2 }, 'best_of'],
    [{ echo: true }, 'echo'],
    [{ logprobs: 0 }, 'logprobs'],
    [{ logit_bias: { '1': 1 } }, 'logit_bias'],
    [{ stop: [1] }, 'stop.0'],
    [{ stop: ' '.repeat(65) }, 'stop'],
    [{ stop: Array(17).fill('\n') }, 'stop'],
    [{ stream_options: 1 }, 'stream_options'],
  ],
  notOffered: [[{ service_tier: 'flex' }, 'feature_unavailable', 'service_tier']],
  imagePath: 'prompt',
};
