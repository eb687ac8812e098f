// The driver of OpenAI's Responses protocol: it renders items and events, and reads input back. It has no tests of
// its own.

import { withOwnIds } from './anthropic-wire.ts';
import { CallNumbers, type Driver, type Json, mix, objectsOf, piecesOf, type Shown } from './driver.ts';
import { exactText, type Fact } from './facts.ts';
import type { Counted, ModelReply, Segment } from './model-reply.ts';
import { openaiError as error, readUrl } from './openai-format.ts';

function fit(reply: ModelReply): ModelReply {
  const segments = reply.segments.flatMap((segment, place): Segment[] => {
    if (segment.is === 'text') return segment.text === '' ? [] : [{ ...segment, seal: null }];
    if (segment.is === 'thinking')
      return segment.text === '' ? [] : [{ ...segment, seal: segment.seal ?? `seal${place}` }];
    return segment.is === 'call' ? [{ ...segment, seal: null }] : [segment];
  });
  return { ...reply, segments: withOwnIds(segments), end: reply.end === 'sequence' ? 'end' : reply.end };
}

/** A complete item. */
function itemOf(segment: Segment, place: number): Json {
  const status = 'completed';
  switch (segment.is) {
    case 'text': {
      const content = [{ type: 'output_text', text: segment.text, annotations: [], logprobs: [] }];
      return { type: 'message', id: `msg_${place}`, status, role: 'assistant', content };
    }
    case 'thinking': {
      const parts = segment.text.split('\n\n');
      const texts = parts.includes('') ? [segment.text] : parts;
      const summary = texts.map((text) => ({ type: 'summary_text', text }));
      return { type: 'reasoning', id: `rs_${place}`, summary, encrypted_content: segment.seal };
    }
    case 'sealed':
      return { type: 'reasoning', id: `rs_${place}`, summary: [], encrypted_content: segment.seal };
    case 'call': {
      const { id, name, input } = segment;
      const isHalf = input !== '' && !input.trimEnd().endsWith('}');
      const members = { call_id: id, name, arguments: input, status: isHalf ? 'incomplete' : status };
      return { type: 'function_call', id: `fc_${place}`, ...members };
    }
  }
}

function responseOf(reply: ModelReply, output: readonly Json[]): Json {
  const isCut = reply.end === 'length' || reply.end === 'refusal';
  const reason = reply.end === 'length' ? 'max_output_tokens' : 'content_filter';
  return {
    id: 'resp_1',
    object: 'response',
    model: 'gpt-theirs',
    status: isCut ? 'incomplete' : 'completed',
    incomplete_details: isCut ? { reason } : null,
    error: null,
    output,
    usage: usageOf(reply.counted),
  };
}

function usageOf({ input, cacheRead, cacheWrite, output, reasoning }: Counted): Json {
  const prompt = input + cacheRead + cacheWrite;
  return {
    input_tokens: prompt,
    input_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: cacheWrite },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: prompt + output,
  };
}

/** All events of an item except its first. */
function growthOf(item: Json, output_index: number, random: () => number): Json[] {
  const part = (type: string, text: string, where: Json) => [
    ...piecesOf(text, random).map((delta) => ({ type: `${type}.delta`, output_index, ...where, delta })),
    { type: `${type}.done`, output_index, ...where, text },
  ];
  const grown: Json[] = [];
  if (item['type'] === 'message')
    for (const [content_index, { text }] of objectsOf(item['content']).entries())
      grown.push(...part('response.output_text', String(text), { content_index }));
  if (item['type'] === 'reasoning')
    for (const [summary_index, { text }] of objectsOf(item['summary']).entries())
      grown.push(...part('response.reasoning_summary_text', String(text), { summary_index }));
  if (item['type'] === 'function_call') {
    const type = 'response.function_call_arguments';
    const text = String(item['arguments']);
    grown.push(...piecesOf(text, random).map((delta) => ({ type: `${type}.delta`, output_index, delta })));
    grown.push({ type: `${type}.done`, output_index, arguments: text });
  }
  return [...grown, { type: 'response.output_item.done', output_index, item }];
}

