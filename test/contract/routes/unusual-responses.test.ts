// Unusual but valid responses of a provider are relayed once and in full, and no other route is tried.

import { afterAll, expect, test } from 'bun:test';
import { secondBeginning } from './stream-breaks.ts';
import { BAD_TEXT, casesOf, expectAnswer, expectCut, expectRecord, GOOD_COST, playCases } from './two-routes.ts';
import { harmless } from './unusual-responses.ts';

const played = await playCases(casesOf([...harmless, secondBeginning]), {
  upstream_first_event_seconds: 5,
  upstream_silence_seconds: 5,
  upstream_answer_seconds: 5,
});
afterAll(() => played.stop());

test.each(harmless.map((fault) => [fault.name, fault] as const))(
  'if a provider %s, its response is relayed',
  (_name, fault) => {
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
  },
);

/** Kinds that pass on the Messages protocol. */
const OF_MESSAGES: readonly string[] = ['anthropic', 'vertex', 'foundry'];

test('a duplicate message_start is not relayed', () => {
  for (const seen of played.of(secondBeginning)) {
    // In protocols that repeat the beginning with every chunk, a second one has no meaning.
    if (OF_MESSAGES.includes(seen.dialect.kind)) expectCut(seen, 'upstream_failed', BAD_TEXT);
    else expectAnswer(seen, BAD_TEXT);
    expectRecord(seen, { provider: seen.providers[0] });
    expect({ title: seen.title, asked: seen.asked }).toEqual({ title: seen.title, asked: [1, 0] });
  }
});

test('no broken upstream connection is reused', () => played.expectClosed());

test('each message has one record, is charged, and leaves no hold', () => played.expectLedger());
