// The driver of Chat Completions, for each family: its chunks and answers from a saying, its requests read back. Not a test.

import { withOwnIds } from './anthropic-wire.ts';
import { type Family, families } from './chat-families.ts';
import { CallNumbers, type Driver, type Json, mix, objectsOf, piecesOf, type Shown } from './driver.ts';
import { exactText, type Fact } from './facts.ts';
import { openaiError as error, readUrl } from './openai-words.ts';
import { type Counted, callsOf, type Said, type Saying, STOP_SEQUENCE } from './saying.ts';

const FINISH = { end: 'stop', length: 'length', refusal: 'content_filter', sequence: 'stop' } as const;

/** One thought, one text, then calls: a message of this protocol has no other order. */
function fit({ thinks, hears, tellsWrites }: Family, saying: Saying): Saying {
  const seals = saying.said.flatMap((thing) => (thing.is === 'sealed' ? [thing] : []));
  const thought = joined(saying, 'thinking');
  const words = joined(saying, 'text');
  // Between tags the white space at both ends is nobody's.
  const shownThought = thinks === 'tags' ? thought.replaceAll('</think>', '').trim() : thought;
  const shownWords = thinks === 'tags' ? words.trim() : words;
  const isSealed = hears === 'reasoning_details';
  const seal = isSealed ? (saying.said.find(({ is, seal }) => is === 'thinking' && seal !== null)?.seal ?? null) : null;
  const said: Said[] = [
    ...(thinks !== null && shownThought !== '' ? [{ is: 'thinking' as const, text: shownThought, seal }] : []),
    ...(isSealed ? seals.slice(0, 1) : []),
    ...(shownWords !== '' ? [{ is: 'text' as const, text: shownWords, seal: null }] : []),
    ...callsOf(saying).map((one) => ({ ...one, seal: null })),
  ];
  const counted = tellsWrites ? saying.counted : { ...saying.counted, cacheWrite: 0 };
  const end = saying.end === 'sequence' && callsOf(saying).length > 0 ? 'end' : saying.end;
  return { said: withOwnIds(said), end, counted };
}

function joined({ said }: Saying, kind: 'text' | 'thinking'): string {
  return said.map((thing) => (thing.is === kind ? thing.text : '')).join('');
}

