// Streams that botocore made or read, cut at every byte, with exceptions inside, and damaged in every byte.

import { FrameParser, loadCodec } from '../../../src/providers/bedrock/frame-parser.ts';
import { ProviderFault } from '../../../src/providers/providers.ts';
import { makeRandom } from '../../support/random.ts';
import { bedrockClaudeDriver, converseDriver } from '../../unit/providers/conformance/bedrock-wire.ts';
import { bytesOf } from '../../unit/providers/conformance/driver.ts';
import { call, replyOf, text, thinking } from '../../unit/providers/conformance/model-reply.ts';
import type { Frame, Judge } from './open-judge.ts';
import type { Check } from './run.ts';

const EXCEPTIONS: Readonly<Record<string, string>> = {
  throttlingException: 'rate_limited',
  modelStreamErrorException: 'failed',
  modelTimeoutException: 'timeout',
  internalServerException: 'failed',
  serviceUnavailableException: 'overloaded',
  validationException: 'rejected',
  anExceptionOfTheFuture: 'failed',
};
const codec = await loadCodec();

const eventFrame = (type: string, payload: string): Frame => ({
  headers: { ':message-type': 'event', ':event-type': type, ':content-type': 'application/json' },
  payload,
});

/** The names and payloads that the parser gives for these pieces, and its fault. */
function parse(pieces: readonly Uint8Array[]): { events: string[]; fault: ProviderFault | null } {
  const parser = new FrameParser(codec, null);
  const events: string[] = [];
  try {
    for (const piece of pieces) for (const { name, text: payload } of parser.push(piece)) events.push(name + payload);
  } catch (thrown) {
    if (!(thrown instanceof ProviderFault)) throw thrown;
    return { events, fault: thrown };
  }
  return { events, fault: null };
}

const bytesIn = ({ stream }: Record<string, unknown>): Uint8Array => Buffer.from(String(stream), 'base64');
const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

export async function judgeFrames(judge: Judge, check: Check): Promise<void> {
  const frames = [
    eventFrame('messageStart', '{"role":"assistant"}'),
    eventFrame('contentBlockDelta', '{"contentBlockIndex":0,"delta":{"text":"Grüße 🗼"}}'),
    eventFrame('an empty one', ''),
    { headers: { ...eventFrame('many', '').headers, 'x-more': 'é'.repeat(200), 'x-none': '' }, payload: '{}' },
    eventFrame('messageStop', `{"stopReason":"end_turn","p":"${'x'.repeat(400)}"}`),
  ];
  const expected = frames.map(({ headers, payload }) => headers[':event-type'] + payload);
  const bytes = bytesIn(await judge.ask({ ask: 'frames', events: frames }));
  for (let at = 0; at <= bytes.length; at++) {
    const { events, fault } = parse([bytes.subarray(0, at), bytes.subarray(at)]);
    check(`cut at ${at}`, fault === null && same(events, expected));
  }
  const single = parse(Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)));
  check('byte by byte', single.fault === null && same(single.events, expected));
  await judgeExceptions(judge, check);
  await judgeDamage(judge, check, bytes);
  await judgeStreams(judge, check);
}

async function judgeExceptions(judge: Judge, check: Check): Promise<void> {
  const before = eventFrame('contentBlockDelta', '{"contentBlockIndex":0,"delta":{"text":"Hi"}}');
  for (const [name, kind] of Object.entries(EXCEPTIONS)) {
    const exception = {
      headers: { ':message-type': 'exception', ':exception-type': name, ':content-type': 'application/json' },
      payload: '{"message":"It ended."}',
    };
    const bytes = bytesIn(await judge.ask({ ask: 'frames', events: [before, exception, before] }));
    const { events, fault } = parse([bytes]);
    check(`${name} is ${fault?.kind}`, fault?.kind === kind && fault.message === 'It ended.');
    check(`${name} comes after the event before it`, events.length === 1);
  }
  const error = {
    headers: { ':message-type': 'error', ':error-code': 'InternalFailure', ':error-message': 'It broke.' },
    payload: '',
  };
  const broken = parse([bytesIn(await judge.ask({ ask: 'frames', events: [error] }))]);
  check('an error is a failure', broken.fault?.kind === 'failed' && broken.fault.message === 'It broke.');
  for (const type of ['', 'request', 'Event']) {
    const odd = { headers: { ':message-type': type }, payload: '{}' };
    const { events, fault } = parse([bytesIn(await judge.ask({ ask: 'frames', events: [odd] }))]);
    check(`a frame of the type "${type}" is a failure`, fault?.kind === 'failed' && events.length === 0);
  }
}

/** Neither reader accepts a stream in which any byte was changed. */
async function judgeDamage(judge: Judge, check: Check, bytes: Uint8Array): Promise<void> {
  const whole = parse([bytes]).events.length;
  for (let at = 0; at < bytes.length; at += 7) {
    const damaged = Buffer.from(bytes);
    damaged[at] = (damaged[at] ?? 0) ^ 0x40;
    const { fault, events } = parse([damaged]);
    check(`damage at ${at} is noticed`, fault?.kind === 'failed' && events.length < whole);
    const said = await judge.ask({ ask: 'read', stream: damaged.toString('base64') });
    check(`botocore notices damage at ${at}`, said['events'] === null);
  }
}

/** The streams of the conformance list are what botocore reads, too. */
async function judgeStreams(judge: Judge, check: Check): Promise<void> {
  const reply = replyOf([thinking('Hm — 日本'), text('Grüße 🗼'), call('toolu_1', 'look', '{"at": [1, "ü"]}')]);
  for (const driver of [bedrockClaudeDriver, converseDriver]) {
    const bytes = bytesOf(driver, driver.stream(driver.fit(reply), makeRandom(3)));
    const said = await judge.ask({ ask: 'read', stream: Buffer.from(bytes).toString('base64') });
    const read = (said['events'] as Frame[]).map(({ headers, payload }) => headers[':event-type'] + payload);
    check(`${driver.name}: botocore reads the same events`, same(parse([bytes]).events, read));
  }
}
