// The drivers of Amazon Bedrock: Claude by InvokeModel, whose events are those of the Messages protocol in frames, and
// other models by Converse. They have no tests of their own.

import { crc32 } from 'node:zlib';
import { anthropicDriver, withOwnIds } from './anthropic-wire.ts';
import { CallNumbers, type Driver, type Json, objectsOf, piecesOf, type Refusal, type Shown } from './driver.ts';
import { type Fact, readExactly } from './facts.ts';
import { type Counted, callsOf, type ModelReply, type Segment } from './model-reply.ts';

const CHECKSUM_BYTES = 4;
const PRELUDE_BYTES = 8;
const STRING = 7;

/** A frame of AWS's event stream, by its specification. */
export function frameOf(headers: Readonly<Record<string, string>>, payload: string): Uint8Array {
  const encoded = Object.entries(headers).flatMap(([name, value]) => {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(Buffer.byteLength(value));
    return [
      Buffer.from([Buffer.byteLength(name)]),
      Buffer.from(name),
      Buffer.from([STRING]),
      length,
      Buffer.from(value),
    ];
  });
  const [head, body] = [Buffer.concat(encoded), Buffer.from(payload)];
  const prelude = Buffer.alloc(PRELUDE_BYTES);
  prelude.writeUInt32BE(PRELUDE_BYTES + head.length + body.length + 2 * CHECKSUM_BYTES);
  prelude.writeUInt32BE(head.length, 4);
  const checked = Buffer.concat([prelude, checksum(prelude), head, body]);
  return Buffer.concat([checked, checksum(checked)]);
}

function checksum(bytes: Uint8Array): Buffer {
  const sum = Buffer.alloc(CHECKSUM_BYTES);
  sum.writeUInt32BE(crc32(bytes));
  return sum;
}