function usageOf(family: Family, { input, cacheRead, cacheWrite, output, reasoning }: Counted): Json {
  const prompt = input + cacheRead + cacheWrite;
  const completion = family.countsReasoningBeside ? output - reasoning : output;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + output,
    ...(family.cacheMember === 'prompt_tokens_details'
      ? {
          prompt_tokens_details: {
            cached_tokens: cacheRead,
            ...(family.tellsWrites && { cache_write_tokens: cacheWrite }),
          },
        }
      : { [family.cacheMember]: cacheRead }),
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

function details(saying: Saying): Json[] {
  return saying.said.flatMap((thing, index): Json[] => {
    if (thing.is === 'thinking')
      return [{ type: 'reasoning.text', text: thing.text, signature: thing.seal, format: 'theirs-v1', index }];
    if (thing.is === 'sealed')
      return [{ type: 'reasoning.encrypted', data: thing.seal, id: 'rs_1', format: 'theirs-v1', index }];
    return [];
  });
}

/** A thought in the member that the family has for it; `piece` of it in a stream. */
function thoughtMember(family: Family, piece: string): Json {
  switch (family.thinks) {
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

function endOf({ tellsSequence }: Family, saying: Saying): Json {
  const hasCall = callsOf(saying).length > 0 && saying.end === 'end';
  const reason = hasCall ? 'tool_calls' : FINISH[saying.end];
  return { finish_reason: reason, ...(tellsSequence && saying.end === 'sequence' && { stop_reason: STOP_SEQUENCE }) };
}

function stream(family: Family, saying: Saying, random: () => number): string[] {
  const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', model: 'theirs-2026' };
  const chunk = (delta: Json, rest: Json = { finish_reason: null }, beside: Json = {}) =>
    `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, ...rest }], ...beside })}\n\n`;
  const usage = { usage: usageOf(family, saying.counted) };
  const calls = callsOf(saying);
  const begun = calls.map(({ id, name }, index) => ({
    index,
    id,
    type: 'function',
    function: { name, arguments: '' },
  }));
  // Pieces of several calls may come mixed, once all of them are begun.
  const grown = mix(
    calls.map(({ input }, index) =>
      piecesOf(input, random).map((piece) => ({ index, function: { arguments: piece } })),
    ),
    random() < 0.5 ? () => 0 : random,
  );
  return [
    chunk({ role: 'assistant', content: '' }),
    ...thoughtDeltas(family, saying, random).map((delta) => chunk(delta)),
    ...wordsOf(family, saying, random).map((content) => chunk({ content })),
    ...begun.map((one) => chunk({ tool_calls: [one] })),
    ...grown.map((one) => chunk({ tool_calls: [one] })),
    chunk({}, endOf(family, saying), family.usageAtEnd ? usage : {}),
    ...(family.usageAtEnd ? [] : [`data: ${JSON.stringify({ ...head, choices: [], ...usage })}\n\n`]),
    ...(family.saysDone ? ['data: [DONE]\n\n'] : []),
  ];
}

function thoughtDeltas(family: Family, saying: Saying, random: () => number): Json[] {
  const thought = joined(saying, 'thinking');
  if (family.thinks === 'tags' || family.thinks === null) return [];
  const pieces = piecesOf(thought, random).map((piece) => thoughtMember(family, piece));
  if (family.thinks !== 'reasoning_details') return pieces;
  return details(saying).flatMap((detail) => {
    if (detail['type'] !== 'reasoning.text') return [{ reasoning_details: [detail] }];
    const { text, signature, ...rest } = detail;
    const texts = piecesOf(String(text), random).map((piece) => ({
      reasoning: piece,
      reasoning_details: [{ ...rest, text: piece }],
    }));
    return [...texts, { reasoning_details: [{ ...rest, signature }] }];
  });
}

/** The pieces of the text; with the thinking between its tags, where the family has it there. */
function wordsOf(family: Family, saying: Saying, random: () => number): string[] {
  return piecesOf(contentOf(family, saying), random);
}

function contentOf({ thinks }: Family, saying: Saying): string {
  const thought = joined(saying, 'thinking');
  const words = joined(saying, 'text');
  return thinks === 'tags' && thought !== '' ? `<think>\n${thought}</think>\n\n${words}` : words;
}

function whole(family: Family, saying: Saying): string {
  const thought = joined(saying, 'thinking');
  const words = contentOf(family, saying);
  const parts = [
    ...(thought === '' ? [] : [{ type: 'thinking', thinking: [{ type: 'text', text: thought }] }]),
    { type: 'text', text: words },
  ];
  const calls = callsOf(saying).map(({ id, name, input }) => ({
    id,
    type: 'function',
    function: { name, arguments: input },
  }));
  const isApart = family.thinks !== 'parts' && family.thinks !== 'tags' && thought !== '';
  const message = {
    role: 'assistant',
    ...(isApart && thoughtMember(family, thought)),
    ...(family.thinks === 'reasoning_details' && { reasoning_details: details(saying) }),
    content: family.thinks === 'parts' ? parts : words === '' ? null : words,
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  return JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model: 'theirs-2026',
    choices: [{ index: 0, message, ...endOf(family, saying) }],
    usage: usageOf(family, saying.counted),
  });
}

function shown(saying: Saying): Shown[] {
  const thought = joined(saying, 'thinking');
  const sealed = saying.said.some(({ is }) => is === 'sealed');
  const blocks: Shown[] = saying.said.flatMap((thing): Shown[] => {
    if (thing.is === 'text') return [{ type: 'text', text: thing.text }];
    return thing.is === 'call' ? [{ type: 'tool_use', name: thing.name, input: thing.input }] : [];
  });
  const signed = (words: string): Shown => ({ type: 'thinking', thinking: words, signature: expectText });
  if (thought !== '') return [signed(thought), ...blocks];
  return sealed ? [...blocks, signed('')] : blocks; // where there is no thought to show, its seals are kept at the end
}

const expectText = 'any';

/** What the provider is to hear again. */
function back({ hears }: Family, { said }: Saying): Said[] {
  return said.flatMap((thing): Said[] => {
    if (thing.is === 'thinking') return hears === null ? [] : [thing];
    if (thing.is === 'sealed') return hears === 'reasoning_details' ? [thing] : [];
    return [thing];
  });
}

function read({ callId }: Family, body: string): ReturnType<Driver['read']> {
  const request = JSON.parse(body) as Json;
  const numbers = new CallNumbers();
  const facts: Fact[] = [];
  for (const message of objectsOf(request['messages'])) {
    facts.push(...readMessage(message, numbers));
    for (const { id } of objectsOf(message['tool_calls']))
      if (!callId.test(String(id))) throw new Error(`an id that is not taken: ${String(id)}`);
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
  const said =
    typeof content === 'string' ? [{ by, text: content }] : objectsOf(content).flatMap((part) => readPart(part, by));
  if (by === 'result') {
    const isError = /^(?:\[[^\]]*\]|\s)*Error: /.test(texts[0] ?? '');
    return [{ result: numbers.of(String(message['tool_call_id'])), isError }, ...said];
  }
  return [...readThoughts(message), ...said, ...objectsOf(message['tool_calls']).map((one) => readCall(one, numbers))];
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
  'content that is refused': {
    status: 400,
    body: error('the words of the refusal', 'invalid_request_error'),
    kind: 'rejected',
  },
  'credit in the words of a 400': {
    status: 400,
    body: error('You have no credit left.', 'insufficient_quota', 'insufficient_quota'),
    kind: 'credentials',
  },
  'credit as a 429': {
    status: 429,
    body: error('You exceeded your current quota.', 'insufficient_quota', 'insufficient_quota'),
    kind: 'credentials',
  },
  'a key that is not taken': {
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
    baseUrl: family.baseUrl,
    model: family.model,
    credential: 'sk-ours-0123456789abcdefghij',
    fit: (saying) => fit(family, saying),
    stream: (saying, random) => stream(family, saying, random),
    eventsBehindEnd: (family.usageAtEnd ? 0 : 1) + (family.saysDone ? 1 : 0),
    whole: (saying) => whole(family, saying),
    shown,
    back: (saying) => back(family, saying),
    hearsForeignThinking: family.hears === 'reasoning_content',
    tells: ({ input, cacheRead, cacheWrite, output, reasoning }) => ({
      input_tokens: input,
      cache_creation_input_tokens: cacheWrite,
      cache_read_input_tokens: cacheRead,
      output_tokens: output,
      output_tokens_details: { thinking_tokens: reasoning },
    }),
    tellsSequence: family.tellsSequence,
    midway: { event: `data: ${error('The server is overloaded', 'overloaded_error')}\n\n`, kind: 'overloaded' },
    refusals,
    models: '{"object":"list","data":[{"id":"a"},{"id":"b"}]}',
    layout: {
      resultsByCall: false,
      attachmentsBeside: true,
      restInLastResult: family.restInLastResult,
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
