// If both routes fail, the client gets the last failure in the standard error format; if the first one rejects the
// content, the client gets that at once. Both cost nothing.

import { afterAll, expect, test } from 'bun:test';
import type { Json } from '../post-messages/world.ts';
import { codeOf, type FailingFault, failing, JSON_TYPE, refusing, withStatus } from './faults.ts';
import { type Case, casesOf, expectRecord, expectRefusal, type Fault, playCases, type Seen } from './two-routes.ts';

/** The first route in tests of the second one. */
const fails: Fault = {
  name: 'fails first',
  play: (dialect) => (wire) => wire.send(500, { ...JSON_TYPE, 'retry-after': '99' }, dialect.error(500)),
};
const secondRefuses: Fault = { ...fails, name: 'fails first, and the next one rejects the content' };
const [refusesContent] = refusing as [Fault];

const hangs: Fault = { name: 'does not respond first', result: 'timeout', play: () => () => {} };

/**
 * Each of these failures at the second route, after this first one: every kind of provider, alternately with and
 * without streaming.
 */
const failingTwice = (first: Fault, seconds: readonly Fault[]): Case[] =>
  seconds
    .filter(({ kinds }) => kinds === undefined) // the kind of the second route depends on its place
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

/** Sends a message to two such providers. */
function bothOf(first: Fault, second: Fault): Seen[] {
  const found = played.of(first).filter((one) => one.second === second);
  expect(found.length).toBeGreaterThan(0);
  return found;
}

async function expectLastFailure(seen: Seen, first: Json, { result, retryAfter }: FailingFault): Promise<void> {
  const code = codeOf[result];
  const { status } = await expectRefusal(seen, code);
  const retryAfterHeader = seen.response.headers.get('retry-after');
  const expected = retryAfter ?? (status === 429 ? '1' : null);
  expect({ title: seen.title, retryAfterHeader }).toEqual({ title: seen.title, retryAfterHeader: expected });
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
  'if the first route failed and the second one %s, the client gets the second error',
  async (_name, fault) => {
    for (const seen of bothOf(fails, fault)) await expectLastFailure(seen, { result: 'failed', status: 500 }, fault);
  },
);

test.each(withStatus.map((fault) => [fault.name, fault] as const))(
  'if the first route timed out and the second one %s, the client gets the second error',
  async (_name, fault) => {
    for (const seen of bothOf(hangs, fault)) await expectLastFailure(seen, { result: 'timeout', status: null }, fault);
  },
);

test.each(refusing.map((fault) => [fault.name, fault] as const))(
  'if a provider %s, no other route is tried',
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

test('if the first route failed and the second one rejects the content, the client gets the rejection', async () => {
  for (const seen of played.of(secondRefuses)) {
    await expectRefusal(seen, 'upstream_rejected');
    expectRecord(seen, { ...nothing, status: 400, attempts: [{ result: 'failed' }, { result: 'rejected' }] });
  }
});

test('no broken upstream connection is reused', () => played.expectClosed());

test('each message has one record, is not charged, and leaves no hold', () => played.expectLedger());
