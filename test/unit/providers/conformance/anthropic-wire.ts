// The driver of the Messages protocol itself: events as documented, requests unchanged. It has no tests of its own.

import { CallNumbers, type Driver, type Json, type Layout, objectsOf, piecesOf, type Shown } from './driver.ts';
import { exactText, type Fact } from './facts.ts';
import { type Counted, callsOf, type ModelReply, type Segment, STOP_SEQUENCE } from './model-reply.ts';

const STOPS = { end: 'end_turn', length: 'max_tokens', refusal: 'refusal', sequence: 'stop_sequence' } as const;

const eventText = (value: Json) => `event: ${String(value['type'])}\ndata: ${JSON.stringify(value)}\n\n`;

function usageOf({ input, cacheRead, cacheWrite }: Counted): Json {
  return {
    input_tokens: input,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
    cache_creation: { ephemeral_5m_input_tokens: cacheWrite, ephemeral_1h_input_tokens: 0 },
  };
}

function finalUsage({ output, reasoning }: Counted): Json {
  return { output_tokens: output, output_tokens_details: { thinking_tokens: reasoning } };
}

function stopOf(reply: ModelReply): Json {
  const isCall = reply.end === 'end' && callsOf(reply).length > 0;
  return {
    stop_reason: isCall ? 'tool_use' : STOPS[reply.end],
    stop_sequence: reply.end === 'sequence' ? STOP_SEQUENCE : null,
  };
}

function fit(reply: ModelReply): ModelReply {
  const segments = reply.segments.flatMap((segment): Segment[] => {
    if (segment.is === 'text') return segment.text.trim() === '' ? [] : [{ ...segment, seal: null }];
    if (segment.is === 'thinking') return [{ ...segment, seal: segment.seal ?? 'c2VhbGVk' }];
    return segment.is === 'call' ? [{ ...segment, seal: null }] : [segment];
  });
  const hasCall = segments.some(({ is }) => is === 'call');
  return { ...reply, segments: withOwnIds(segments), end: hasCall && reply.end === 'sequence' ? 'end' : reply.end };
}

/** Every call of a response has a distinct id. */
export function withOwnIds(segments: readonly Segment[]): Segment[] {
  const taken = new Set<string>();
  return segments.map((segment, place) => {
    if (segment.is !== 'call') return segment;
    const id = taken.has(segment.id) ? `${segment.id}_${place}` : segment.id;
    taken.add(id);
    return { ...segment, id };
  });
}

function blockOf(segment: Segment): Json {
  switch (segment.is) {
    case 'text':
      return { type: 'text', text: segment.text };
    case 'thinking':
      return { type: 'thinking', thinking: segment.text, signature: segment.seal };
    case 'sealed':
      return { type: 'redacted_thinking', data: segment.seal };
    case 'call':
      return { type: 'tool_use', id: segment.id, name: segment.name, input: null };
  }
}

function blockEvents(segment: Segment, index: number, random: () => number): Json[] {
  const start = blockOf(segment);
  const deltas: Json[] = [];
  if (segment.is === 'text') {
    start['text'] = '';
    deltas.push(...piecesOf(segment.text, random).map((text) => ({ type: 'text_delta', text })));
  } else if (segment.is === 'thinking') {
    Object.assign(start, { thinking: '', signature: '' });
    deltas.push(...piecesOf(segment.text, random).map((piece) => ({ type: 'thinking_delta', thinking: piece })));
    deltas.push({ type: 'signature_delta', signature: segment.seal });
  } else if (segment.is === 'call') {
    start['input'] = {};
    deltas.push({ type: 'input_json_delta', partial_json: '' });
    deltas.push(...piecesOf(segment.input, random).map((piece) => ({ type: 'input_json_delta', partial_json: piece })));
  }
  return [
    { type: 'content_block_start', index, content_block: start },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
}

function messageOf(reply: ModelReply): Json {
  return { id: 'msg_theirs', type: 'message', role: 'assistant', model: 'claude-theirs', ...stopOf(reply) };
}

function stream(reply: ModelReply, random: () => number): string[] {
  const usage = { ...usageOf(reply.counted), output_tokens: 1 };
  const message = { ...messageOf(reply), content: [], stop_reason: null, stop_sequence: null, usage };
  return [
    eventText({ type: 'message_start', message }),
    eventText({ type: 'ping' }),
    ...reply.segments.flatMap((segment, index) => blockEvents(segment, index, random).map(eventText)),
    eventText({ type: 'message_delta', delta: stopOf(reply), usage: finalUsage(reply.counted) }),
    eventText({ type: 'message_stop' }),
  ];
}

/** Inputs are inserted as JSON text, without parsing. */
function whole(reply: ModelReply): string {
  const content = reply.segments.map((segment) => {
    const json = JSON.stringify(blockOf(segment));
    return segment.is === 'call' ? json.replace(/"input":null\}$/, () => `"input":${segment.input}}`) : json;
  });
  const usage = { ...usageOf(reply.counted), ...finalUsage(reply.counted) };
  const rest = JSON.stringify({ ...messageOf(reply), usage });
  return `${rest.slice(0, -1)},"content":[${content.join(',')}]}`;
}

function shown({ segments }: ModelReply): Shown[] {
  return segments.map((segment): Shown => {
    if (segment.is === 'call') return { type: 'tool_use', name: segment.name, input: segment.input };
    return blockOf(segment) as Shown;
  });
}

