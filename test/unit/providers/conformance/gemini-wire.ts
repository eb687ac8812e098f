// The driver of Gemini's generateContent: it renders chunks of parts, and reads contents back. It has no tests of its
// own.

import { withOwnIds } from './anthropic-wire.ts';
import { type Driver, type Json, objectsOf, piecesOf, type Shown } from './driver.ts';
import type { Fact } from './facts.ts';
import { onText, readExactly } from './facts.ts';
import type { Counted, ModelReply, Segment } from './model-reply.ts';

const FINISH = { end: 'STOP', length: 'MAX_TOKENS', refusal: 'SAFETY', sequence: 'STOP' } as const;
/** Google's own placeholder for an unknown signature. */
const UNKNOWN_SEAL = 'skip_thought_signature_validator';

/** Adjacent parts of one kind are merged, unless a signature separates them. */
function fit(reply: ModelReply): ModelReply {
  const segments: Segment[] = [];
  for (const segment of reply.segments) {
    if ((segment.is === 'text' || segment.is === 'thinking') && segment.text === '') continue;
    const last = segments.at(-1);
    const isSame = last?.is === segment.is && (last.is === 'text' || last.is === 'thinking') && last.seal === null;
    if (isSame && (segment.is === 'text' || segment.is === 'thinking'))
      segments[segments.length - 1] = { ...segment, text: last.text + segment.text };
    else segments.push(segment);
  }
  const counted = { ...reply.counted, cacheWrite: 0 };
  return { segments: withOwnIds(segments), end: reply.end === 'sequence' ? 'end' : reply.end, counted };
}

/** The Gemini parts of one segment as JSON; inputs of calls keep their text. */
function partsOf(segment: Segment, pieces: (text: string) => string[]): string[] {
  const signed = (seal: string | null) => (seal === null ? {} : { thoughtSignature: seal });
  switch (segment.is) {
    case 'text':
    case 'thinking': {
      const texts = pieces(segment.text);
      const rest = segment.is === 'thinking' ? { thought: true } : {};
      return texts.map((text, place) =>
        JSON.stringify({ text, ...rest, ...(place === texts.length - 1 && signed(segment.seal)) }),
      );
    }
    case 'sealed':
      return [JSON.stringify({ text: '', thoughtSignature: segment.seal })];
    case 'call': {
      const part = JSON.stringify({
        functionCall: { id: segment.id, name: segment.name, args: '@args@' },
        ...signed(segment.seal),
      });
      return [part.replace('"@args@"', () => segment.input.replaceAll('\n', ' '))]; // an event must be one line
    }
  }
}

function usageOf({ input, cacheRead, output, reasoning }: Counted): Json {
  const prompt = input + cacheRead;
  // Zero counts are left out of its JSON.
  const counts: Record<string, number> = {
    promptTokenCount: prompt,
    cachedContentTokenCount: cacheRead,
    candidatesTokenCount: output - reasoning,
    thoughtsTokenCount: reasoning,
    totalTokenCount: prompt + output,
  };
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}

function chunkOf(parts: readonly string[], reply: ModelReply, isLast: boolean): string {
  const usage = isLast ? usageOf(reply.counted) : { promptTokenCount: reply.counted.input + reply.counted.cacheRead };
  const finish = isLast ? `,"finishReason":"${FINISH[reply.end]}"` : '';
  const content = `"content":{"parts":[${parts.join(',')}],"role":"model"}`;
  const rest = JSON.stringify({ usageMetadata: usage, modelVersion: 'gemini-theirs', responseId: 'r1' });
  return `{"candidates":[{${content}${finish},"index":0}],${rest.slice(1)}`;
}

function stream(reply: ModelReply, random: () => number): string[] {
  const parts = reply.segments.flatMap((segment) => partsOf(segment, (text) => piecesOf(text, random)));
  const chunks: string[][] = [];
  for (const part of parts) {
    const last = chunks.at(-1);
    if (last !== undefined && random() < 0.3) last.push(part);
    else chunks.push([part]);
  }
  if (chunks.length === 0 || random() < 0.5) chunks.push(['{"text":""}']);
  return chunks.map((chunk, place) => `data: ${chunkOf(chunk, reply, place === chunks.length - 1)}\r\n\r\n`);
}

function shown({ segments }: ModelReply): Shown[] {
  const blocks: Shown[] = [];
  let isOpen = false; // a thought without its own signature takes that of the part after it
  for (const segment of segments) {
    if (segment.is === 'text') blocks.push({ type: 'text', text: segment.text });
    if (segment.is === 'thinking') blocks.push({ type: 'thinking', thinking: segment.text, signature: 'any' });
    const isTaken = segment.is === 'thinking' || (isOpen && segment.is !== 'text');
    if (segment.seal !== null && !isTaken) blocks.push({ type: 'thinking', thinking: '', signature: 'any' });
    if (segment.is === 'call') blocks.push({ type: 'tool_use', name: segment.name, input: segment.input });
    isOpen = segment.is === 'thinking' && segment.seal === null;
  }
  return blocks;
}

/** A thought without a signature is not sent back. */
function back({ segments }: ModelReply): Segment[] {
  return segments.filter((segment) => segment.is !== 'thinking' || segment.seal !== null);
}

