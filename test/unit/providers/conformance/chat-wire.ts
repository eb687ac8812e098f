// The driver of Chat Completions, for each family: it renders chunks and responses, and reads requests back. It has
// no tests of its own.

import { withOwnIds } from './anthropic-wire.ts';
import { type Family, families } from './chat-families.ts';
import { CallNumbers, type Driver, type Json, mix, objectsOf, piecesOf, type Shown } from './driver.ts';
import { exactText, type Fact } from './facts.ts';
import { type Counted, callsOf, type ModelReply, type Segment, STOP_SEQUENCE } from './model-reply.ts';
import { openaiError as error, readUrl } from './openai-format.ts';

const FINISH = { end: 'stop', length: 'length', refusal: 'content_filter', sequence: 'stop' } as const;

/** A message of this protocol can only have one thought, one text, then calls. */
function fit({ thinkingField, returnedThinkingField, reportsWrites }: Family, reply: ModelReply): ModelReply {
  const seals = reply.segments.flatMap((segment) => (segment.is === 'sealed' ? [segment] : []));
  const thought = joined(reply, 'thinking');
  const words = joined(reply, 'text');
  // White space at both ends of the tags is not significant.
  const shownThought = thinkingField === 'tags' ? thought.replaceAll('</think>', '').trim() : thought;
  const shownWords = thinkingField === 'tags' ? words.trim() : words;
  const isSealed = returnedThinkingField === 'reasoning_details';
  const seal = isSealed
    ? (reply.segments.find(({ is, seal }) => is === 'thinking' && seal !== null)?.seal ?? null)
    : null;
  const segments: Segment[] = [
    ...(thinkingField !== null && shownThought !== '' ? [{ is: 'thinking' as const, text: shownThought, seal }] : []),
    ...(isSealed ? seals.slice(0, 1) : []),
    ...(shownWords !== '' ? [{ is: 'text' as const, text: shownWords, seal: null }] : []),
    ...callsOf(reply).map((one) => ({ ...one, seal: null })),
  ];
  const counted = reportsWrites ? reply.counted : { ...reply.counted, cacheWrite: 0 };
  const end = reply.end === 'sequence' && callsOf(reply).length > 0 ? 'end' : reply.end;
  return { segments: withOwnIds(segments), end, counted };
}

function joined({ segments }: ModelReply, kind: 'text' | 'thinking'): string {
  return segments.map((segment) => (segment.is === kind ? segment.text : '')).join('');
}

