// A provider of the front's own protocol gets the client's own body, and the client gets the provider's own answer; holds, bills
// and the end of a stream are those of every message.

import { describe, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { expectMoney, expectNoTrace, GOOD } from '../post-messages/world.ts';
import { nativeGemini } from './drivers/native-gemini.ts';
import { nativeResponses } from './drivers/native-responses.ts';
import type { Prompt } from './front-driver.ts';
import { answerOf, expectError, expectLastError } from './front-world.ts';
import { type NativeDriver, postNative, startNative, streamText } from './native-driver.ts';

const drivers = [nativeGemini, nativeResponses];
const world = await startNative(drivers);
const { native } = world;

const JSON_TYPE = { 'content-type': 'application/json' };
/** Some keep-alives are empty lines. */
const withoutBlanks = (text: string) => text.replaceAll(/^\n/gm, '');

describe.each(drivers.map((driver): [string, NativeDriver] => [driver.front.name, driver]))('%s', (_, driver) => {
  const { front } = driver;
  const answer = JSON.stringify(driver.answer, null, 2);
  const { begun, end } = driver.events(['Hello ', 'there, world!']);
  const stream = [...begun, ...end].join('');
  const ask = (secret: string, prompt?: Prompt, more?: RequestInit) => postNative(driver, world, secret, prompt, more);

  test.each(driver.bodies)(
    'the body reaches the provider byte for byte but for what this service decides (%s)',
    async (__, received, body) => {
      native.play(scripts.json(answer));
      const caller = await world.makeKey();
      const response = await ask(caller.secret, {}, { body: received });
      expect(await response.text()).toBe(answer);
      expect(native.requests.at(-1)).toMatchObject({ path: driver.path, body, headers: driver.credential });
      await expectMoney(world, caller, [GOOD]);
    },
  );

  test('a stream is relayed event for event, however its bytes are split', async () => {
    const caller = await world.makeKey();
    for (const bytes of [1, 7, 100_000]) {
      native.play(streamText(stream, bytes));
      const response = await ask(caller.secret, { stream: true });
      expect(withoutBlanks(await response.text())).toBe(withoutBlanks(stream));
      expect(native.requests.at(-1)?.path).toBe(driver.streamPath);
    }
    await expectMoney(world, caller, Array(3).fill({ ...GOOD, outcome: 'completed' }));
  });

  test('a stream that breaks off ends with an error and without the provider’s end', async () => {
    native.play(streamText(begun.join('')));
    const caller = await world.makeKey();
    const response = await ask(caller.secret, { stream: true });
    const text = await response.text();
    expect(withoutBlanks(text)).toStartWith(withoutBlanks(begun.join('')));
    await expectLastError(front, new Response(text, response), 'upstream_failed');
    await expectMoney(world, caller, [{ outcome: 'upstream_cut' }]);
  });

  test('when the money runs out no more output of the provider is sent', async () => {
    native.play(async (answering) => {
      answering.begin(200, { 'content-type': 'text/event-stream' });
      for (const event of driver.events(Array(500).fill('word '.repeat(40))).begun) {
        if (answering.isGone) return;
        await answering.write(event);
        await Bun.sleep(1);
      }
    });
    const caller = await world.makeKey({ credit: '0.02' });
    const response = await ask(caller.secret, { model: 'long', stream: true, maxTokens: 30_000 });
    const { pieces } = await expectLastError(front, response, 'insufficient_user_quota');
    const [record] = await expectMoney(world, caller, [{ outcome: 'quota_cut', written_off: '0' }], '0.02');
    const relayed = pieces.join('').length;
    expect(relayed).toBeGreaterThan(500);
    expect(relayed / 5).toBeLessThanOrEqual(record?.['output_tokens'] as number); // each word is a token
  });

  test('a failure of the provider has our words and code, in its answer and within a stream', async () => {
    const caller = await world.makeKey();
    native.play((answering) => answering.send(429, JSON_TYPE, driver.limited.body));
    expect(await expectError(front, await ask(caller.secret), 'upstream_rate_limited')).not.toContain('4711');
    native.play(streamText(begun.join('') + driver.limited.event));
    const response = await ask(caller.secret, { stream: true });
    const text = await response.text();
    expect(text).not.toContain('4711');
    const { pieces } = await expectLastError(front, new Response(text, response), 'upstream_rate_limited');
    expect(pieces.join('')).toBe('Hello there, world!');
    await expectMoney(world, caller, [{ outcome: 'upstream_cut' }, { cost: '0' }]);
  });

  test('requests that have no price or read stored objects are refused by name, and the provider is not asked', async () => {
    const asked = native.requests.length;
    const caller = await world.makeKey();
    for (const [path, members] of driver.refused) {
      const response = await ask(caller.secret, { members });
      const { error } = (await response.json()) as { error: { message: string } };
      expect({ members, status: response.status, message: error.message }).toEqual({
        members,
        status: 400,
        message: expect.stringContaining(`${path}: `),
      });
    }
    expect(native.requests).toHaveLength(asked);
    await expectNoTrace(world, caller);
  });

  test('members that are not known to be free are left out', async () => {
    native.play(scripts.json(answer));
    const { secret } = await world.makeKey();
    const { received, sent } = driver.leftOut;
    expect((await ask(secret, { members: received })).status).toBe(200);
    expect(JSON.parse(native.requests.at(-1)?.body ?? '')).toEqual(sent);
  });

  test.each([false, true])(
    'an answer is repeated in the provider’s own words for an idempotency-key, which is bound to the whole body (streamed: %p)',
    async (isStreamed) => {
      native.play(isStreamed ? streamText(stream) : scripts.json(answer));
      const caller = await world.makeKey();
      const keyed = (members = {}) =>
        ask(caller.secret, { stream: isStreamed, members }, { headers: { 'idempotency-key': 'once' } });
      for (let turn = 0; turn < 2; turn++)
        expect(withoutBlanks(await (await keyed()).text())).toBe(withoutBlanks(isStreamed ? stream : answer));
      await expectError(front, await keyed(driver.unread), 'idempotency_mismatch');
      await expectMoney(world, caller, [GOOD]);
    },
  );

  test('another kind answers after a failure, from the translated message, and the other way round', async () => {
    const caller = await world.makeKey();
    for (const isStreamed of [false, true]) {
      native.play((answering) => answering.send(500, {}, 'no'));
      world.upstream.play(scripts.good());
      const response = await ask(caller.secret, { model: 'either', stream: isStreamed });
      expect(await answerOf(front, response, isStreamed)).toMatchObject({ text: 'Hello there, world!' });
    }
    native.play(scripts.json(answer));
    world.upstream.play(scripts.overloaded());
    expect(await (await ask(caller.secret, { model: 'other' })).text()).toBe(answer);
    await expectMoney(world, caller, [GOOD, GOOD, GOOD]);
  });
});