/** Results are matched to calls by their order. */
function read(body: string): ReturnType<Driver['read']> {
  const request = JSON.parse(body) as Json;
  const exact = readExactly(body) as Json;
  const facts: Fact[] = partsIn(request['systemInstruction']).flatMap((part) => readPart(part, 'system'));
  let calls: { number: number; name: string }[] = [];
  let count = 0;
  let before = '';
  for (const content of objectsOf(exact['contents'])) {
    const role = String(content['role']);
    if (role === before) throw new Error(`two contents of one role: ${role}`);
    before = role;
    if (role === 'model') calls = [];
    for (const part of partsIn(content)) {
      const { functionCall, functionResponse } = part as { functionCall?: Json; functionResponse?: Json };
      if (functionCall !== undefined) {
        calls.push({ number: count, name: String(functionCall['name']) });
        facts.push(readCall(functionCall, part, count++));
      } else if (functionResponse !== undefined) {
        const called = calls.shift();
        if (called === undefined || called.name !== functionResponse['name'])
          throw new Error(`a result without a call: ${JSON.stringify(part)}`);
        facts.push(...readResult(functionResponse, called.number));
      } else facts.push(...readPart(part, role === 'model' ? 'assistant' : 'user'));
    }
  }
  const [group] = objectsOf(request['tools']);
  const tools = objectsOf(group?.['functionDeclarations']).map(({ name, parameters }) => ({
    name: String(name),
    schema: parameters,
  }));
  return { facts, tools };
}

function partsIn(content: unknown): Json[] {
  return objectsOf((content as Json | undefined)?.['parts']);
}

function readCall({ name, args }: Json, { thoughtSignature }: Json, number: number): Fact {
  const seal = thoughtSignature === undefined || thoughtSignature === UNKNOWN_SEAL ? null : String(thoughtSignature);
  return { call: number, name: String(name), input: JSON.stringify(args), seal };
}

function readResult({ response }: Json, number: number): Fact[] {
  const { output, error } = response as Json;
  return [
    { result: number, isError: error !== undefined },
    { by: 'result', text: String(error ?? output) },
  ];
}

function readPart(part: Json, by: 'system' | 'user' | 'assistant'): Fact[] {
  const { text, thought, thoughtSignature, inlineData, fileData } = part as Record<string, Json | undefined>;
  if (inlineData !== undefined)
    return [{ attached: `${String(inlineData['mimeType'])} ${String(inlineData['data'])}` }];
  if (fileData !== undefined) {
    const kind = fileData['mimeType'] === 'application/pdf' ? 'pdf' : 'image';
    return [{ attached: `${kind} at ${String(fileData['fileUri'])}` }];
  }
  if (typeof text !== 'string') throw new Error(`an unknown part: ${JSON.stringify(part)}`);
  const seal = thoughtSignature === undefined ? null : String(thoughtSignature);
  if ((thought as unknown) === true) return [{ thought: text, seal }];
  const facts: Fact[] = text === '' ? [] : [{ by, text }];
  // A seal on a text differs from a seal on a part of its own.
  return seal === null ? facts : [...facts, { thought: null, seal: text === '' ? seal : onText(seal) }];
}

const error = (code: number, status: string, message: string, details: Json[] = []) =>
  JSON.stringify({ error: { code, status, message, details } });

export const geminiDriver: Driver = {
  name: 'gemini',
  kind: 'gemini',
  speaksMessages: false,
  baseUrl: 'https://generativelanguage.googleapis.com',
  model: 'gemini-3.6-flash',
  credential: 'AIzaOurKeyAtGemini0123456789',
  fit,
  stream,
  eventsAfterEnd: 0,
  whole: (reply) =>
    chunkOf(
      reply.segments.flatMap((segment) => partsOf(segment, (text) => [text])),
      reply,
      true,
    ),
  shown,
  back,
  acceptsForeignThinking: false,
  reportedCounts: ({ input, cacheRead, output, reasoning }) => ({
    input_tokens: input,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cacheRead,
    output_tokens: output,
    ...(reasoning > 0 && { output_tokens_details: { thinking_tokens: reasoning } }),
  }),
  reportsSequence: false,
  midway: { event: `data: ${error(503, 'UNAVAILABLE', 'Overloaded')}\r\n\r\n`, kind: 'overloaded' },
  refusals: {
    'rejected content': {
      status: 400,
      body: error(400, 'INVALID_ARGUMENT', 'the text of the refusal'),
      kind: 'rejected',
    },
    'exhausted credit in the text of a 400': {
      status: 400,
      body: error(400, 'FAILED_PRECONDITION', 'Please enable billing on the project.'),
      kind: 'credentials',
    },
    'a refused key': {
      status: 400,
      body: error(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.'),
      kind: 'credentials',
    },
    'a retry time in its details': {
      status: 429,
      body: error(429, 'RESOURCE_EXHAUSTED', 'Quota.', [
        { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '37.5s' },
      ]),
      kind: 'rate_limited',
      retryAfterMs: 37_500,
    },
    overload: { status: 503, body: error(503, 'UNAVAILABLE', 'Overloaded'), kind: 'overloaded' },
  },
  models: '{"models":[{"name":"models/a"},{"name":"models/b"}]}',
  layout: {
    resultsByCall: true,
    attachmentsAfterResults: true,
    textInLastResult: false,
    textBeforeCalls: false,
    systemInside: 'user',
    titleLast: [],
    refuses: ['image-gif', 'web-url'],
    adds: [
      /\(an attachment, which follows\)/g,
      /^Attached to the result of [^\n]*:$/g,
      /(?:title|context|source): /g,
      /<\/?system-reminder>/g,
    ],
  },
  read,
  toolName: /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/,
  parameters: (body) => {
    const config = body['generationConfig'] as Json;
    const choice = body['toolConfig'] as { functionCallingConfig?: unknown } | undefined;
    return {
      maxTokens: config['maxOutputTokens'],
      stopSequences: config['stopSequences'],
      topP: config['topP'],
      toolChoice: choice?.functionCallingConfig,
    };
  },
};