function begunOf(item: Json): Json {
  const begun: Json = { ...item, status: 'in_progress' };
  if (item['type'] === 'message') begun['content'] = [];
  if (item['type'] === 'reasoning') Object.assign(begun, { summary: [], encrypted_content: null });
  if (item['type'] === 'function_call') begun['arguments'] = '';
  return begun;
}

/** Items may be interleaved: one begins before earlier ones are complete. */
function stream(reply: ModelReply, random: () => number): string[] {
  const items = reply.segments.map(itemOf);
  const response = responseOf(reply, items);
  const begin = (item: Json, output_index: number) => ({
    type: 'response.output_item.added',
    output_index,
    item: begunOf(item),
  });
  const grown = items.map((item, index) => growthOf(item, index, random));
  const itemEvents =
    random() < 0.5
      ? items.flatMap((item, index) => [begin(item, index), ...(grown[index] ?? [])])
      : [...items.map(begin), ...mix(grown, random)];
  const begun = { ...response, status: 'in_progress', output: [], usage: null, incomplete_details: null };
  return [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...itemEvents,
    { type: `response.${String(response['status'])}`, response },
  ].map((event, sequence_number) => {
    const json = JSON.stringify({ ...event, sequence_number });
    return `event: ${event.type}\ndata: ${json}\n\n`;
  });
}

function shown({ segments }: ModelReply): Shown[] {
  return segments.map((segment): Shown => {
    switch (segment.is) {
      case 'text':
        return { type: 'text', text: segment.text };
      case 'thinking':
        return { type: 'thinking', thinking: segment.text, signature: 'any' };
      case 'sealed':
        return { type: 'thinking', thinking: '', signature: 'any' };
      case 'call':
        return { type: 'tool_use', name: segment.name, input: segment.input };
      default:
        return segment satisfies never;
    }
  });
}

/** The provider refuses reasoning without following content of the same response. */
function back({ segments }: ModelReply): Segment[] {
  const last = segments.findLastIndex(({ is }) => is === 'text' || is === 'call');
  return segments
    .map((segment, place): Segment => {
      if (segment.is === 'thinking') return { ...segment, seal: `rs_${place} ${segment.seal ?? ''}` };
      return segment.is === 'sealed' ? { ...segment, seal: `rs_${place} ${segment.seal}` } : segment;
    })
    .slice(0, last + 1);
}

function read(body: string): ReturnType<Driver['read']> {
  const request = JSON.parse(body) as Json;
  const numbers = new CallNumbers();
  const { instructions } = request;
  const facts: Fact[] = typeof instructions === 'string' ? [{ by: 'system', text: instructions }] : [];
  for (const item of objectsOf(request['input'])) facts.push(...readItem(item, numbers));
  const tools = objectsOf(request['tools']).map(({ name, parameters }) => ({
    name: String(name),
    schema: parameters,
  }));
  return { facts, tools };
}

function readItem(item: Json, numbers: CallNumbers): Fact[] {
  switch (item['type']) {
    case 'message': {
      const by = item['role'] === 'developer' ? 'system' : (item['role'] as 'user' | 'assistant');
      return objectsOf(item['content']).flatMap((part) => readPart(part, by));
    }
    case 'function_call': {
      const input = exactText(String(item['arguments']));
      const id = String(item['call_id']);
      if (numbers.of(id) >= 0 || id.length > 64) throw new Error(`an invalid id: ${id}`);
      return [{ call: numbers.begin(id), name: String(item['name']), input, seal: null }];
    }
    case 'function_call_output': {
      const { output } = item;
      const facts: Fact[] =
        typeof output === 'string'
          ? [{ by: 'result', text: output }]
          : objectsOf(output).flatMap((part) => readPart(part, 'result'));
      const first = facts[0];
      const isError = first !== undefined && 'text' in first && first.text.startsWith('Error:');
      return [{ result: numbers.of(String(item['call_id'])), isError }, ...facts];
    }
    case 'reasoning': {
      const thought = objectsOf(item['summary']).map(({ text }) => String(text));
      const seal = `${String(item['id'])} ${String(item['encrypted_content'] ?? '')}`;
      return [{ thought: thought.length === 0 ? null : thought.join('\n\n'), seal }];
    }
    default:
      throw new Error(`an unknown item: ${JSON.stringify(item)}`);
  }
}