/** "name {…}" is an event, "!name {…}" an exception; anything else is no frame. */
function encode(event: string): Uint8Array {
  const [, mark, name = '', payload = ''] = /^(!?)(\w+) (\{.*)$/s.exec(event) ?? [];
  if (mark === undefined) return Buffer.from(event);
  const type: Record<string, string> =
    mark === '!'
      ? { ':message-type': 'exception', ':exception-type': name }
      : { ':message-type': 'event', ':event-type': name };
  return frameOf({ ...type, ':content-type': 'application/json' }, payload);
}

const eventOf = (name: string, payload: Json) => `${name} ${JSON.stringify({ ...payload, p: 'abcdefgh' })}`;
const errorOf = (type: string, message: string) => JSON.stringify({ __type: type, message });

const refusals: Readonly<Record<string, Refusal>> = {
  'rejected content': {
    status: 400,
    body: errorOf('ValidationException', 'The model returned the following errors: the text of the refusal'),
    kind: 'rejected',
  },
  'a model that is not there': {
    status: 400,
    body: errorOf('ValidationException', 'The provided model identifier is invalid.'),
    kind: 'not_found',
  },
  'a refused key': {
    status: 403,
    headers: { 'x-amzn-errortype': 'UnrecognizedClientException:http://internal.amazon.com/' },
    body: '{"message":"The security token included in the request is invalid."}',
    kind: 'credentials',
  },
  'an exhausted quota': {
    status: 400,
    body: errorOf('com.amazon.coral#ServiceQuotaExceededException', 'Too many tokens per day'),
    kind: 'rate_limited',
  },
  'a retry time': {
    status: 429,
    headers: { 'retry-after': '2' },
    body: errorOf('ThrottlingException', 'Too many requests, please wait before trying again.'),
    kind: 'rate_limited',
    retryAfterMs: 2_000,
  },
  'a model that is not ready': {
    status: 429,
    body: errorOf('ModelNotReadyException', 'The model is not ready.'),
    kind: 'overloaded',
  },
  'a failed model': { status: 424, body: errorOf('ModelErrorException', 'The model failed.'), kind: 'failed' },
};

const common = {
  kind: 'bedrock',
  baseUrl: 'https://bedrock-runtime.eu-central-1.amazonaws.com',
  credential: 'ABSK-ours-0123456789abcdef',
  framing: { contentType: 'application/vnd.amazon.eventstream', encode },
  eventsAfterEnd: 0,
  midway: { event: '!throttlingException {"message":"Too many requests"}', kind: 'rate_limited' },
  refusals,
  models: { status: 400, body: errorOf('ValidationException', 'The provided model identifier is invalid.') },
} as const;

/** The events of the Messages protocol in chunks, the last one with Bedrock's own counts. */
function streamChunks(reply: ModelReply, random: () => number): string[] {
  return anthropicDriver.stream(reply, random).map((event) => {
    const text = event.slice(event.indexOf('data: ') + 'data: '.length).trimEnd();
    const metrics = { 'amazon-bedrock-invocationMetrics': { inputTokenCount: 1, outputTokenCount: 2 } };
    const inner = text === '{"type":"message_stop"}' ? JSON.stringify({ type: 'message_stop', ...metrics }) : text;
    return eventOf('chunk', { bytes: Buffer.from(inner).toString('base64') });
  });
}

export const bedrockClaudeDriver: Driver = {
  ...anthropicDriver,
  ...common,
  name: 'bedrock (claude)',
  model: 'eu.anthropic.claude-theirs-v1:0',
  stream: streamChunks,
  wire: 'anthropic',
  layout: { ...anthropicDriver.layout, refuses: ['image-url', 'pdf-url', 'web-url'] },
};

const STOPS = {
  end: 'end_turn',
  length: 'max_tokens',
  refusal: 'content_filtered',
  sequence: 'stop_sequence',
} as const;

function fit(reply: ModelReply): ModelReply {
  const segments = reply.segments.flatMap((segment): Segment[] => {
    if (segment.is === 'text') return segment.text === '' ? [] : [{ ...segment, seal: null }];
    if (segment.is === 'thinking') return segment.text === '' && segment.seal === null ? [] : [segment];
    return segment.is === 'call' ? [{ ...segment, seal: null }] : [segment];
  });
  const hasCall = segments.some(({ is }) => is === 'call');
  return { ...reply, segments: withOwnIds(segments), end: hasCall && reply.end === 'sequence' ? 'end' : reply.end };
}

function usageOf({ input, cacheRead, cacheWrite, output }: Counted): Json {
  return {
    inputTokens: input,
    outputTokens: output,
    totalTokens: input + output,
    cacheReadInputTokens: cacheRead,
    cacheWriteInputTokens: cacheWrite,
  };
}

function stopOf(reply: ModelReply): string {
  return reply.end === 'end' && callsOf(reply).length > 0 ? 'tool_use' : STOPS[reply.end];
}

function deltasOf(segment: Segment, random: () => number): Json[] {
  switch (segment.is) {
    case 'text':
      return piecesOf(segment.text, random).map((text) => ({ text }));
    case 'thinking': {
      const signed = segment.seal === null ? [] : [{ reasoningContent: { signature: segment.seal } }];
      return [...piecesOf(segment.text, random).map((text) => ({ reasoningContent: { text } })), ...signed];
    }
    case 'sealed':
      return [{ reasoningContent: { redactedContent: segment.seal } }];
    case 'call':
      return piecesOf(segment.input, random).map((input) => ({ toolUse: { input } }));
  }
}

function stream(reply: ModelReply, random: () => number): string[] {
  const blocks = reply.segments.flatMap((segment, contentBlockIndex) => {
    const start =
      segment.is === 'call'
        ? [
            eventOf('contentBlockStart', {
              contentBlockIndex,
              start: { toolUse: { toolUseId: segment.id, name: segment.name } },
            }),
          ]
        : [];
    const deltas = deltasOf(segment, random).map((delta) => eventOf('contentBlockDelta', { contentBlockIndex, delta }));
    return [...start, ...deltas, eventOf('contentBlockStop', { contentBlockIndex })];
  });
  return [
    eventOf('messageStart', { role: 'assistant' }),
    ...blocks,
    eventOf('messageStop', { stopReason: stopOf(reply) }),
    eventOf('metadata', { usage: usageOf(reply.counted), metrics: { latencyMs: 9 } }),
  ];
}

/** Inputs are inserted as JSON text, without parsing. */
function blockText(segment: Segment): string {
  switch (segment.is) {
    case 'text':
      return JSON.stringify({ text: segment.text });
    case 'thinking': {
      const signed = segment.seal === null ? {} : { signature: segment.seal };
      return JSON.stringify({ reasoningContent: { reasoningText: { text: segment.text, ...signed } } });
    }
    case 'sealed':
      return JSON.stringify({ reasoningContent: { redactedContent: segment.seal } });
    case 'call': {
      const { id: toolUseId, name, input } = segment;
      return JSON.stringify({ toolUse: { toolUseId, name, input: 0 } }).replace(/0\}\}$/, () => `${input}}}`);
    }
  }
}

