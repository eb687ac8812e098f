// Each time limit holds by itself, all others being long: a provider that takes more than its time is passed over, or
// its stream ends with an error event; one that is only slow is not.

import { afterAll, expect, test } from 'bun:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { chunkOf, forever, trickle } from '../support/fault-upstream.ts';
import { cannotBeMade, startUnreachableHost } from '../support/unreachable-host.ts';
import { JSON_TYPE, STREAM_TYPE } from './faults.ts';
import {
  answerWell,
  BAD_TEXT,
  casesOf,
  expectAnswer,
  expectCut,
  expectRecord,
  expectRefusal,
  type Fault,
  GOOD_TEXT,
  playCases,
  type Seen,
} from './two-routes.ts';

const LONG_SECONDS = 300;
const long = {
  upstream_connect_seconds: LONG_SECONDS,
  upstream_first_event_seconds: LONG_SECONDS,
  upstream_silence_seconds: LONG_SECONDS,
  upstream_stream_seconds: LONG_SECONDS,
  upstream_answer_seconds: LONG_SECONDS,
  attempts_seconds: LONG_SECONDS,
};
const kinds = ['anthropic'] as const; // the limits are the gateway's, whoever is asked
const streamed = (fault: Fault): Fault => ({ ...fault, form: 'streamed' });
const whole = (fault: Fault): Fault => ({ ...fault, form: 'whole' });

function expectPassedOver(seen: Seen, result: string, status: number | null): void {
  expectAnswer(seen, GOOD_TEXT);
  expectRecord(seen, { outcome: 'completed', attempts: [{ result, status }, { result: 'answered' }] });
}

const silent: Fault = { name: 'says nothing', kinds, play: () => () => {} };
const silentBehindHead: Fault = {
  name: 'says nothing behind its head',
  kinds,
  form: 'streamed',
  play: () => (wire) => wire.begin(200, STREAM_TYPE),
};
const silentBehindContent: Fault = {
  name: 'says nothing behind its first content',
  kinds,
  form: 'streamed',
  play: (dialect) => (wire) => {
    const { begin, content } = dialect.stream([BAD_TEXT]);
    wire.begin(200, STREAM_TYPE);
    wire.chunk([...begin, ...content].join(''));
  },
};
const endless: Fault = {
  name: 'does not come to an end',
  kinds,
  form: 'streamed',
  play: (dialect) => (wire) => {
    const { begin, content } = dialect.stream(['x', 'x']);
    wire.begin(200, STREAM_TYPE);
    wire.chunk([...begin, content[0]].join(''));
    return trickle(
      wire,
      forever(() => chunkOf(content[1] as string)),
      50,
    );
  },
};
const slow: Fault = {
  name: 'is slow',
  kinds,
  play: (dialect) => async (wire) => {
    await sleep(1_500);
    await answerWell(dialect, BAD_TEXT)(wire);
  },
};
const errorWithoutEnd: Fault = {
  name: 'fails, and does not come to an end of saying so',
  kinds,
  play: () => (wire) => {
    wire.begin(500, JSON_TYPE);
    wire.chunk('{"error":');
  },
};
const slowToFail: Fault = {
  name: 'takes long to fail',
  kinds,
  play: (dialect) => async (wire) => {
    await sleep(1_200);
    wire.send(500, JSON_TYPE, dialect.error(500));
  },
};

const host = cannotBeMade ? null : await startUnreachableHost();
const unreachable: Fault = { name: 'cannot be connected to', kinds, url: host?.url ?? '', play: () => () => {} };
const playLimited = (faults: readonly Fault[], settings: Partial<typeof long>) =>
  playCases(casesOf(faults), { ...long, ...settings });
const [connecting, beginning, pausing, streaming, answering, attempting, patient] = await Promise.all([
  playLimited(host === null ? [slow] : [unreachable, slow], { upstream_connect_seconds: 1 }),
  playLimited([silent, silentBehindHead].map(streamed), { upstream_first_event_seconds: 1 }),
  playLimited([silentBehindContent, streamed(slow)], { upstream_silence_seconds: 1 }),
  playLimited([endless], { upstream_stream_seconds: 1 }),
  playLimited([whole(silent), streamed(slow)], { upstream_answer_seconds: 1 }),
  playLimited([slowToFail], { attempts_seconds: 1 }),
  playLimited([errorWithoutEnd], {}),
]);
const services = [connecting, beginning, pausing, streaming, answering, attempting, patient];
afterAll(async () => {
  await Promise.all(services.map((played) => played.stop()));
  await host?.[Symbol.asyncDispose]();
});

test.skipIf(cannotBeMade)(
  'a host that never completes a connection is passed over when the time to connect is over',
  () => {
    for (const seen of connecting.of(unreachable)) expectPassedOver(seen, 'timeout', null);
  },
);

test('who is connected may take longer than the time to connect', () => {
  for (const seen of connecting.of(slow)) expectAnswer(seen, BAD_TEXT);
});

test('a stream that does not begin is passed over when the time of the first event is over', () => {
  for (const seen of beginning.all) expectPassedOver(seen, 'timeout', null);
});

test('a stream that has stopped ends when the time between events is over', () => {
  for (const seen of pausing.of(silentBehindContent)) expectCut(seen, 'upstream_timeout', BAD_TEXT);
});

test('a stream may be slower to begin than to go on, and last longer than an answer that is not streamed', () => {
  for (const played of [pausing, answering])
    for (const seen of played.all.filter(({ fault }) => fault.name === slow.name)) expectAnswer(seen, BAD_TEXT);
});

test('a stream that does not come to an end is ended when its time is over, and billed as received', () => {
  const [seen] = streaming.of(endless) as [Seen];
  const heard = seen.text.match(/"text":"x"/g)?.length ?? 0;
  expect(heard).toBeGreaterThan(1);
  expectCut(seen, 'upstream_timeout', 'x'.repeat(heard));
  expectRecord(seen, { outcome: 'upstream_cut', usage_source: 'estimated', attempts: [{ result: 'answered' }] });
});

test('an answer that is not streamed and does not come is passed over when its time is over', () => {
  for (const seen of answering.all.filter(({ form }) => form === 'whole')) expectPassedOver(seen, 'timeout', null);
});

test('when the time of all attempts is over no further route is tried', async () => {
  for (const seen of attempting.of(slowToFail)) {
    await expectRefusal(seen, 'upstream_failed');
    expectRecord(seen, { outcome: 'failed', cost: '0', attempts: [{ result: 'failed', status: 500 }] });
    expect(seen.asked).toEqual([1, 0]);
  }
});

test('the status of an error is known though its words never end', () => {
  for (const seen of patient.of(errorWithoutEnd)) expectPassedOver(seen, 'failed', 500);
});

test('no connection of theirs is kept that is of no use', async () => {
  for (const played of services) await played.expectClosed();
});

test('each message has one record, its account paid for what it got, and nothing is held', async () => {
  for (const played of services) await played.expectBooks();
});
