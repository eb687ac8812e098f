// Scripts for a scripted upstream that produce a stream in pieces and count the produced tokens, until it is finished
// or its client disconnects.

import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordedRequest, Script } from './scripted-upstream.ts';

/** One event: its delta, and its tokens by the upstream's own count. */
export interface Piece {
  delta: Record<string, unknown>;
  tokens: number;
}

export interface Production {
  inputTokens: number;
  /** Start of the block; text by default. */
  block?: Record<string, unknown>;
  pieces: Iterable<Piece>;
  /** Pause between two pieces. */
  pauseMs?: number;
  /** Hidden thinking tokens before the first piece, and their duration. */
  unseen?: { tokens: number; ms: number };
  stopReason?: string;
  /** Pause between the final count and the end. */
  pauseBeforeStopMs?: number | undefined;
  /** Does not end before its client disconnects, however late that is noticed. */
  isForLeaver?: boolean;
}

/** Output of one request. */
export interface Produced {
  request: RecordedRequest;
  inputTokens: number;
  outputTokens: number;
  isFinished: boolean;
}

/** A script that produces what `plan` returns for each request, and records it in `produced` meanwhile. */
export function produce(plan: (request: RecordedRequest) => Production, produced: Produced[]): Script {
  return async (answer, request) => {
    const production = plan(request);
    const { inputTokens, pieces, pauseMs = 0, unseen, block = { type: 'text', text: '' } } = production;
    const note: Produced = { request, inputTokens, outputTokens: 0, isFinished: false };
    produced.push(note);
    answer.begin(200, { 'content-type': 'text/event-stream' });
    const send = (value: Record<string, unknown>) =>
      answer.write(`event: ${value['type']}\ndata: ${JSON.stringify(value)}\n\n`);
    const usage = { input_tokens: inputTokens, output_tokens: 0 };
    await send({ type: 'message_start', message: { ...MESSAGE, usage } });
    let index = 0;
    if (unseen !== undefined) {
      await send({
        type: 'content_block_start',
        index,
        content_block: { type: 'thinking', thinking: '', signature: '' },
      });
      for (let part = 0; part < 20 && !answer.isGone; part++) {
        await sleep(unseen.ms / 20);
        note.outputTokens = Math.floor((unseen.tokens * (part + 1)) / 20);
      }
      await send({ type: 'content_block_delta', index, delta: { type: 'signature_delta', signature: 'c2lnbmVk' } });
      await send({ type: 'content_block_stop', index });
      index = 1;
    }
    await send({ type: 'content_block_start', index, content_block: block });
    for (const { delta, tokens } of pieces) {
      if (answer.isGone) return;
      note.outputTokens += tokens;
      await send({ type: 'content_block_delta', index, delta });
      if (pauseMs > 0) await sleep(pauseMs);
    }
    while (production.isForLeaver === true && !answer.isGone) await sleep(5);
    if (answer.isGone) return;
    await send({ type: 'content_block_stop', index });
    const delta = { stop_reason: production.stopReason ?? 'end_turn', stop_sequence: null };
    await send({ type: 'message_delta', delta, usage: { output_tokens: note.outputTokens } });
    note.isFinished = true;
    if (production.pauseBeforeStopMs !== undefined) await sleep(production.pauseBeforeStopMs);
    await send({ type: 'message_stop' });
    answer.end();
  };
}

const MESSAGE = {
  id: 'msg_produced',
  type: 'message',
  role: 'assistant',
  model: 'upstream-model',
  content: [],
  stop_reason: null,
  stop_sequence: null,
};

/** Text with this many tokens of four bytes, in pieces of a given size. */
export function* plainPieces(tokens: number, tokensPerPiece: number): Generator<Piece> {
  for (let left = tokens; left > 0; left -= tokensPerPiece) {
    const now = Math.min(left, tokensPerPiece);
    yield { delta: { type: 'text_delta', text: 'abc '.repeat(now) }, tokens: now };
  }
}

/** The events of a stream's text, parsed. */
export function readEvents(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice(6)));
}
