// However a provider's stream breaks once its content has begun, no other route is asked: what the caller has seen stays
// true. The stream ends with an error event, never as if it were whole, and what was received is billed.

import { afterAll, expect, test } from 'bun:test';
import { breaksAt, refusedLate, wrongLengths } from './breaks.ts';
import { codeOf } from './faults.ts';
import { BAD_TEXT, casesOf, expectCut, expectRecord, playCases } from './two-routes.ts';

const faults = [...breaksAt('content'), ...wrongLengths];
const played = await playCases(casesOf([...faults, refusedLate]), {
  upstream_first_event_seconds: 6,
  upstream_silence_seconds: 6,
});
afterAll(() => played.stop());

test.each(faults.map((fault) => [fault.name, fault] as const))(
  'a stream that %s behind its first content ends with an error event',
  (_name, fault) => {
    for (const seen of played.of(fault)) {
      expectCut(seen, codeOf[fault.result], BAD_TEXT);
      expectRecord(seen, {
        outcome: 'upstream_cut',
        status: 200,
        provider: seen.providers[0],
        usage_source: 'estimated',
        attempts: [{ provider: seen.providers[0], result: 'answered', status: 200 }],
      });
      const { input_tokens, output_tokens, cost } = seen.records[0] as Record<string, number>;
      // "FAULTY": a token for each four bytes of it, or what was reported by then.
      expect({ title: seen.title, output_tokens }).toEqual({ title: seen.title, output_tokens: 2 });
      expect(Number(cost)).toBeCloseTo((Number(input_tokens) * 3 + 2 * 15) / 1e6, 9);
      expect({ title: seen.title, asked: seen.asked }).toEqual({ title: seen.title, asked: [1, 0] });
    }
  },
);

test('a refusal of what the caller said is told behind the first content, too', () => {
  for (const seen of played.of(refusedLate)) {
    expectCut(seen, 'upstream_rejected', BAD_TEXT);
    expectRecord(seen, { outcome: 'upstream_cut', attempts: [{ result: 'answered' }] });
  }
});

test('no connection of theirs is kept that is of no use', () => played.expectClosed());

test('each message has one record, its account paid for what was received, and nothing is held', () =>
  played.expectBooks());
