// A price with a later version: the version in force when the body of a message was read is the one that it pays, however
// long the message runs. The test sets the time of prices and does not wait.

import { expect, test } from 'bun:test';
import { once } from 'node:events';
import { connect } from 'node:net';
import { EVENTS, messageReply, startControlled, streamOf } from './controlled-service.ts';

const FROM = '2026-12-01T00:00:00.000Z';
const FROM_MS = Date.parse(FROM);
const priceChanges = [{ from: '2026-12-01', input: '6', output: '30' }];
// 25 input and 12 output tokens, at the first version and at the second.
const BEFORE = 25 * 3_000 + 12 * 15_000;
const AFTER = 2 * BEFORE;

test('a message that runs when the price changes pays the version of its admission, the next one the new version', async () => {
  const begun = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let streams = 0;
  await using service = await startControlled({
    priceChanges,
    answer: async () => {
      begun.resolve();
      return streamOf(EVENTS, streams++ === 0 ? { 3: released.promise } : {});
    },
  });
  const secret = await service.makeKey();
  const running = service.post(secret, { stream: true });
  await begun.promise;
  service.setPriceTime(FROM_MS);
  const next = await service.post(secret, { stream: true });
  expect(await next.text()).toContain('message_stop');
  released.resolve();
  expect(await (await running).text()).toContain('message_stop');
  const [late, early] = await service.records();
  expect([late?.cost, late?.rates['from']]).toEqual([BEFORE, undefined]);
  expect([early?.cost, early?.rates]).toEqual([
    AFTER,
    expect.objectContaining({ from: FROM, input: '6', output: '30' }),
  ]);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test('a price changes at its time and not before', async () => {
  await using service = await startControlled({ priceChanges, answer: async () => messageReply() });
  const secret = await service.makeKey();
  for (const ms of [FROM_MS - 1, FROM_MS]) {
    service.setPriceTime(ms);
    expect((await service.post(secret)).status).toBe(200);
  }
  expect((await service.records()).map(({ cost }) => cost)).toEqual([AFTER, BEFORE]);
});

test('a body that is sent slowly does not keep the price of its beginning', async () => {
  await using service = await startControlled({ priceChanges, answer: async () => messageReply() });
  const secret = await service.makeKey();
  const body = JSON.stringify({ model: 'm', max_tokens: 64, messages: [{ role: 'user', content: 'hi' }] });
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
  const head = `POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: ${secret}\r\ncontent-type: application/json\r\n`;
  socket.write(`${head}content-length: ${body.length}\r\n\r\n${body.slice(0, 10)}`);
  while (service.gateway.slots.taken === 0) await Bun.sleep(1); // the message reads its body
  service.setPriceTime(FROM_MS);
  socket.write(body.slice(10));
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toStartWith('HTTP/1.1 200');
  socket.destroy();
  expect((await service.records())[0]).toMatchObject({ cost: AFTER, rates: { from: FROM } });
});

test('an answer that is repeated after a change costs nothing and keeps its version', async () => {
  await using service = await startControlled({ priceChanges, answer: async () => messageReply() });
  const secret = await service.makeKey();
  const post = () =>
    fetch(`${service.url}/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': secret, 'idempotency-key': 'once' },
      body: JSON.stringify({ model: 'm', max_tokens: 64, messages: [{ role: 'user', content: 'hi' }] }),
    });
  const first = await (await post()).text();
  service.setPriceTime(FROM_MS);
  expect(await (await post()).text()).toBe(first);
  expect((await service.records()).map(({ cost }) => cost)).toEqual([BEFORE]);
});

test('the hold and the refusal of a message use the version that it would pay', async () => {
  await using service = await startControlled({
    priceChanges: [{ from: '2026-12-01', input: '3', output: '1000' }],
    answer: async () => messageReply(),
  });
  const secret = await service.makeKey({ quota: 100_000_000 });
  const large = { max_tokens: 5_000 };
  expect((await service.post(secret, large)).status).toBe(200);
  service.setPriceTime(FROM_MS);
  const refused = await service.post(secret, large);
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('insufficient_user_quota')]);
});
