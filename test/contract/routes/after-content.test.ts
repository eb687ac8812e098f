// A stream that breaks after its first content: no other route is tried, because the client has already received
// output. The stream ends with an error event, never as complete, and the received output is billed.

import { afterAll, expect, test } from 'bun:test';
import { codeOf } from './faults.ts';
import { breaksAt, refusedLate, wrongLengths } from './stream-breaks.ts';
import { BAD_TEXT, casesOf, expectCut, expectRecord, playCases } from './two-routes.ts';

const faults = [...breaksAt('content'), ...wrongLengths];
const played = await playCases(casesOf([...faults, refusedLate]), {
  upstream_first_event_seconds: 6,
  upstream_silence_seconds: 6,
});
afterAll(() => played.stop());

test.each(faults.map((fault) => [fault.name, fault] as const))(
  'if a stream %s after its first content, the client gets an error event',
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
      // "FAULTY" has two tokens, unless usage was reported before.
      expect({ title: seen.title, output_tokens }).toEqual({ title: seen.title, output_tokens: 2 });
      expect(Number(cost)).toBeCloseTo((Number(input_tokens) * 3 + 2 * 15) / 1e6, 9);
      // The prompt of a stream that breaks is counted by the provider's own counter if it has one.
      const asked: [number, number] = [seen.title.includes('(openai-responses,') ? 2 : 1, 0];
      expect({ title: seen.title, asked: seen.asked }).toEqual({ title: seen.title, asked });
    }
  },
);

test('a provider’s rejection of the content is reported even after the first content', () => {
  for (const seen of played.of(refusedLate)) {
    expectCut(seen, 'upstream_rejected', BAD_TEXT);
    expectRecord(seen, { outcome: 'upstream_cut', attempts: [{ result: 'answered' }] });
  }
});

test('no broken upstream connection is reused', () => played.expectClosed());

test('each message has one record, is charged for the output received, and leaves no hold', () =>
  played.expectLedger());
