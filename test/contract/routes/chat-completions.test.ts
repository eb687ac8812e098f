// Chat Completions requests fail over between routes, too: one complete response if the failure precedes its content,
// otherwise an error in place of the end.

import { afterAll, expect, test } from 'bun:test';
import type { Json } from '../post-messages/world.ts';
import { codeOf, refusing, withStatus } from './faults.ts';
import { breaksAt } from './stream-breaks.ts';
import {
  alternatingCasesOf,
  BAD_TEXT,
  CHAT_COMPLETIONS,
  casesOf,
  expectRecord,
  type Fault,
  GOOD_COST,
  GOOD_TEXT,
  playCases,
  type Seen,
} from './two-routes.ts';

const atBeginning = [...breaksAt('head'), ...breaksAt('beginning')];
const early = [...withStatus, ...atBeginning];
const late = breaksAt('content');
const [refusesContent] = refusing as [Fault];
const played = await playCases(
  [...alternatingCasesOf(withStatus), ...casesOf([...atBeginning, ...late, refusesContent])],
  { upstream_first_event_seconds: 6, upstream_silence_seconds: 6, upstream_answer_seconds: 6 },
  CHAT_COMPLETIONS,
);
afterAll(() => played.stop());

interface Chunk {
  id?: string;
  error?: Json;
  choices?: { delta?: { content?: string }; message?: { content: string }; finish_reason: string | null }[];
}

/** The chunks of a stream, and whether it is complete. */
function readChunks({ title, text }: Seen): { chunks: Chunk[]; isDone: boolean } {
  const lines = text.split('\n\n').filter((line) => line.startsWith('data: '));
  const isDone = lines.at(-1) === 'data: [DONE]';
  const chunks = lines.slice(0, isDone ? -1 : undefined).map((line) => JSON.parse(line.slice(6)) as Chunk);
  const ids = new Set(chunks.flatMap(({ id }) => id ?? []));
  expect({ title, answers: ids.size }).toEqual({ title, answers: 1 });
  return { chunks, isDone };
}

const saidBy = (chunks: readonly Chunk[]) => chunks.map(({ choices }) => choices?.[0]?.delta?.content ?? '').join('');

function expectChatAnswer(seen: Seen): void {
  const { title, text, form } = seen;
  expect({ title, status: seen.response.status, text }).toMatchObject({ status: 200 });
  if (form === 'whole') {
    const [choice] = (JSON.parse(text) as Chunk).choices ?? [];
    expect({ title, choice }).toMatchObject({ choice: { message: { content: GOOD_TEXT }, finish_reason: 'stop' } });
    return;
  }
  const { chunks, isDone } = readChunks(seen);
  const ends = chunks.filter(({ choices }) => choices?.[0]?.finish_reason === 'stop').length;
  expect({ title, isDone, ends, said: saidBy(chunks) }).toEqual({ title, isDone: true, ends: 1, said: GOOD_TEXT });
}

test('if the first route fails in any way before its content, the next one answers', () => {
  for (const fault of early) {
    for (const seen of played.of(fault)) {
      expectChatAnswer(seen);
      expectRecord(seen, {
        outcome: 'completed',
        cost: GOOD_COST,
        attempts: [{ result: fault.result }, { result: 'answered' }],
      });
    }
  }
});

test.each(late.map((fault) => [fault.name, fault] as const))(
  'if a stream %s after its first content, the client gets an error and no [DONE]',
  (_name, fault) => {
    for (const seen of played.of(fault)) {
      const { title } = seen;
      const { chunks, isDone } = readChunks(seen);
      expect({ title, isDone, said: saidBy(chunks) }).toEqual({ title, isDone: false, said: BAD_TEXT });
      expect({ title, last: chunks.at(-1) }).toMatchObject({
        last: { error: { code: codeOf[fault.result as 'failed'] } },
      });
      const reasons = chunks.flatMap(({ choices }) => choices?.[0]?.finish_reason ?? []);
      expect({ title, reasons }).toEqual({ title, reasons: [] });
      expectRecord(seen, { outcome: 'upstream_cut', attempts: [{ result: 'answered' }] });
    }
  },
);

test('a provider’s rejection of the content is final', () => {
  for (const seen of played.of(refusesContent)) {
    const { title, response, text } = seen;
    expect({ title, status: response.status, text }).toMatchObject({ status: 400 });
    expect({ title, body: JSON.parse(text) }).toMatchObject({ body: { error: { code: 'upstream_rejected' } } });
    expect({ title, asked: seen.asked }).toEqual({ title, asked: [1, 0] });
  }
});

test('no broken upstream connection is reused', () => played.expectClosed());

test('each message has one record, is charged for the output delivered, and leaves no hold', () =>
  played.expectLedger());