function whole(reply: ModelReply): string {
  const rest = JSON.stringify({ stopReason: stopOf(reply), usage: usageOf(reply.counted), metrics: { latencyMs: 9 } });
  const content = reply.segments.map(blockText).join(',');
  return `{"output":{"message":{"role":"assistant","content":[${content}]}},${rest.slice(1)}`;
}

function shown({ segments }: ModelReply): Shown[] {
  return segments.map((segment): Shown => {
    switch (segment.is) {
      case 'text':
        return { type: 'text', text: segment.text };
      case 'call':
        return { type: 'tool_use', name: segment.name, input: segment.input };
      default:
        return { type: 'thinking', thinking: segment.is === 'thinking' ? segment.text : '', signature: 'any' };
    }
  });
}

/** Reasoning that the model did not sign is not sent back. */
function back({ segments }: ModelReply): Segment[] {
  return segments.filter((segment) => segment.is !== 'thinking' || segment.seal !== null);
}

function read(body: string): ReturnType<Driver['read']> {
  const exact = readExactly(body) as Json;
  const request = JSON.parse(body) as Json;
  const numbers = new CallNumbers();
  const facts: Fact[] = objectsOf(exact['system']).map(({ text }) => ({ by: 'system', text: String(text) }));
  let before = '';
  for (const { role, content } of objectsOf(exact['messages'])) {
    if (role === before) throw new Error(`two messages of one role: ${String(role)}`);
    before = String(role);
    const by = role === 'assistant' ? 'assistant' : 'user';
    facts.push(...objectsOf(content).flatMap((part) => readPart(part, by, numbers)));
  }
  const { tools } = (request['toolConfig'] ?? {}) as Json;
  return {
    facts,
    tools: objectsOf(tools).map(({ toolSpec }) => {
      const { name, inputSchema } = toolSpec as { name: string; inputSchema: { json: unknown } };
      return { name, schema: inputSchema.json };
    }),
  };
}

function readPart(part: Json, by: 'user' | 'assistant' | 'result', numbers: CallNumbers): Fact[] {
  const [kind = ''] = Object.keys(part);
  const value = part[kind] as Json;
  switch (kind) {
    case 'text':
      return [{ by, text: String(value) }];
    case 'cachePoint':
      return [];
    case 'image':
    case 'document': {
      const { format, source } = value as { format: string; source: Json };
      return [{ attached: `${kind === 'image' ? 'image' : 'application'}/${format} ${String(source['bytes'])}` }];
    }
    case 'toolUse': {
      const { toolUseId, name, input } = value;
      const call = numbers.begin(String(toolUseId));
      return [{ call, name: String(name), input: JSON.stringify(input), seal: null }];
    }
    case 'toolResult': {
      const head: Fact = { result: numbers.of(String(value['toolUseId'])), isError: value['status'] === 'error' };
      return [head, ...objectsOf(value['content']).flatMap((inner) => readPart(inner, 'result', numbers))];
    }
    case 'reasoningContent': {
      const { reasoningText, redactedContent } = value as { reasoningText?: Json; redactedContent?: string };
      if (reasoningText === undefined) return [{ thought: null, seal: String(redactedContent) }];
      return [{ thought: String(reasoningText['text']), seal: String(reasoningText['signature']) }];
    }
    default:
      throw new Error(`unknown content: ${JSON.stringify(part)}`);
  }
}

export const converseDriver: Driver = {
  ...common,
  name: 'bedrock (converse)',
  speaksMessages: false,
  model: 'eu.amazon.nova-pro-v1:0',
  fit,
  stream,
  whole,
  shown,
  back,
  acceptsForeignThinking: false,
  reportedCounts: ({ input, cacheRead, cacheWrite, output }) => ({
    input_tokens: input,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
    output_tokens: output,
  }),
  reportsSequence: true,
  layout: {
    resultsByCall: false,
    attachmentsAfterResults: false,
    textInLastResult: false,
    textBeforeCalls: false,
    systemInside: 'user',
    titleLast: [],
    refuses: ['image-url', 'pdf-url', 'web-url'],
    adds: [
      /(?:Document|Context|Search result|Source): /g,
      /<\/?system-reminder>/g,
      /^\((?:no output|see the document)\)$/g,
    ],
  },
  read,
  toolName: /^[a-zA-Z0-9_-]{1,64}$/,
  parameters: (body) => {
    const config = body['inferenceConfig'] as Json;
    return {
      maxTokens: config['maxTokens'],
      stopSequences: config['stopSequences'],
      topP: config['topP'],
      toolChoice: (body['toolConfig'] as Json | undefined)?.['toolChoice'],
    };
  },
};
