// The driver of the Messages protocol itself: its events as its documentation has them, its request as it is. Not a test.

import { CallNumbers, type Driver, type Json, type Layout, objectsOf, piecesOf, type Shown } from './driver.ts';
import { exactText, type Fact } from './facts.ts';
import { type Counted, callsOf, type Said, type Saying, STOP_SEQUENCE } from './saying.ts';

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

function stopOf(saying: Saying): Json {
  const isCall = saying.end === 'end' && callsOf(saying).length > 0;
  return {
    stop_reason: isCall ? 'tool_use' : STOPS[saying.end],
    stop_sequence: saying.end === 'sequence' ? STOP_SEQUENCE : null,
  };
}

function fit(saying: Saying): Saying {
  const said = saying.said.flatMap((thing): Said[] => {
    if (thing.is === 'text') return thing.text.trim() === '' ? [] : [{ ...thing, seal: null }];
    if (thing.is === 'thinking') return [{ ...thing, seal: thing.seal ?? 'c2VhbGVk' }];
    return thing.is === 'call' ? [{ ...thing, seal: null }] : [thing];
  });
  const hasCall = said.some(({ is }) => is === 'call');
  return { ...saying, said: withOwnIds(said), end: hasCall && saying.end === 'sequence' ? 'end' : saying.end };
}

/** Every call of an answer has an id of its own. */
export function withOwnIds(said: readonly Said[]): Said[] {
  const taken = new Set<string>();
  return said.map((thing, place) => {
    if (thing.is !== 'call') return thing;
    const id = taken.has(thing.id) ? `${thing.id}_${place}` : thing.id;
    taken.add(id);
    return { ...thing, id };
  });
}

function blockOf(thing: Said): Json {
  switch (thing.is) {
    case 'text':
      return { type: 'text', text: thing.text };
    case 'thinking':
      return { type: 'thinking', thinking: thing.text, signature: thing.seal };
    case 'sealed':
      return { type: 'redacted_thinking', data: thing.seal };
    case 'call':
      return { type: 'tool_use', id: thing.id, name: thing.name, input: null };
  }
}

function blockEvents(thing: Said, index: number, random: () => number): Json[] {
  const start = blockOf(thing);
  const deltas: Json[] = [];
  if (thing.is === 'text') {
    start['text'] = '';
    deltas.push(...piecesOf(thing.text, random).map((text) => ({ type: 'text_delta', text })));
  } else if (thing.is === 'thinking') {
    Object.assign(start, { thinking: '', signature: '' });
    deltas.push(...piecesOf(thing.text, random).map((piece) => ({ type: 'thinking_delta', thinking: piece })));
    deltas.push({ type: 'signature_delta', signature: thing.seal });
  } else if (thing.is === 'call') {
    start['input'] = {};
    deltas.push({ type: 'input_json_delta', partial_json: '' });
    deltas.push(...piecesOf(thing.input, random).map((piece) => ({ type: 'input_json_delta', partial_json: piece })));
  }
  return [
    { type: 'content_block_start', index, content_block: start },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
}

function messageOf(saying: Saying): Json {
  return { id: 'msg_theirs', type: 'message', role: 'assistant', model: 'claude-theirs', ...stopOf(saying) };
}

function stream(saying: Saying, random: () => number): string[] {
  const usage = { ...usageOf(saying.counted), output_tokens: 1 };
  const message = { ...messageOf(saying), content: [], stop_reason: null, stop_sequence: null, usage };
  return [
    eventText({ type: 'message_start', message }),
    eventText({ type: 'ping' }),
    ...saying.said.flatMap((thing, index) => blockEvents(thing, index, random).map(eventText)),
    eventText({ type: 'message_delta', delta: stopOf(saying), usage: finalUsage(saying.counted) }),
    eventText({ type: 'message_stop' }),
  ];
}

/** Inputs are put in as the texts that they are. */
function whole(saying: Saying): string {
  const content = saying.said.map((thing) => {
    const json = JSON.stringify(blockOf(thing));
    return thing.is === 'call' ? json.replace(/"input":null\}$/, () => `"input":${thing.input}}`) : json;
  });
  const usage = { ...usageOf(saying.counted), ...finalUsage(saying.counted) };
  const rest = JSON.stringify({ ...messageOf(saying), usage });
  return `${rest.slice(0, -1)},"content":[${content.join(',')}]}`;
}

function shown({ said }: Saying): Shown[] {
  return said.map((thing): Shown => {
    if (thing.is === 'call') return { type: 'tool_use', name: thing.name, input: thing.input };
    return blockOf(thing) as Shown;
  });
}

const error = (type: string, message: string) => JSON.stringify({ type: 'error', error: { type, message } });

const layout: Layout = {
  resultsByCall: false,
  attachmentsBeside: false,
  restInLastResult: false,
  textBeforeCalls: false,
  systemInside: 'system',
  titleLast: [],
  refuses: [],
  adds: [],
};

/** The Messages protocol by itself, read from its text alone. */
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
      const told = `${String(block['title'] ?? '')}${String(block['context'] ?? '')}`;
      const head: Fact[] = told === '' ? [] : [{ by, text: told }];
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
  baseUrl: 'https://api.anthropic.com',
  model: 'claude-theirs',
  credential: 'sk-ant-ours-0123456789abcdef',
  fit,
  stream,
  eventsBehindEnd: 0,
  whole,
  shown,
  back: ({ said }) => [...said],
  hearsForeignThinking: false,
  tells: (counted) => ({ ...usageOf(counted), ...finalUsage(counted) }),
  tellsSequence: true,
  midway: {
    event: `event: error\ndata: ${error('overloaded_error', 'Overloaded')}\n\n`,
    kind: 'overloaded',
  },
  refusals: {
    'content that is refused': {
      status: 400,
      body: error('invalid_request_error', 'messages.0.content: the words of the refusal'),
      kind: 'rejected',
    },
    'credit in the words of a 400': {
      status: 400,
      body: error('invalid_request_error', 'Your credit balance is too low to access the API.'),
      kind: 'credentials',
    },
    'a key that is not taken': {
      status: 401,
      body: error('authentication_error', 'invalid x-api-key'),
      kind: 'credentials',
    },
    'a wait in milliseconds': {
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
