// Each time limit, tested with all others long: after a provider that exceeds it the next route is tried, or its
// stream ends with an error event; a provider that is only slow is not interrupted.

import { afterAll, expect, test } from 'bun:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { chunkOf, forever, trickle } from '../../support/fault-upstream.ts';
import { cannotBeMade, startUnreachableHost } from '../../support/unreachable-host.ts';
import { streamHead } from './dialects.ts';
import { JSON_TYPE } from './faults.ts';
import {
  answerNormally,
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
const kinds = ['anthropic'] as const; // the limits belong to the gateway and are the same for every kind
const streamed = (fault: Fault): Fault => ({ ...fault, form: 'streamed' });
const whole = (fault: Fault): Fault => ({ ...fault, form: 'whole' });

function expectPassedOver(seen: Seen, result: string, status: number | null): void {
  expectAnswer(seen, GOOD_TEXT);
  expectRecord(seen, { outcome: 'completed', attempts: [{ result, status }, { result: 'answered' }] });
}

const silent: Fault = { name: 'does not respond', kinds, play: () => () => {} };
const silentBehindHead: Fault = {
  name: 'sends nothing after its headers',
  kinds,
  form: 'streamed',
  play: (dialect) => (wire) => wire.begin(200, streamHead(dialect)),
};
const silentBehindContent: Fault = {
  name: 'sends nothing after its first content',
  kinds,
  form: 'streamed',
  play: (dialect) => (wire) => {
    const { begin, content } = dialect.stream([BAD_TEXT]);
    wire.begin(200, streamHead(dialect));
    wire.chunk([...begin, ...content].join(''));
  },
};
const endless: Fault = {
  name: 'never ends',
  kinds,
  form: 'streamed',
  play: (dialect) => (wire) => {
    const { begin, content } = dialect.stream(['x', 'x']);
    wire.begin(200, streamHead(dialect));
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
    await answerNormally(dialect, BAD_TEXT)(wire);
  },
};
const errorWithoutEnd: Fault = {
  name: 'fails with an endless error body',
  kinds,
  play: () => (wire) => {
    wire.begin(500, JSON_TYPE);
    wire.chunk('{"error":');
  },
};
const slowToFail: Fault = {
  name: 'fails slowly',
  kinds,
  play: (dialect) => async (wire) => {
    await sleep(1_200);
    wire.send(500, JSON_TYPE, dialect.error(500));
  },
};

const host = cannotBeMade ? null : await startUnreachableHost();
const unreachable: Fault = { name: 'never accepts a connection', kinds, url: host?.url ?? '', play: () => () => {} };
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

test.skipIf(cannotBeMade)('a host that never accepts a connection is skipped after the connect timeout', () => {
  for (const seen of connecting.of(unreachable)) expectPassedOver(seen, 'timeout', null);
});

test('a connected provider may take longer than the connect timeout', () => {
  for (const seen of connecting.of(slow)) expectAnswer(seen, BAD_TEXT);
});

test('a stream that does not begin is skipped after the first-event timeout', () => {
  for (const seen of beginning.all) expectPassedOver(seen, 'timeout', null);
});

test('a silent stream ends after the silence timeout', () => {
  for (const seen of pausing.of(silentBehindContent)) expectCut(seen, 'upstream_timeout', BAD_TEXT);
});

test('a stream may take longer to begin than between events, and longer in total than a response without streaming', () => {
  for (const played of [pausing, answering])
    for (const seen of played.all.filter(({ fault }) => fault.name === slow.name)) expectAnswer(seen, BAD_TEXT);
});

test('an endless stream is ended at the stream timeout and billed as received', () => {
  const [seen] = streaming.of(endless) as [Seen];
  const received = seen.text.match(/"text":"x"/g)?.length ?? 0;
  expect(received).toBeGreaterThan(1);
  expectCut(seen, 'upstream_timeout', 'x'.repeat(received));
  expect(seen.text).toContain('The answer took longer than this service allows for a stream.');
  expectRecord(seen, { outcome: 'upstream_cut', usage_source: 'estimated', attempts: [{ result: 'answered' }] });
});

test('a response without streaming is abandoned after its timeout', () => {
  for (const seen of answering.all.filter(({ form }) => form === 'whole')) expectPassedOver(seen, 'timeout', null);
});

test('after the time limit for all attempts no further route is tried', async () => {
  for (const seen of attempting.of(slowToFail)) {
    await expectRefusal(seen, 'upstream_failed');
    expectRecord(seen, { outcome: 'failed', cost: '0', attempts: [{ result: 'failed', status: 500 }] });
    expect(seen.asked).toEqual([1, 0]);
  }
});

test('the status of an error is known even if its body never ends', () => {
  for (const seen of patient.of(errorWithoutEnd)) expectPassedOver(seen, 'failed', 500);
});

test('no broken upstream connection is reused', async () => {
  for (const played of services) await played.expectClosed();
});

test('each message has one record, is charged for the output delivered, and leaves no hold', async () => {
  for (const played of services) await played.expectLedger();
});
