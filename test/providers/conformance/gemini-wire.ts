// The driver of Gemini's generateContent: its chunks of parts from a saying, its contents read back. Not a test.

import { withOwnIds } from './anthropic-wire.ts';
import { type Driver, type Json, objectsOf, piecesOf, type Shown } from './driver.ts';
import type { Fact } from './facts.ts';
import { onText, readExactly } from './facts.ts';
import type { Counted, Said, Saying } from './saying.ts';

const FINISH = { end: 'STOP', length: 'MAX_TOKENS', refusal: 'SAFETY', sequence: 'STOP' } as const;
/** Google's own word for a signature that is not known. */
const UNKNOWN_SEAL = 'skip_thought_signature_validator';

/** Neighbours of one kind are one, unless a signature parts them. */
function fit(saying: Saying): Saying {
  const said: Said[] = [];
  for (const thing of saying.said) {
    if ((thing.is === 'text' || thing.is === 'thinking') && thing.text === '') continue;
    const last = said.at(-1);
    const isSame = last?.is === thing.is && (last.is === 'text' || last.is === 'thinking') && last.seal === null;
    if (isSame && (thing.is === 'text' || thing.is === 'thinking'))
      said[said.length - 1] = { ...thing, text: last.text + thing.text };
    else said.push(thing);
  }
  const counted = { ...saying.counted, cacheWrite: 0 };
  return { said: withOwnIds(said), end: saying.end === 'sequence' ? 'end' : saying.end, counted };
}

/** The parts of one thing as JSON: inputs of calls stay the text that they are. */
function partsOf(thing: Said, pieces: (text: string) => string[]): string[] {
  const signed = (seal: string | null) => (seal === null ? {} : { thoughtSignature: seal });
  switch (thing.is) {
    case 'text':
    case 'thinking': {
      const texts = pieces(thing.text);
      const rest = thing.is === 'thinking' ? { thought: true } : {};
      return texts.map((text, place) =>
        JSON.stringify({ text, ...rest, ...(place === texts.length - 1 && signed(thing.seal)) }),
      );
    }
    case 'sealed':
      return [JSON.stringify({ text: '', thoughtSignature: thing.seal })];
    case 'call': {
      const part = JSON.stringify({
        functionCall: { id: thing.id, name: thing.name, args: '@args@' },
        ...signed(thing.seal),
      });
      return [part.replace('"@args@"', () => thing.input.replaceAll('\n', ' '))]; // an event is one line
    }
  }
}

function usageOf({ input, cacheRead, output, reasoning }: Counted): Json {
  const prompt = input + cacheRead;
  // What is zero is left out of its JSON.
  const counts: Record<string, number> = {
    promptTokenCount: prompt,
    cachedContentTokenCount: cacheRead,
    candidatesTokenCount: output - reasoning,
    thoughtsTokenCount: reasoning,
    totalTokenCount: prompt + output,
  };
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}

function chunkOf(parts: readonly string[], saying: Saying, isLast: boolean): string {
  const usage = isLast
    ? usageOf(saying.counted)
    : { promptTokenCount: saying.counted.input + saying.counted.cacheRead };
  const finish = isLast ? `,"finishReason":"${FINISH[saying.end]}"` : '';
  const content = `"content":{"parts":[${parts.join(',')}],"role":"model"}`;
  const rest = JSON.stringify({ usageMetadata: usage, modelVersion: 'gemini-theirs', responseId: 'r1' });
  return `{"candidates":[{${content}${finish},"index":0}],${rest.slice(1)}`;
}

function stream(saying: Saying, random: () => number): string[] {
  const parts = saying.said.flatMap((thing) => partsOf(thing, (text) => piecesOf(text, random)));
  const chunks: string[][] = [];
  for (const part of parts) {
    const last = chunks.at(-1);
    if (last !== undefined && random() < 0.3) last.push(part);
    else chunks.push([part]);
  }
  if (chunks.length === 0 || random() < 0.5) chunks.push(['{"text":""}']);
  return chunks.map((chunk, place) => `data: ${chunkOf(chunk, saying, place === chunks.length - 1)}\r\n\r\n`);
}

function shown({ said }: Saying): Shown[] {
  const blocks: Shown[] = [];
  let isOpen = false; // a thought that has no signature of its own takes that of what follows it
  for (const thing of said) {
    if (thing.is === 'text') blocks.push({ type: 'text', text: thing.text });
    if (thing.is === 'thinking') blocks.push({ type: 'thinking', thinking: thing.text, signature: 'any' });
    const isTaken = thing.is === 'thinking' || (isOpen && thing.is !== 'text');
    if (thing.seal !== null && !isTaken) blocks.push({ type: 'thinking', thinking: '', signature: 'any' });
    if (thing.is === 'call') blocks.push({ type: 'tool_use', name: thing.name, input: thing.input });
    isOpen = thing.is === 'thinking' && thing.seal === null;
  }
  return blocks;
}

/** A thought without a signature is nothing that it needs again. */
function back({ said }: Saying): Said[] {
  return said.filter((thing) => thing.is !== 'thinking' || thing.seal !== null);
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
          throw new Error(`a result of no call: ${JSON.stringify(part)}`);
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
  const said: Fact[] = text === '' ? [] : [{ by, text }];
  // On a text it is another than on a part of its own.
  return seal === null ? said : [...said, { thought: null, seal: text === '' ? seal : onText(seal) }];
}

const error = (code: number, status: string, message: string, details: Json[] = []) =>
  JSON.stringify({ error: { code, status, message, details } });

export const geminiDriver: Driver = {
  name: 'gemini',
  kind: 'gemini',
  baseUrl: 'https://generativelanguage.googleapis.com',
  model: 'gemini-3.6-flash',
  credential: 'AIzaOurKeyAtGemini0123456789',
  fit,
  stream,
  eventsBehindEnd: 0,
  whole: (saying) =>
    chunkOf(
      saying.said.flatMap((thing) => partsOf(thing, (text) => [text])),
      saying,
      true,
    ),
  shown,
  back,
  hearsForeignThinking: false,
  tells: ({ input, cacheRead, output, reasoning }) => ({
    input_tokens: input,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cacheRead,
    output_tokens: output,
    ...(reasoning > 0 && { output_tokens_details: { thinking_tokens: reasoning } }),
  }),
  tellsSequence: false,
  midway: { event: `data: ${error(503, 'UNAVAILABLE', 'Overloaded')}\r\n\r\n`, kind: 'overloaded' },
  refusals: {
    'content that is refused': {
      status: 400,
      body: error(400, 'INVALID_ARGUMENT', 'the words of the refusal'),
      kind: 'rejected',
    },
    'credit in the words of a 400': {
      status: 400,
      body: error(400, 'FAILED_PRECONDITION', 'Please enable billing on the project.'),
      kind: 'credentials',
    },
    'a key that is not taken': {
      status: 400,
      body: error(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.'),
      kind: 'credentials',
    },
    'a wait in its details': {
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
    attachmentsBeside: true,
    restInLastResult: false,
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
