// However a provider fails before anything of its content has come, the caller gets the next route's answer, whole and
// clean, and pays for that alone. Its record says which routes were tried, and why the first was given up.

import { afterAll, expect, test } from 'bun:test';
import { breaksAt } from './breaks.ts';
import { type FailingFault, failing } from './faults.ts';
import { casesOf, expectAnswer, expectRecord, GOOD_COST, GOOD_TEXT, playCases, type Seen } from './two-routes.ts';

const atHead = breaksAt('head');
const atBeginning = breaksAt('beginning');
const played = await playCases(casesOf([...failing, ...atHead, ...atBeginning]), {
  upstream_connect_seconds: 6,
  upstream_first_event_seconds: 6,
  upstream_silence_seconds: 6,
  upstream_answer_seconds: 6,
});
afterAll(() => played.stop());

function expectPassedOver(seen: Seen, { result, status }: FailingFault): void {
  const [first, second] = seen.providers;
  expectAnswer(seen, GOOD_TEXT);
  expectRecord(seen, {
    outcome: 'completed',
    status: 200,
    provider: second,
    usage_source: 'reported',
    input_tokens: 25,
    output_tokens: 12,
    cost: GOOD_COST,
    attempts: [
      { provider: first, result, ...(status !== undefined && { status }) },
      { provider: second, result: 'answered', status: 200 },
    ],
  });
  expect({ title: seen.title, asked: seen.asked[1] }).toEqual({ title: seen.title, asked: 1 });
}

test.each(failing.map((fault) => [fault.name, fault] as const))('a provider that %s is passed over', (_name, fault) => {
  for (const seen of played.of(fault)) expectPassedOver(seen, fault);
});

test.each(atHead.map((fault) => [fault.name, fault] as const))(
  'a stream that %s before its first event is passed over',
  (_name, fault) => {
    for (const seen of played.of(fault)) expectPassedOver(seen, fault);
  },
);

test.each(atBeginning.map((fault) => [fault.name, fault] as const))(
  'a stream that %s between its beginning and its content is passed over',
  (_name, fault) => {
    for (const seen of played.of(fault)) expectPassedOver(seen, fault);
  },
);

test('no connection of theirs is kept that is of no use', () => played.expectClosed());

test('each message has one record, its account paid for the good answers alone, and nothing is held', () =>
  played.expectBooks());
