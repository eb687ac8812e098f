// An answer in another form than was requested, as from routers that always stream, or never: events for a whole answer, and JSON for
// a stream, under any content type.

import { describe, expect, test } from 'bun:test';
import { makeRandom } from '../../../support/random.ts';
import { type Driver, wireOf } from './driver.ts';
import { drivers } from './drivers.ts';
import { answerOf, ask, attemptOf, THINKING, TOOLS, withToolNamesOf } from './exchange.ts';
import { call, type ModelReply, replyOf, text } from './model-reply.ts';
import { comparable, readEvents, readWhole } from './read-events.ts';

const TYPES = [
  'text/event-stream',
  'text/html; charset=UTF-8',
  'application/json',
  'text/plain; charset=utf-8',
  'application/octet-stream',
  null,
];
const REPLY = replyOf([text('I look.'), call('toolu_look1', 'look', '{"at": "Zürich"}')]);

/** Without frames of their own, whose operation decides the form. */
const byEvents = drivers.filter(({ framing }) => framing === undefined);

async function messageOf(driver: Driver, reply: ModelReply, isStreamed: boolean, type: string | null) {
  const body = { thinking: THINKING, tools: TOOLS, stream: isStreamed };
  const outcome = await ask(driver, attemptOf(driver, body), (request) => {
    const named = withToolNamesOf(driver, reply, request);
    const sent = isStreamed ? ` \n${driver.whole(named)}` : driver.stream(named, makeRandom(1)).join('');
    return new Response(new TextEncoder().encode(sent), type === null ? {} : { headers: { 'content-type': type } });
  });
  if (outcome.fault !== null) throw outcome.fault;
  return isStreamed ? readEvents(outcome.events) : readWhole(outcome.text ?? '');
}

describe.each(byEvents.map((driver): [string, Driver] => [driver.name, driver]))('%s', (_name, driver) => {
  test.each(TYPES)('answers with the whole message where it streams unasked, as %p', async (type) => {
    const reply = driver.fit(REPLY);
    const { message } = await answerOf(driver, {}, reply, { isStreamed: false });
    const { blocks, ...rest } = await messageOf(driver, reply, false, type);
    expect(comparable(blocks, false)).toEqual(comparable(message.blocks, false));
    expect(message).toMatchObject(rest);
  });

  test.each(TYPES)('streams the message that it sends at once, as %p', async (type) => {
    const reply = driver.fit(REPLY);
    const { message } = await answerOf(driver, {}, reply, { isStreamed: true });
    const { blocks, ...rest } = await messageOf(driver, reply, true, type);
    expect(comparable(blocks, false)).toEqual(comparable(message.blocks, false));
    expect(message).toMatchObject(rest);
  });

  test('answers with the whole message that it calls events', async () => {
    const reply = driver.fit(REPLY);
    const body = { thinking: THINKING, tools: TOOLS };
    const asked = await ask(driver, attemptOf(driver, body), (request) => {
      const whole = driver.whole(withToolNamesOf(driver, reply, request));
      return new Response(`\n${whole}`, { headers: { 'content-type': 'text/event-stream' } });
    });
    expect(asked.fault).toBeNull();
    const { message } = await answerOf(driver, {}, reply, { isStreamed: false });
    const { blocks, ...rest } = readWhole(asked.text ?? '');
    expect(comparable(blocks, false)).toEqual(comparable(message.blocks, false));
    expect(message).toMatchObject(rest);
  });

  test('fails for a page, whatever was requested', async () => {
    for (const stream of [true, false]) {
      const { fault } = await ask(driver, attemptOf(driver, { stream }), () => {
        return new Response('<html>', { headers: { 'content-type': 'text/html' } });
      });
      expect(fault).toMatchObject({ kind: 'failed' });
    }
  });
});

test('every protocol but those with frames is tried', () => {
  expect(new Set(byEvents.map(wireOf)).size).toBeGreaterThan(3);
});
