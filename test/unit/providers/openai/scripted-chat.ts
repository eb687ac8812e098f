// A provider of Chat Completions on loopback, controlled by scripts: it responds streamed or whole, as requested. It
// has no tests of its own.

import type { Script } from '../../../support/scripted-upstream.ts';

export interface ChatReply {
  content?: string | null;
  reasoning?: string;
  calls?: { id: string; name: string; arguments: string }[];
  finish?: string;
  /** null if it reports none. */
  usage?: object | null;
  model?: string;
}

const CHAT_USAGE = {
  prompt_tokens: 120,
  completion_tokens: 30,
  total_tokens: 150,
  prompt_tokens_details: { cached_tokens: 100 },
  completion_tokens_details: { reasoning_tokens: 10 },
};
const STREAM = { 'content-type': 'text/event-stream; charset=utf-8', 'x-request-id': 'chat-request-1' };
const WHOLE = { 'content-type': 'application/json', 'x-request-id': 'chat-request-1' };
const PIECE_CHARACTERS = 5;

/** Sends it in the requested form. */
export function replyChat(reply: ChatReply = {}): Script {
  return async (answer, { body }) => {
    if (JSON.parse(body).stream !== true) return answer.send(200, WHOLE, JSON.stringify(wholeOf(reply)));
    answer.begin(200, STREAM);
    for (const chunk of chunksOf(reply)) await answer.write(`data: ${JSON.stringify(chunk)}\n\n`);
    await answer.write('data: [DONE]\n\n');
    answer.end();
  };
}

function wholeOf({ content = 'Hello there.', reasoning, calls = [], ...rest }: ChatReply): object {
  const tool_calls = calls.map(({ id, ...call }) => ({ id, type: 'function', function: call }));
  const message = {
    role: 'assistant',
    content,
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls }),
  };
  const { finish = calls.length > 0 ? 'tool_calls' : 'stop', usage = CHAT_USAGE, model = 'chat-model' } = rest;
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model,
    choices: [{ index: 0, message, finish_reason: finish }],
    ...(usage !== null && { usage }),
  };
}

function chunksOf({ content = 'Hello there.', reasoning = '', calls = [], ...rest }: ChatReply): object[] {
  const { finish = calls.length > 0 ? 'tool_calls' : 'stop', usage = CHAT_USAGE, model = 'chat-model' } = rest;
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    model,
    choices: [{ index: 0, delta, finish_reason }],
  });
  return [
    chunk({ role: 'assistant', content: '' }),
    ...piecesOf(reasoning).map((reasoning_content) => chunk({ reasoning_content })),
    ...piecesOf(content ?? '').map((piece) => chunk({ content: piece })),
    ...calls.flatMap(({ id, name, arguments: given }, index) => [
      chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
      ...piecesOf(given).map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
    chunk({}, finish),
    ...(usage === null ? [] : [{ id: 'chatcmpl-1', object: 'chat.completion.chunk', model, choices: [], usage }]),
  ];
}

function piecesOf(text: string): string[] {
  return text.match(new RegExp(`[^]{1,${PIECE_CHARACTERS}}`, 'gu')) ?? [];
}
