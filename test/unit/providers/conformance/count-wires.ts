// Answers whose counts come in any order, fall or disagree, and that end with any word: how each wire format renders them,
// and a small model of what must be reported. Written without src/. It has no tests of its own.

import type { Driver, Json } from './driver.ts';
import { wireOf } from './driver.ts';

/** Counts of one report, in tokens; absent: not reported. */
export interface Report {
  prompt?: number;
  /** Part of the prompt. */
  cached?: number;
  /** Without thinking where that is always counted beside it. */
  output?: number;
  thinking?: number;
  total?: number;
}

/** One event of the provider. */
export interface Piece {
  text: string;
  report: Report | null;
}

export interface CountedAnswer {
  pieces: readonly Piece[];
  /** The word with which it ends. */
  word: string;
  /** Reported after the end; null: nothing is. */
  last: Report | null;
}

export interface CountWire {
  /** Its words in the table of endings. */
  protocol: 'chat' | 'gemini' | 'converse' | 'responses' | 'messages';
  /** Thinking is never part of the output count. */
  isThinkingBeside?: true;
  /** The counts that it has. */
  has: readonly (keyof Report)[];
  stream(answer: CountedAnswer): string[];
  /** The whole answer, which has one report. */
  whole(text: string, word: string, report: Report | null): string;
}

const data = (value: Json) => `data: ${JSON.stringify(value)}\n\n`;
const named = (value: Json) => `event: ${String(value['type'])}\n${data(value)}`;

function chatUsage({ prompt, cached, output, thinking, total }: Report): Json {
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: total,
    ...(cached !== undefined && { prompt_tokens_details: { cached_tokens: cached } }),
    ...(thinking !== undefined && { completion_tokens_details: { reasoning_tokens: thinking } }),
  };
}

const chat: CountWire = {
  protocol: 'chat',
  has: ['prompt', 'cached', 'output', 'thinking', 'total'],
  stream({ pieces, word, last }) {
    const chunk = (delta: Json, finish_reason: string | null, report: Report | null) =>
      data({
        id: 'c',
        object: 'chat.completion.chunk',
        model: 'm',
        choices: [{ index: 0, delta, finish_reason }],
        ...(report !== null && { usage: chatUsage(report) }),
      });
    return [
      ...pieces.map(({ text, report }) => chunk({ content: text }, null, report)),
      chunk({}, word, null),
      ...(last === null ? [] : [data({ id: 'c', choices: [], usage: chatUsage(last) })]),
      'data: [DONE]\n\n',
    ];
  },
  whole: (content, finish_reason, report) =>
    JSON.stringify({
      id: 'c',
      object: 'chat.completion',
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason }],
      ...(report !== null && { usage: chatUsage(report) }),
    }),
};

function geminiUsage({ prompt, cached, output, thinking, total }: Report): Json {
  return {
    promptTokenCount: prompt,
    cachedContentTokenCount: cached,
    candidatesTokenCount: output,
    thoughtsTokenCount: thinking,
    totalTokenCount: total,
  };
}

function geminiChunk(text: string, finishReason: string | undefined, report: Report | null): Json {
  return {
    candidates: [{ content: { role: 'model', parts: text === '' ? [] : [{ text }] }, finishReason }],
    ...(report !== null && { usageMetadata: geminiUsage(report) }),
  };
}

const gemini: CountWire = {
  protocol: 'gemini',
  isThinkingBeside: true,
  has: ['prompt', 'cached', 'output', 'thinking', 'total'],
  stream: ({ pieces, word, last }) => [
    ...pieces.map(({ text, report }) => data(geminiChunk(text, undefined, report))),
    data(geminiChunk('', word, null)),
    ...(last === null ? [] : [data({ usageMetadata: geminiUsage(last) })]),
  ],
  whole: (text, word, report) => JSON.stringify(geminiChunk(text, word, report)),
};

function responsesUsage({ prompt, cached, output, thinking, total }: Report): Json {
  return {
    input_tokens: prompt,
    output_tokens: output,
    total_tokens: total,
    ...(cached !== undefined && { input_tokens_details: { cached_tokens: cached } }),
    ...(thinking !== undefined && { output_tokens_details: { reasoning_tokens: thinking } }),
  };
}

/** "completed" is no word of its table: those are reasons of incomplete answers. */
function responseOf(text: string, word: string, report: Report | null): Json {
  const isComplete = word === 'completed';
  return {
    id: 'resp_1',
    model: 'm',
    status: isComplete ? 'completed' : 'incomplete',
    incomplete_details: isComplete ? null : { reason: word },
    error: null,
    output:
      text === ''
        ? []
        : [{ type: 'message', id: 'msg_0', role: 'assistant', content: [{ type: 'output_text', text }] }],
    usage: report === null ? null : responsesUsage(report),
  };
}

