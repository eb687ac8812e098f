// A provider of the Messages protocol that answers with given blocks, streamed on request.

import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, eventText, type Script } from '../../../support/scripted-upstream.ts';

/** A block of an answer. The input of a call is the text as the model wrote it. */
export type Block =
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'redacted_thinking'; data: string }
  | { type: 'text'; text: string }
  | { type: 'tool_use'; id: string; name: string; input: string };

export interface Spoken {
  content: readonly Block[];
  /** Defaults to `tool_use` with a call, else `end_turn`. */
  stopReason?: string;
  stopSequence?: string;
  usage?: Record<string, unknown>;
  /** Pause between two events of a stream. */
  pauseMs?: number;
}

export const MESSAGES_USAGE = {
  input_tokens: 20,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 100,
  output_tokens: 30,
};
const REQUEST_ID = { 'request-id': 'req_upstream00000000002' };
let spokenCount = 0;
const PIECE_CHARACTERS = 7;

/** Answers in the requested form. */
export function sayMessage(spoken: Spoken): Script {
  return async (answer, { body }) => {
    const { model, stream } = JSON.parse(body) as { model: string; stream?: boolean };
    const { stopReason, stopSequence = null, usage = MESSAGES_USAGE, content } = spoken;
    const hasCall = content.some(({ type }) => type === 'tool_use');
    const ending = { stop_reason: stopReason ?? (hasCall ? 'tool_use' : 'end_turn'), stop_sequence: stopSequence };
    const message = { id: `msg_spoken${++spokenCount}`, type: 'message', role: 'assistant', model };
    if (stream === true) return streamMessage(answer, message, ending, { ...spoken, usage });
    const head = JSON.stringify({ ...message, ...ending, usage }).slice(0, -1);
    const whole = `${head},"content":[${content.map(blockText).join(',')}]}`;
    answer.send(200, { 'content-type': 'application/json', ...REQUEST_ID }, whole);
  };
}

/** Inputs as text, since an object could not hold them unchanged. */
function blockText(block: Block): string {
  if (block.type !== 'tool_use') return JSON.stringify(block);
  return `${JSON.stringify({ ...block, input: undefined }).slice(0, -1)},"input":${block.input}}`;
}

async function streamMessage(
  answer: Answer,
  message: object,
  ending: object,
  { content, usage, pauseMs }: Spoken & { usage: Record<string, unknown> },
): Promise<void> {
  answer.begin(200, { 'content-type': 'text/event-stream; charset=utf-8', ...REQUEST_ID });
  const { output_tokens, ...inputUsage } = usage;
  const start = { ...message, content: [], stop_reason: null, stop_sequence: null };
  const events = [
    { type: 'message_start', message: { ...start, usage: { ...inputUsage, output_tokens: 0 } } }, // Some add it to the usage at the end.
    ...content.flatMap((block, index) => eventsOfBlock(block, index)),
    { type: 'message_delta', delta: ending, usage: { output_tokens } },
    { type: 'message_stop' },
  ];
  for (const event of events) {
    if (answer.isGone) return;
    await answer.write(eventText(event));
    if (pauseMs !== undefined) await sleep(pauseMs);
  }
  answer.end();
}

function eventsOfBlock(block: Block, index: number): { type: string; [member: string]: unknown }[] {
  const { begun, deltas } = partsOf(block);
  return [
    { type: 'content_block_start', index, content_block: begun },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
}

function partsOf(block: Block): { begun: object; deltas: object[] } {
  switch (block.type) {
    case 'text':
      return {
        begun: { ...block, text: '' },
        deltas: piecesOf(block.text).map((text) => ({ type: 'text_delta', text })),
      };
    case 'tool_use':
      return {
        begun: { ...block, input: {} },
        deltas: piecesOf(block.input).map((partial_json) => ({ type: 'input_json_delta', partial_json })),
      };
    case 'thinking': {
      const thoughts = piecesOf(block.thinking).map((thinking) => ({ type: 'thinking_delta', thinking }));
      const signature = { type: 'signature_delta', signature: block.signature };
      return { begun: { ...block, thinking: '', signature: '' }, deltas: [...thoughts, signature] };
    }
    case 'redacted_thinking':
      return { begun: block, deltas: [] };
  }
}

function piecesOf(text: string): string[] {
  return text.match(new RegExp(`[^]{1,${PIECE_CHARACTERS}}`, 'gu')) ?? [];
}
