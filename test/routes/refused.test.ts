// Where both routes fail the last failure is the answer, in the one shape; where the first refuses what the caller
// said, that is the answer at once. Nothing is charged for either.

import { afterAll, expect, test } from 'bun:test';
import { codeOf, type FailingFault, failing, JSON_TYPE, refusing } from './faults.ts';
import { type Case, casesOf, expectRecord, expectRefusal, type Fault, playCases, type Seen } from './two-routes.ts';

/** What the first route does where the second one matters. */
const fails: Fault = {
  name: 'fails at first',
  play: (dialect) => (wire) => wire.send(500, { ...JSON_TYPE, 'retry-after': '99' }, dialect.error(500)),
};
const secondRefuses: Fault = { ...fails, name: 'fails at first, and the next refuses' };
const [refusesContent] = refusing as [Fault];

/** Each fault at the second route, of a kind that is the first one's in turn. */
const failingTwice = failing.flatMap((second): Case[] =>
  casesOf([{ ...fails, ...(second.form !== undefined && { form: second.form }) }])
    .filter((_case, place) => place % 2 === 0 || second.form !== undefined)
    .map((one) => ({ ...one, fault: fails, second })),
);
const refusedTwice = casesOf([secondRefuses]).map((one) => ({ ...one, second: refusesContent }));
const played = await playCases([...failingTwice, ...refusedTwice, ...casesOf(refusing)], {
  upstream_connect_seconds: 2,
  upstream_first_event_seconds: 2,
  upstream_silence_seconds: 2,
  upstream_answer_seconds: 2,
});
afterAll(() => played.stop());

const nothing = { outcome: 'failed', usage_source: 'none', cost: '0', input_tokens: 0, output_tokens: 0 };

async function expectLastFailure(seen: Seen, { result, retryAfter }: FailingFault): Promise<void> {
  const code = codeOf[result];
  const { status } = await expectRefusal(seen, code);
  const told = seen.response.headers.get('retry-after');
  const expected = retryAfter ?? (status === 429 ? '1' : null);
  expect({ title: seen.title, told }).toEqual({ title: seen.title, told: expected });
  const [first, second] = seen.providers;
  expectRecord(seen, {
    ...nothing,
    status,
    attempts: [
      { provider: first, result: 'failed', status: 500 },
      { provider: second, result },
    ],
  });
}

test.each(failing.map((fault) => [fault.name, fault] as const))(
  'where the first route failed and the second one %s, that is what the caller is told',
  async (_name, fault) => {
    for (const seen of played.of(fails).filter(({ second }) => second === fault)) await expectLastFailure(seen, fault);
  },
);

test.each(refusing.map((fault) => [fault.name, fault] as const))(
  'a provider that %s is believed: nobody else is asked the same',
  async (_name, fault) => {
    for (const seen of played.of(fault)) {
      const { message } = await expectRefusal(seen, 'upstream_rejected');
      expect({ title: seen.title, message }).toEqual({
        title: seen.title,
        message: 'messages.0.content: is not to our taste',
      });
      const [provider] = seen.providers;
      expectRecord(seen, { ...nothing, status: 400, provider, attempts: [{ provider, result: 'rejected' }] });
      expect({ title: seen.title, asked: seen.asked }).toEqual({ title: seen.title, asked: [1, 0] });
    }
  },
);

test('where the first route failed and the second one refuses what the caller said, the caller is told of that', async () => {
  for (const seen of played.of(secondRefuses)) {
    await expectRefusal(seen, 'upstream_rejected');
    expectRecord(seen, { ...nothing, status: 400, attempts: [{ result: 'failed' }, { result: 'rejected' }] });
  }
});

test('no connection of theirs is kept that is of no use', () => played.expectClosed());

test('each message has one record, its account paid nothing, and nothing is held', () => played.expectBooks());