function usageOf(family: Family, { input, cacheRead, cacheWrite, output, reasoning }: Counted): Json {
  const prompt = input + cacheRead + cacheWrite;
  const completion = family.countsReasoningSeparately ? output - reasoning : output;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + output,
    ...(family.cacheMember === 'prompt_tokens_details'
      ? {
          prompt_tokens_details: {
            cached_tokens: cacheRead,
            ...(family.reportsWrites && { cache_write_tokens: cacheWrite }),
          },
        }
      : { [family.cacheMember]: cacheRead }),
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

function details(reply: ModelReply): Json[] {
  return reply.segments.flatMap((segment, index): Json[] => {
    if (segment.is === 'thinking')
      return [{ type: 'reasoning.text', text: segment.text, signature: segment.seal, format: 'theirs-v1', index }];
    if (segment.is === 'sealed')
      return [{ type: 'reasoning.encrypted', data: segment.seal, id: 'rs_1', format: 'theirs-v1', index }];
    return [];
  });
}

/** A thought in the field of the family; `piece` is a part of it in a stream. */
function thoughtMember(family: Family, piece: string): Json {
  switch (family.thinkingField) {
    case 'reasoning_content':
      return { reasoning_content: piece };
    case 'parts':
      return { content: [{ type: 'thinking', thinking: [{ type: 'text', text: piece }] }] };
    case 'tags':
      return { content: piece };
    default:
      return { reasoning: piece };
  }
}

function endOf({ reportsSequence }: Family, reply: ModelReply): Json {
  const hasCall = callsOf(reply).length > 0 && reply.end === 'end';
  const reason = hasCall ? 'tool_calls' : FINISH[reply.end];
  return { finish_reason: reason, ...(reportsSequence && reply.end === 'sequence' && { stop_reason: STOP_SEQUENCE }) };
}

function stream(family: Family, reply: ModelReply, random: () => number): string[] {
  const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', model: 'theirs-2026' };
  const chunk = (delta: Json, rest: Json = { finish_reason: null }, beside: Json = {}) =>
    `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, ...rest }], ...beside })}\n\n`;
  const usage = { usage: usageOf(family, reply.counted) };
  const calls = callsOf(reply);
  const begun = calls.map(({ id, name }, index) => ({
    index,
    id,
    type: 'function',
    function: { name, arguments: '' },
  }));
  // Pieces of several calls may be interleaved once all of them have begun.
  const grown = mix(
    calls.map(({ input }, index) =>
      piecesOf(input, random).map((piece) => ({ index, function: { arguments: piece } })),
    ),
    random() < 0.5 ? () => 0 : random,
  );
  return [
    chunk({ role: 'assistant', content: '' }),
    ...thoughtDeltas(family, reply, random).map((delta) => chunk(delta)),
    ...wordsOf(family, reply, random).map((content) => chunk({ content })),
    ...begun.map((one) => chunk({ tool_calls: [one] })),
    ...grown.map((one) => chunk({ tool_calls: [one] })),
    chunk({}, endOf(family, reply), family.usageAtEnd ? usage : {}),
    ...(family.usageAtEnd ? [] : [`data: ${JSON.stringify({ ...head, choices: [], ...usage })}\n\n`]),
    ...(family.sendsDone ? ['data: [DONE]\n\n'] : []),
  ];
}

function thoughtDeltas(family: Family, reply: ModelReply, random: () => number): Json[] {
  const thought = joined(reply, 'thinking');
  if (family.thinkingField === 'tags' || family.thinkingField === null) return [];
  const pieces = piecesOf(thought, random).map((piece) => thoughtMember(family, piece));
  if (family.thinkingField !== 'reasoning_details') return pieces;
  return details(reply).flatMap((detail) => {
    if (detail['type'] !== 'reasoning.text') return [{ reasoning_details: [detail] }];
    const { text, signature, ...rest } = detail;
    const texts = piecesOf(String(text), random).map((piece) => ({
      reasoning: piece,
      reasoning_details: [{ ...rest, text: piece }],
    }));
    return [...texts, { reasoning_details: [{ ...rest, signature }] }];
  });
}

/** The pieces of the text, including the thinking between tags if the family sends it there. */
function wordsOf(family: Family, reply: ModelReply, random: () => number): string[] {
  return piecesOf(contentOf(family, reply), random);
}

function contentOf({ thinkingField }: Family, reply: ModelReply): string {
  const thought = joined(reply, 'thinking');
  const words = joined(reply, 'text');
  return thinkingField === 'tags' && thought !== '' ? `<think>\n${thought}</think>\n\n${words}` : words;
}

function whole(family: Family, reply: ModelReply): string {
  const thought = joined(reply, 'thinking');
  const words = contentOf(family, reply);
  const parts = [
    ...(thought === '' ? [] : [{ type: 'thinking', thinking: [{ type: 'text', text: thought }] }]),
    { type: 'text', text: words },
  ];
  const calls = callsOf(reply).map(({ id, name, input }) => ({
    id,
    type: 'function',
    function: { name, arguments: input },
  }));
  const isApart = family.thinkingField !== 'parts' && family.thinkingField !== 'tags' && thought !== '';
  const message = {
    role: 'assistant',
    ...(isApart && thoughtMember(family, thought)),
    ...(family.thinkingField === 'reasoning_details' && { reasoning_details: details(reply) }),
    content: family.thinkingField === 'parts' ? parts : words === '' ? null : words,
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  return JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model: 'theirs-2026',
    choices: [{ index: 0, message, ...endOf(family, reply) }],
    usage: usageOf(family, reply.counted),
  });
}

function shown(reply: ModelReply): Shown[] {
  const thought = joined(reply, 'thinking');
  const sealed = reply.segments.some(({ is }) => is === 'sealed');
  const blocks: Shown[] = reply.segments.flatMap((segment): Shown[] => {
    if (segment.is === 'text') return [{ type: 'text', text: segment.text }];
    return segment.is === 'call' ? [{ type: 'tool_use', name: segment.name, input: segment.input }] : [];
  });
  const signed = (words: string): Shown => ({ type: 'thinking', thinking: words, signature: expectText });
  if (thought !== '') return [signed(thought), ...blocks];
  return sealed ? [...blocks, signed('')] : blocks; // seals without a thought to show are kept at the end
}

const expectText = 'any';

/** The segments that are sent back to the provider. */
function back({ returnedThinkingField }: Family, { segments }: ModelReply): Segment[] {
  return segments.flatMap((segment): Segment[] => {
    if (segment.is === 'thinking') return returnedThinkingField === null ? [] : [segment];
    if (segment.is === 'sealed') return returnedThinkingField === 'reasoning_details' ? [segment] : [];
    return [segment];
  });
}

function read({ callId }: Family, body: string): ReturnType<Driver['read']> {
  const request = JSON.parse(body) as Json;
  const numbers = new CallNumbers();
  const facts: Fact[] = [];
  for (const message of objectsOf(request['messages'])) {
    facts.push(...readMessage(message, numbers));
    for (const { id } of objectsOf(message['tool_calls']))
      if (!callId.test(String(id))) throw new Error(`an invalid id: ${String(id)}`);
  }
  const tools = objectsOf(request['tools']).map((tool) => {
    const { name, parameters } = tool['function'] as Json;
    return { name: String(name), schema: parameters };
  });
  return { facts, tools };
}

const SPEAKERS: Readonly<Record<string, 'system' | 'user' | 'assistant' | 'result'>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
  tool: 'result',
};