const error = (type: string, message: string) => JSON.stringify({ type: 'error', error: { type, message } });

const layout: Layout = {
  resultsByCall: false,
  attachmentsAfterResults: false,
  textInLastResult: false,
  textBeforeCalls: false,
  systemInside: 'system',
  titleLast: [],
  refuses: [],
  adds: [],
};

/** Reads the Messages protocol independently, from its text alone. */
function read(body: string): ReturnType<Driver['read']> {
  const request = JSON.parse(body) as Json;
  const exact = JSON.parse(body, (_name, value, context?: { source?: string }) =>
    typeof value === 'number' && context?.source !== undefined
      ? (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(context.source)
      : value,
  ) as Json;
  const numbers = new CallNumbers();
  const facts: Fact[] = [...textsOf(request['system']).map((text) => ({ by: 'system' as const, text }))];
  for (const { role, content } of objectsOf(exact['messages'])) {
    const by = role as 'user' | 'assistant' | 'system';
    if (typeof content === 'string') facts.push({ by, text: content });
    else for (const block of objectsOf(content)) facts.push(...readBlock(block, by, numbers));
  }
  const tools = objectsOf(request['tools']).map(({ name, input_schema }) => ({
    name: String(name),
    schema: input_schema,
  }));
  return { facts, tools };
}

function textsOf(content: unknown): string[] {
  return typeof content === 'string' ? [content] : objectsOf(content).map(({ text }) => String(text));
}

function readBlock(block: Json, by: 'user' | 'assistant' | 'system' | 'result', numbers: CallNumbers): Fact[] {
  const inside = (content: unknown): Fact[] =>
    typeof content === 'string'
      ? [{ by, text: content }]
      : objectsOf(content).flatMap((one) => readBlock(one, by, numbers));
  const source = (block['source'] ?? {}) as Json;
  switch (block['type']) {
    case 'text':
      return [{ by, text: String(block['text']) }];
    case 'thinking':
      return [{ thought: String(block['thinking']), seal: String(block['signature']) }];
    case 'redacted_thinking':
      return [{ thought: null, seal: String(block['data']) }];
    case 'tool_use': {
      const input = exactText(JSON.stringify(block['input']));
      return [{ call: numbers.begin(String(block['id'])), name: String(block['name']), input, seal: null }];
    }
    case 'tool_result': {
      const result = numbers.of(String(block['tool_use_id']));
      const head: Fact = { result, isError: block['is_error'] === true };
      const content = block['content'];
      if (typeof content === 'string') return [head, { by: 'result', text: content }];
      return [head, ...objectsOf(content).flatMap((one) => readBlock(one, 'result', numbers))];
    }
    case 'search_result':
      return [{ by, text: `${String(block['title'])}${String(block['source'])}` }, ...inside(block['content'])];
    default: {
      const titleAndContext = `${String(block['title'] ?? '')}${String(block['context'] ?? '')}`;
      const head: Fact[] = titleAndContext === '' ? [] : [{ by, text: titleAndContext }];
      if (source['type'] === 'text') return [...head, { by, text: String(source['data']) }];
      if (source['type'] === 'content') return [...head, ...inside(source['content'])];
      const kind = block['type'] === 'image' ? 'image' : 'pdf';
      if (source['type'] === 'url') return [...head, { attached: `${kind} at ${String(source['url'])}` }];
      return [...head, { attached: `${String(source['media_type'])} ${String(source['data'])}` }];
    }
  }
}

export const anthropicDriver: Driver = {
  name: 'anthropic',
  kind: 'anthropic',
  speaksMessages: true,
  baseUrl: 'https://api.anthropic.com',
  model: 'claude-theirs',
  credential: 'sk-ant-ours-0123456789abcdef',
  fit,
  stream,
  eventsAfterEnd: 0,
  whole,
  shown,
  back: ({ segments }) => [...segments],
  acceptsForeignThinking: false,
  reportedCounts: (counted) => ({ ...usageOf(counted), ...finalUsage(counted) }),
  reportsSequence: true,
  midway: {
    event: `event: error\ndata: ${error('overloaded_error', 'Overloaded')}\n\n`,
    kind: 'overloaded',
  },
  refusals: {
    'rejected content': {
      status: 400,
      body: error('invalid_request_error', 'messages.0.content: the text of the refusal'),
      kind: 'rejected',
    },
    'exhausted credit in the text of a 400': {
      status: 400,
      body: error('invalid_request_error', 'Your credit balance is too low to access the API.'),
      kind: 'credentials',
    },
    'a refused key': {
      status: 401,
      body: error('authentication_error', 'invalid x-api-key'),
      kind: 'credentials',
    },
    'a retry time in milliseconds': {
      status: 429,
      headers: { 'retry-after-ms': '1500', 'retry-after': '2' },
      body: error('rate_limit_error', 'Slow down'),
      kind: 'rate_limited',
      retryAfterMs: 1_500,
    },
    overload: { status: 529, body: error('overloaded_error', 'Overloaded'), kind: 'overloaded' },
  },
  models: '{"data":[{"type":"model","id":"a"},{"type":"model","id":"b"}],"has_more":false}',
  layout,
  read,
  toolName: /^.{1,200}$/s,
  parameters: (body) => ({
    maxTokens: body['max_tokens'],
    stopSequences: body['stop_sequences'],
    topP: body['top_p'],
    toolChoice: body['tool_choice'],
  }),
};