function readPart(part: Json, by: 'system' | 'user' | 'assistant' | 'result'): Fact[] {
  switch (part['type']) {
    case 'input_text':
    case 'output_text':
      if ((part['type'] === 'output_text') !== (by === 'assistant'))
        throw new Error(`unexpected content of ${by}: ${String(part['type'])}`);
      return [{ by, text: String(part['text']) }];
    case 'input_image':
      return [{ attached: readUrl(String(part['image_url']), 'image') }];
    case 'input_file': {
      const { filename, file_data, file_url } = part;
      if (file_url !== undefined) return [{ attached: readUrl(String(file_url), 'pdf') }];
      return [{ by, text: String(filename) }, { attached: readUrl(String(file_data), 'pdf') }];
    }
    default:
      throw new Error(`an unknown part: ${JSON.stringify(part)}`);
  }
}

export const responsesDriver: Driver = {
  name: 'openai-responses',
  kind: 'openai-responses',
  speaksMessages: false,
  baseUrl: 'https://api.openai.com',
  model: 'gpt-5.5',
  credential: 'sk-proj-ours-0123456789abcdef',
  fit,
  stream,
  eventsAfterEnd: 0,
  whole: (reply) => JSON.stringify(responseOf(reply, reply.segments.map(itemOf))),
  shown,
  back,
  acceptsForeignThinking: false,
  reportedCounts: ({ input, cacheRead, cacheWrite, output, reasoning }) => ({
    input_tokens: input,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
    output_tokens: output,
    output_tokens_details: { thinking_tokens: reasoning },
  }),
  reportsSequence: false,
  midway: {
    event: `event: error\ndata: {"type":"error","code":"server_is_overloaded","message":"Overloaded","param":null}\n\n`,
    kind: 'overloaded',
  },
  refusals: {
    'rejected content': {
      status: 400,
      body: error('the text of the refusal', 'invalid_request_error', 'invalid_value'),
      kind: 'rejected',
    },
    'exhausted credit in the text of a 400': {
      status: 400,
      body: error('Your account is not active.', 'invalid_request_error', 'billing_not_active'),
      kind: 'credentials',
    },
    'exhausted credit as a 429': {
      status: 429,
      body: error('You exceeded your current quota.', 'insufficient_quota', 'insufficient_quota'),
      kind: 'credentials',
    },
    'a refused key': {
      status: 401,
      body: error('Incorrect API key provided', 'invalid_request_error', 'invalid_api_key'),
      kind: 'credentials',
    },
    overload: { status: 503, body: error('Slow down', 'server_error', 'slow_down'), kind: 'overloaded' },
  },
  models: '{"object":"list","data":[{"id":"a"},{"id":"b"}]}',
  layout: {
    resultsByCall: false,
    attachmentsAfterResults: false,
    textInLastResult: false,
    textBeforeCalls: false,
    systemInside: 'system',
    titleLast: ['pdf'],
    refuses: [],
    adds: [/^Error:/g, /Document: |Search result: |Source: /g, /^document\.pdf$|\.pdf$/g],
  },
  read,
  toolName: /^[a-zA-Z0-9_-]{1,64}$/,
  parameters: (body) => ({
    maxTokens: body['max_output_tokens'],
    stopSequences: undefined,
    topP: undefined,
    toolChoice: body['tool_choice'],
  }),
};