function readMessage(message: Json, numbers: CallNumbers): Fact[] {
  const by = SPEAKERS[String(message['role'])];
  if (by === undefined) throw new Error(`an unknown role: ${JSON.stringify(message)}`);
  const content = message['content'];
  const texts = typeof content === 'string' ? [content] : objectsOf(content).map(({ text }) => String(text));
  const facts =
    typeof content === 'string' ? [{ by, text: content }] : objectsOf(content).flatMap((part) => readPart(part, by));
  if (by === 'result') {
    const isError = /^(?:\[[^\]]*\]|\s)*Error: /.test(texts[0] ?? '');
    return [{ result: numbers.of(String(message['tool_call_id'])), isError }, ...facts];
  }
  return [...readThoughts(message), ...facts, ...objectsOf(message['tool_calls']).map((one) => readCall(one, numbers))];
}

function readPart(part: Json, by: 'system' | 'user' | 'assistant' | 'result'): Fact[] {
  const inside = (name: string) => (part[name] ?? {}) as Json;
  switch (part['type']) {
    case 'text':
      return [{ by, text: String(part['text']) }];
    case 'image_url':
      return [{ attached: readUrl(String(inside('image_url')['url']), 'image') }];
    case 'file': {
      const { filename, file_data } = inside('file');
      return [{ by, text: String(filename) }, { attached: readUrl(String(file_data), 'pdf') }];
    }
    case 'document_url': {
      const name = part['document_name'];
      return [
        ...(name === undefined ? [] : [{ by, text: String(name) }]),
        { attached: readUrl(String(part['document_url']), 'pdf') },
      ];
    }
    default:
      throw new Error(`an unknown part: ${JSON.stringify(part)}`);
  }
}

function readThoughts({ reasoning_content: thought, reasoning_details }: Json): Fact[] {
  const facts: Fact[] = typeof thought === 'string' && thought !== '' ? [{ thought, seal: null }] : [];
  for (const { type, text, signature, data } of objectsOf(reasoning_details))
    facts.push(
      type === 'reasoning.text'
        ? { thought: String(text), seal: (signature ?? null) as string | null }
        : { thought: null, seal: String(data) },
    );
  return facts;
}

function readCall(one: Json, numbers: CallNumbers): Fact {
  const { name, arguments: input } = one['function'] as Json;
  return { call: numbers.begin(String(one['id'])), name: String(name), input: exactText(String(input)), seal: null };
}

const refusals: Driver['refusals'] = {
  'rejected content': {
    status: 400,
    body: error('the text of the refusal', 'invalid_request_error'),
    kind: 'rejected',
  },
  'exhausted credit in the text of a 400': {
    status: 400,
    body: error('You have no credit left.', 'insufficient_quota', 'insufficient_quota'),
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
  overload: { status: 503, body: error('The server is busy', 'server_error'), kind: 'overloaded' },
};

function driverOf(family: Family): Driver {
  return {
    name: `openai (${family.name})`,
    kind: 'openai',
    speaksMessages: false,
    baseUrl: family.baseUrl,
    model: family.model,
    credential: 'sk-ours-0123456789abcdefghij',
    fit: (reply) => fit(family, reply),
    stream: (reply, random) => stream(family, reply, random),
    eventsAfterEnd: (family.usageAtEnd ? 0 : 1) + (family.sendsDone ? 1 : 0),
    whole: (reply) => whole(family, reply),
    shown,
    back: (reply) => back(family, reply),
    acceptsForeignThinking: family.returnedThinkingField === 'reasoning_content',
    reportedCounts: ({ input, cacheRead, cacheWrite, output, reasoning }) => ({
      input_tokens: input,
      cache_creation_input_tokens: cacheWrite,
      cache_read_input_tokens: cacheRead,
      output_tokens: output,
      output_tokens_details: { thinking_tokens: reasoning },
    }),
    reportsSequence: family.reportsSequence,
    midway: { event: `data: ${error('The server is overloaded', 'overloaded_error')}\n\n`, kind: 'overloaded' },
    refusals,
    models: '{"object":"list","data":[{"id":"a"},{"id":"b"}]}',
    layout: {
      resultsByCall: false,
      attachmentsAfterResults: true,
      textInLastResult: family.textInLastResult,
      textBeforeCalls: true,
      systemInside: family.systemAnywhere ? 'system' : 'user',
      titleLast: ['pdf', 'pdf-url'],
      refuses: family.refuses,
      adds: [
        /^Error: /g,
        /\[What it shows follows\.\]/g,
        /Shown by the tool call [^\n]*:/g,
        /Document: |Context: |Search result: |Source: /g,
        /<\/?system-reminder>/g,
        /^document\.pdf$/g,
      ],
    },
    read: (body) => read(family, body),
    toolName: /^[a-zA-Z0-9_-]{1,64}$/,
    parameters: (body) => ({
      maxTokens: body[family.maxTokens],
      stopSequences: body['stop'],
      topP: body['top_p'],
      toolChoice: body['tool_choice'],
    }),
  };
}

export const chatDrivers: readonly Driver[] = families.map(driverOf);