const responses: CountWire = {
  protocol: 'responses',
  has: ['prompt', 'cached', 'output', 'thinking', 'total'],
  stream({ pieces, word, last }) {
    const text = pieces.map((piece) => piece.text).join('');
    const response = responseOf(text, word, last);
    return [
      ...pieces.flatMap((piece) => [
        ...(piece.text === ''
          ? []
          : [named({ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: piece.text })]),
        ...(piece.report === null
          ? []
          : [named({ type: 'response.in_progress', response: { usage: responsesUsage(piece.report) } })]),
      ]),
      named({ type: `response.${String(response['status'])}`, response }),
    ];
  },
  whole: (text, word, report) => JSON.stringify(responseOf(text, word, report)),
};

/** Cached tokens are counted beside the input. */
function converseUsage({ prompt, cached = 0, output, total }: Report): Json {
  return {
    inputTokens: prompt === undefined ? undefined : Math.max(0, prompt - cached),
    cacheReadInputTokens: Math.min(cached, prompt ?? 0),
    outputTokens: output,
    totalTokens: total,
  };
}

const converse: CountWire = {
  protocol: 'converse',
  has: ['prompt', 'cached', 'output', 'total'],
  stream({ pieces, word, last }) {
    const event = (name: string, value: Json) => `${name} ${JSON.stringify(value)}`;
    return [
      ...pieces.flatMap(({ text, report }) => [
        ...(report === null ? [] : [event('metadata', { usage: converseUsage(report) })]),
        ...(text === '' ? [] : [event('contentBlockDelta', { contentBlockIndex: 0, delta: { text } })]),
      ]),
      event('contentBlockStop', { contentBlockIndex: 0 }),
      event('messageStop', { stopReason: word }),
      event('metadata', last === null ? {} : { usage: converseUsage(last) }),
    ];
  },
  whole: (text, stopReason, report) =>
    JSON.stringify({
      output: { message: { role: 'assistant', content: text === '' ? [] : [{ text }] } },
      stopReason,
      ...(report !== null && { usage: converseUsage(report) }),
    }),
};

function messagesUsage({ prompt, cached = 0, output, thinking }: Report): Json {
  return {
    ...(prompt !== undefined && {
      input_tokens: Math.max(0, prompt - cached),
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: Math.min(cached, prompt),
    }),
    ...(output !== undefined && { output_tokens: output }),
    ...(thinking !== undefined && { output_tokens_details: { thinking_tokens: thinking } }),
  };
}

/** The first report is in message_start, the others in events of their own. */
const messages: CountWire = {
  protocol: 'messages',
  has: ['prompt', 'cached', 'output'],
  stream({ pieces, word, last }) {
    const head = { id: 'msg_theirs', type: 'message', role: 'assistant', model: 'm', content: [] };
    const first = pieces[0]?.report ?? null;
    const usage = messagesUsage(first ?? {});
    const text = pieces.map((piece) => piece.text).join('');
    const delta = { stop_reason: word, stop_sequence: null };
    return [
      { type: 'message_start', message: { ...head, stop_reason: null, stop_sequence: null, usage } },
      ...(text === ''
        ? []
        : [
            { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
            { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
            { type: 'content_block_stop', index: 0 },
          ]),
      { type: 'message_delta', delta, usage: messagesUsage(last ?? {}) },
      { type: 'message_stop' },
    ].map(named);
  },
  whole: (text, stop_reason, report) =>
    JSON.stringify({
      ...{ id: 'msg_theirs', type: 'message', role: 'assistant', model: 'm', stop_reason, stop_sequence: null },
      content: text === '' ? [] : [{ type: 'text', text }],
      usage: messagesUsage(report ?? {}),
    }),
};

const WIRES: Readonly<Record<string, CountWire>> = {
  anthropic: messages,
  openai: chat,
  'openai-responses': responses,
  gemini,
  bedrock: converse,
};

/** A new wire format is added above. */
export function countWireOf(driver: Driver): CountWire {
  const wire = WIRES[wireOf(driver)];
  if (wire === undefined) throw new Error(`${driver.name} has no wire for counts`);
  if (wireOf(driver) !== 'anthropic' || driver.framing === undefined) return wire;
  // Claude at Bedrock: the same events in frames.
  const framed = (event: string) =>
    `chunk ${JSON.stringify({ bytes: Buffer.from(event.slice(event.indexOf('data: ') + 6).trimEnd()).toString('base64') })}`;
  return { ...wire, stream: (answer) => wire.stream(answer).map(framed) };
}

/** The least that was used, by all reports together: no count falls, and nothing known is forgotten. */
export function leastUsed(reports: readonly Report[], { isThinkingBeside }: CountWire): Used {
  const most = (name: keyof Report) => Math.max(0, ...reports.map((report) => report[name] ?? 0));
  const [prompt, output, thinking, total] = [most('prompt'), most('output'), most('thinking'), most('total')];
  const ofTotal = prompt > 0 ? total - prompt : -1;
  // Thinking that its output cannot contain is beside it, unless a total says otherwise.
  const isBeside = isThinkingBeside === true || (ofTotal < 0 && thinking > output);
  return { prompt, output: Math.max(isBeside ? output + thinking : output, ofTotal) };
}

/** In tokens; the prompt with its cached part. */
export interface Used {
  prompt: number;
  output: number;
}
