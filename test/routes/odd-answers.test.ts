// A provider may be odd and answer all the same: its answer is passed on, whole and once, and no other route is asked.

import { afterAll, expect, test } from 'bun:test';
import { secondBeginning } from './breaks.ts';
import { harmless } from './odd-answers.ts';
import { BAD_TEXT, casesOf, expectAnswer, expectCut, expectRecord, GOOD_COST, playCases } from './two-routes.ts';

const played = await playCases(casesOf([...harmless, secondBeginning]), {
  upstream_first_event_seconds: 5,
  upstream_silence_seconds: 5,
  upstream_answer_seconds: 5,
});
afterAll(() => played.stop());

test.each(harmless.map((fault) => [fault.name, fault] as const))('a provider that %s has answered', (_name, fault) => {
  for (const seen of played.of(fault)) {
    const [provider] = seen.providers;
    expectAnswer(seen, BAD_TEXT);
    expectRecord(seen, {
      outcome: 'completed',
      provider,
      usage_source: 'reported',
      cost: GOOD_COST,
      attempts: [{ provider, result: 'answered', status: 200 }],
    });
    expect({ title: seen.title, asked: seen.asked }).toEqual({ title: seen.title, asked: [1, 0] });
  }
});

test('a stream that begins twice never begins twice for its caller', () => {
  for (const seen of played.of(secondBeginning)) {
    // Where the protocol says its beginning with every piece, a second one is none.
    if (seen.dialect.kind === 'anthropic') expectCut(seen, 'upstream_failed', BAD_TEXT);
    else expectAnswer(seen, BAD_TEXT);
    expectRecord(seen, { provider: seen.providers[0] });
    expect({ title: seen.title, asked: seen.asked }).toEqual({ title: seen.title, asked: [1, 0] });
  }
});

test('no connection of theirs is kept that is of no use', () => played.expectClosed());

test('each message has one record, its account paid for it, and nothing is held', () => played.expectBooks());
