// Recorded streams of each kind: they give the same events however the network splits them, and one that ends early
// is a fault, never a normal end.

import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeRandom } from '../../../support/random.ts';
import { anthropicDriver } from './anthropic-wire.ts';
import { bedrockClaudeDriver, converseDriver } from './bedrock-wire.ts';
import { chatDrivers } from './chat-wire.ts';
import { bytesOf, type Driver } from './driver.ts';
import { ask, attemptOf, type Outcome, streamed, THINKING } from './exchange.ts';
import { geminiDriver } from './gemini-wire.ts';
import { call, replyOf, text, thinking } from './model-reply.ts';
import { readEvents } from './read-events.ts';
import { responsesDriver } from './responses-wire.ts';

/** Bytes from one place to the next, besides boundaries. test/verify/providers tries more places. */
const STEP = Number(process.env['SPLIT_STEP'] ?? 17);

/** By the prefix of a recording's name, if it has a family of its own. */
const FAMILIES: Readonly<Record<string, string>> = { llama: 'compatible, with tags', vllm: 'compatible, with tags' };

function recordingsOf(folder: string, driverOf: (name: string) => Driver): [string, Driver, Buffer][] {
  const path = join(import.meta.dir, '..', folder, 'fixtures');
  return readdirSync(path).map((name) => [`${folder}/${name}`, driverOf(name), readFileSync(join(path, name))]);
}

function familyOf(name: string): Driver {
  const prefix = name.split(/[-.]/)[0] ?? '';
  const family = FAMILIES[prefix] ?? prefix;
  const driver = chatDrivers.find(({ name: known }) => known === `openai (${family})`) ?? chatDrivers[2];
  return driver as Driver;
}

const reply = replyOf([thinking('Hm — 日本'), text('Grüße 🗼'), call('toolu_1', 'look', '{"at": [1, "ü"]}')]);
const recordings: [string, Driver, Buffer][] = [
  ...[anthropicDriver, bedrockClaudeDriver, converseDriver].map((driver): [string, Driver, Buffer] => [
    driver.name,
    driver,
    Buffer.from(bytesOf(driver, driver.stream(reply, makeRandom(1)))),
  ]),
  ...recordingsOf('openai', familyOf),
  ...recordingsOf('openai-responses', () => responsesDriver),
  ...recordingsOf('gemini', () => geminiDriver),
];

function take(driver: Driver, pieces: readonly Uint8Array[]): Promise<Outcome> {
  const attempt = attemptOf(driver, { stream: true, thinking: THINKING });
  return ask(driver, attempt, () => streamed(driver, pieces));
}

/** Counts come with an event of the same read, or with a ping: that depends on how the network splits them. */
const resultText = ({ events, fault }: Outcome) =>
  JSON.stringify([withoutPings(events).map(({ json }) => json), fault?.kind, fault?.message]);
const withoutPings = (events: Outcome['events']) => events.filter(({ name }) => name !== 'ping');
/** Around line ends and escapes, within characters of several bytes, and now and then between. */
function placesIn(bytes: Uint8Array): number[] {
  return [...bytes.keys()].filter((at) => {
    const [before, after] = [bytes[at - 1], bytes[at] as number];
    return (
      at % STEP === 0 || before === LINE_END || after === LINE_END || before === BACKSLASH || (after & 0xc0) === 0x80
    );
  });
}
const LINE_END = 10;
const BACKSLASH = 92;

const ends = ({ events }: Outcome) => events.at(-1)?.name === 'message_stop';

describe.each(recordings)('the stream %s', (_name, driver, bytes) => {
  test('gives the same events however it is split', async () => {
    const whole = resultText(await take(driver, [bytes]));
    for (const at of placesIn(bytes))
      if (resultText(await take(driver, [bytes.subarray(0, at), bytes.subarray(at)])) !== whole)
        throw new Error(`different events when split at ${at}`);
    const { events, fault } = await take(driver, [bytes]);
    if (fault === null) readEvents(events); // throws if the message is not well formed
    const single = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
    expect(resultText(await take(driver, single))).toBe(whole);
  });

  test('that ends early is a fault, or lacks only its counts', async () => {
    const whole = await take(driver, [bytes]);
    const content = ends(whole) ? JSON.stringify(readEvents(whole.events).blocks) : '';
    for (const at of placesIn(bytes)) {
      const outcome = await take(driver, [bytes.subarray(0, at)]);
      if (outcome.fault !== null) expect(ends(outcome)).toBe(false);
      else if (JSON.stringify(readEvents(outcome.events).blocks) !== content)
        throw new Error(`a normal end without all content at ${at}`);
    }
  });
});
