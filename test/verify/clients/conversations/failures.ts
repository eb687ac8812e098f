// Conversations that fail: a client that leaves, an answer that breaks off, providers that cannot now, and refusals.
// No tests of its own.

import { expect } from 'bun:test';
import { produce } from '../../../support/producing-upstream.ts';
import { scripts } from '../../../support/scripted-upstream.ts';
import { sayMessage } from '../upstreams/speak-messages.ts';
import { type Conversation, expectRecord, modelOf, USUAL, user } from './conversation.ts';

const hello = { max_tokens: 200, messages: [user('Hello')] };
const answered = sayMessage({ content: [{ type: 'text', text: 'At last.' }] });

function* pieces() {
  for (let count = 0; count < 20_000; count++) yield { delta: { type: 'text_delta', text: 'word ' }, tokens: 1 };
}

export const abort: Conversation = {
  name: 'abort',
  body: { ...hello, max_tokens: 30_000 },
  isStreamed: true,
  upstream: [produce(() => ({ inputTokens: 20, pieces: pieces(), pauseMs: 5 }), [])],
  async check({ got, records, upstream }) {
    await upstream.aborted();
    expect(got.text).toMatch(/^(?:word )+$/);
    expectRecord(records, 1, { outcome: 'client_gone', input_tokens: 20, usage_source: 'estimated' });
    const { output_tokens: billed, cost } = records[0] as { output_tokens: number; cost: string };
    expect(billed).toBeGreaterThanOrEqual((got.text ?? '').length / 5);
    expect(billed).toBeLessThan(20_000);
    expect(Number(cost)).toBeCloseTo((20 * 3 + billed * 15) / 1e6, 9);
  },
};

export const cut: Conversation = {
  name: 'cut',
  body: hello,
  isStreamed: true,
  upstream: [scripts.halfStream({ text: 'It breaks off in the middle of what it says' })],
  check({ got, records }) {
    expect(got.fault).toMatch(/\w/);
    for (const record of records) expect(record).toMatchObject({ outcome: 'upstream_cut' });
    expect(records.length).toBeGreaterThan(0);
  },
};

/** Failures that end. Nobody repeats a message here but the client. */
export const retry: Conversation = {
  name: 'retry',
  body: hello,
  upstream: [scripts.rateLimited('1'), scripts.overloaded(), answered],
  check({ got, sent, records }) {
    expect(got.text).toBe('At last.');
    expect(sent).toHaveLength(3);
    expect(records.slice(0, -1).map(({ cost, outcome }) => [cost, outcome])).toEqual([
      ['0', 'failed'],
      ['0', 'failed'],
    ]);
    expectRecord(records, 3, USUAL);
  },
};

export const retryFault: Conversation = {
  name: 'retry-fault',
  body: hello,
  upstream: [scripts.error(500, 'api_error', 'Internal server error'), answered],
  check({ got, sent, records }) {
    expect(got.text).toBe('At last.');
    expect(sent).toHaveLength(2);
    expectRecord(records, 2, USUAL);
  },
};

/** A key without money, a model that is not there, a key that is none: each asked once, and never again. */
export const refusals: Conversation = {
  name: 'refusals',
  body: hello,
  upstream: [answered],
  async check({ got, sent, refusedCount }) {
    const seen = got.refusals?.map(({ status, code }) => [status, code]);
    expect(seen).toEqual([
      [400, expect.stringMatching(/^insufficient_(?:user_)?quota$/)], // OpenAI’s clients know the shorter one
      [400, 'model_not_found'],
      [401, 'key_invalid'],
    ]);
    for (const code of ['insufficient_user_quota', 'model_not_found', 'key_invalid'])
      expect([code, await refusedCount(code)]).toEqual([code, 1]);
    expect(sent).toEqual([]);
  },
};

/** A model's name that nobody sells. */
export const MISSING_MODEL = modelOf('missing-model');
