// A provider that fails before its first content: the client gets the complete response of the next route and pays
// for that alone. The record has the routes that were tried, and why the first one failed.

import { afterAll, expect, test } from 'bun:test';
import { type FailingFault, failing, withoutHead, withStatus } from './faults.ts';
import { breaksAt } from './stream-breaks.ts';
import {
  alternatingCasesOf,
  casesOf,
  expectAnswer,
  expectRecord,
  GOOD_COST,
  GOOD_TEXT,
  playCases,
  type Seen,
} from './two-routes.ts';

const atHead = breaksAt('head');
const atBeginning = breaksAt('beginning');
const beforeBody = [...withoutHead, ...withStatus];
const others = failing.filter((fault) => !beforeBody.includes(fault));
const played = await playCases(
  [...alternatingCasesOf(beforeBody), ...casesOf([...others, ...atHead, ...atBeginning])],
  {
    upstream_connect_seconds: 6,
    upstream_first_event_seconds: 6,
    upstream_silence_seconds: 6,
    upstream_answer_seconds: 6,
  },
);
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

test.each(failing.map((fault) => [fault.name, fault] as const))(
  'if a provider %s, the next route is tried',
  (_name, fault) => {
    for (const seen of played.of(fault)) expectPassedOver(seen, fault);
  },
);

test.each(atHead.map((fault) => [fault.name, fault] as const))(
  'if a stream %s before its first event, the next route is tried',
  (_name, fault) => {
    for (const seen of played.of(fault)) expectPassedOver(seen, fault);
  },
);

test.each(atBeginning.map((fault) => [fault.name, fault] as const))(
  'if a stream %s between its beginning and its content, the next route is tried',
  (_name, fault) => {
    for (const seen of played.of(fault)) expectPassedOver(seen, fault);
  },
);

test('no broken upstream connection is reused', () => played.expectClosed());

test('each message has one record, only successful responses are charged, and no hold remains', () =>
  played.expectLedger());
