// Where both routes fail the last failure is the answer, in the one shape; where the first refuses what the caller
// said, that is the answer at once. Nothing is charged for either.

import { afterAll, expect, test } from 'bun:test';
import type { Json } from '../post-messages/world.ts';
import { codeOf, type FailingFault, failing, JSON_TYPE, refusing, withStatus } from './faults.ts';
import { type Case, casesOf, expectRecord, expectRefusal, type Fault, playCases, type Seen } from './two-routes.ts';

/** What the first route does where the second one matters. */
const fails: Fault = {
  name: 'fails at first',
  play: (dialect) => (wire) => wire.send(500, { ...JSON_TYPE, 'retry-after': '99' }, dialect.error(500)),
};
const secondRefuses: Fault = { ...fails, name: 'fails at first, and the next refuses' };
const [refusesContent] = refusing as [Fault];

const hangs: Fault = { name: 'says nothing at first', play: () => () => {} };

/** Each of these at the second route, behind such a first one: all kinds, each in one form, which are mixed anew each time. */
const failingTwice = (first: Fault, seconds: readonly Fault[]): Case[] =>
  seconds
    .filter(({ kinds }) => kinds === undefined) // the kind of the second route follows from its place
    .flatMap((second, place) => {
      const { form } = second;
      const cases = casesOf([form === undefined ? first : { ...first, form }]);
      const isTaken = (at: number) => form !== undefined || [0, 3].includes((at + 2 * (place % 2)) % 4);
      return cases.filter((_case, at) => isTaken(at)).map((one) => ({ ...one, fault: first, second }));
    });
const refusedTwice = casesOf([secondRefuses]).map((one) => ({ ...one, second: refusesContent }));
const played = await playCases(
  [...failingTwice(fails, failing), ...failingTwice(hangs, withStatus), ...refusedTwice, ...casesOf(refusing)],
  {
    upstream_connect_seconds: 6,
    upstream_first_event_seconds: 6,
    upstream_silence_seconds: 6,
    upstream_answer_seconds: 6,
  },
);
afterAll(() => played.stop());

const nothing = { outcome: 'failed', usage_source: 'none', cost: '0', input_tokens: 0, output_tokens: 0 };

/** What was sent to two such providers. */
function bothOf(first: Fault, second: Fault): Seen[] {
  const found = played.of(first).filter((one) => one.second === second);
  expect(found.length).toBeGreaterThan(0);
  return found;
}

async function expectLastFailure(seen: Seen, first: Json, { result, retryAfter }: FailingFault): Promise<void> {
  const code = codeOf[result];
  const { status } = await expectRefusal(seen, code);
  const told = seen.response.headers.get('retry-after');
  const expected = retryAfter ?? (status === 429 ? '1' : null);
  expect({ title: seen.title, told }).toEqual({ title: seen.title, told: expected });
  expectRecord(seen, {
    ...nothing,
    status,
    attempts: [
      { provider: seen.providers[0], ...first },
      { provider: seen.providers[1], result },
    ],
  });
}

const everyKind = failing.filter(({ kinds }) => kinds === undefined);
test.each(everyKind.map((fault) => [fault.name, fault] as const))(
  'where the first route failed and the second one %s, that is what the caller is told',
  async (_name, fault) => {
    for (const seen of bothOf(fails, fault)) await expectLastFailure(seen, { result: 'failed', status: 500 }, fault);
  },
);

test.each(withStatus.map((fault) => [fault.name, fault] as const))(
  'where the first route said nothing and the second one %s, that is what the caller is told',
  async (_name, fault) => {
    for (const seen of bothOf(hangs, fault)) await expectLastFailure(seen, { result: 'timeout', status: null }, fault);
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
