// Responses that were not stored, or are no longer available: a retry gets an error that says so, and is not charged.

import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { bounds } from '../../../src/config/config.ts';
import { IdempotencyRecords } from '../../../src/gateway/gateway.ts';
import type { StoredAnswer } from '../../../src/ledger/ledger.ts';
import { openVault } from '../../../src/secrets/secrets.ts';
import { makeEvent } from '../../../src/wire/wire.ts';
import { failureOf } from '../../money/ledger/workbench.ts';
import { temporaryDirectory } from '../../storage/temporary-directory.ts';
import { scripts } from '../../support/scripted-upstream.ts';
import { spawnTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import { startControlled } from '../post-messages/controlled-service.ts';
import { type Caller, expectError, expectMoney, GOOD, type Json, sharedWorld } from '../post-messages/world.ts';
import { expectReplay, postKeyed, requestIdOf } from './post-keyed.ts';

async function expectUnavailable(turnpike: Turnpike, caller: Caller, requestId: string, members: Json) {
  const again = await postKeyed(turnpike, caller.secret, 'order-17', members);
  const message = await expectError(again, 409, 'invalid_request_error', 'idempotency_answer_gone');
  expect(message).toContain(requestId);
}

for (const stream of [false, true])
  test(`${stream ? 'a stream' : 'a message'} too large to store is sent to the first client, and a retry is not sent to the provider`, async () => {
    await using world = await sharedWorld();
    world.upstream.play(scripts.good({ text: 'x'.repeat(bounds.answerBytesMax), pieces: 4 }), scripts.overloaded());
    const caller = await world.makeKey({ credit: '1000.00' });
    const members = { stream, max_tokens: bounds.answerBytesMax };
    const first = await postKeyed(world, caller.secret, 'order-17', members);
    const requestId = requestIdOf(first);
    expect((await first.text()).length).toBeGreaterThan(bounds.answerBytesMax);
    await expectUnavailable(world, caller, requestId, members);
    await expectMoney(world, caller, [{ ...GOOD, outcome: 'completed' }], '1000.00');
  });

test('a stored response survives a change of the installation secret as long as the former secret is configured', async () => {
  using directory = temporaryDirectory();
  const [former, present] = [1, 2].map(() => randomBytes(32).toString('base64')) as [string, string];
  const model = 'sandbox-echo';
  const start = (environment: Record<string, string>) => spawnTurnpike(directory.path, environment);
  const first = await start({ TURNPIKE_SECRET: former });
  const caller = await first.makeKey({ groups: ['sandbox'] });
  const requestId = requestIdOf(await postKeyed(first, caller.secret, 'order-17', { stream: false, model }));
  await first.stop();
  const second = await start({ TURNPIKE_SECRET: present, TURNPIKE_PREVIOUS_SECRET: former });
  expectReplay(await postKeyed(second, caller.secret, 'order-17', { stream: false, model }), requestId);
  await second.stop();
  await using third = await start({ TURNPIKE_SECRET: present });
  await expectUnavailable(third, caller, requestId, { stream: false, model });
  const { data } = (await third.admin('GET', `/usage?account=${caller.account}`)) as { data: unknown[] };
  expect(data).toHaveLength(1);
});

const vault = openVault(randomBytes(32));

/** Idempotency records over a store in memory. */
function idempotencyRecords() {
  const stored = new Map<string, StoredAnswer>();
  const answers = new IdempotencyRecords(
    { findAnswer: async (requestId) => stored.get(requestId) ?? null, answerRow: (answer) => answer },
    vault,
  );
  return { answers, stored };
}

test('the store contains no response text in the clear', () => {
  const { answers } = idempotencyRecords();
  const answer = answers.collect(1);
  answer.addMessage('{"content":"the secret plan"}');
  const [row] = answers.rowsOf(answer, 'req_1', 5) as [StoredAnswer];
  expect(row).toMatchObject({ requestId: 'req_1', atMs: 5, bytes: row.sealed.length });
  expect(JSON.stringify(row)).not.toContain('secret');
  expect(Buffer.from(row.sealed.slice(3), 'base64url').toString('latin1')).not.toContain('secret');
});

test('a sealed response opens only for its own message', async () => {
  const { answers, stored } = idempotencyRecords();
  const answer = answers.collect(1);
  answer.addMessage('{}');
  const [row] = answers.rowsOf(answer, 'req_1', 5) as [StoredAnswer];
  stored.set('req_1', row);
  stored.set('req_2', { ...row, requestId: 'req_2' });
  expect(await answers.find('req_1')).toBe('{}');
  expect(await answers.find('req_2')).toBeNull();
});

test('an incomplete stream is not stored, and events after the end are not stored', () => {
  const { answers } = idempotencyRecords();
  const answer = answers.collect(1);
  const [ping, stop] = ['ping', 'message_stop'].map((type) => makeEvent({ type })) as [never, never];
  answer.addEvents([ping]);
  expect(answers.rowsOf(answer, 'req_1', 5)).toEqual([]);
  answer.addEvents([stop, ping]);
  answer.addEvents([ping]);
  expect(answer.text()).toBe(
    'event: ping\ndata: {"type":"ping"}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n',
  );
});

test('responses are collected for storing up to a total size, and those beyond it are not stored', () => {
  const { answers } = idempotencyRecords();
  const text = 'x'.repeat(bounds.answerBytesMax);
  const fittingCount = Math.floor(bounds.answersCollectedBytesMax / bounds.answerBytesMax);
  const collected = Array.from({ length: fittingCount + 1 }, (_, account) => {
    const answer = answers.collect(account);
    answer.addMessage(text);
    return answer;
  });
  expect(collected.map(({ isWhole }) => isWhole)).toEqual([...Array<boolean>(fittingCount).fill(true), false]);
  expect(answers.bytesInMemory).toBe(bounds.answersCollectedBytesMax);
  for (const answer of collected) answer.giveBack();
  for (const answer of collected) answer.giveBack();
  expect(answers.bytesInMemory).toBe(0);
});

test('large responses of one account leave memory for those of others', () => {
  const { answers } = idempotencyRecords();
  const text = 'x'.repeat(bounds.answerBytesMax);
  const fittingCount = bounds.answersCollectedBytesMax / bounds.answerBytesMax;
  for (let turn = 0; turn < fittingCount; turn++) answers.collect(1).addMessage(text);
  const other = answers.collect(2);
  other.addMessage(text);
  expect(other.isWhole).toBe(true);
});

test('each response is replayed once at any rate, and repeated replays are limited in bytes per minute and account', async () => {
  const { answers, stored } = idempotencyRecords();
  const text = JSON.stringify('x'.repeat(bounds.answerBytesMax - 2));
  const perMinute = bounds.replayedBytesPerMinuteMax / bounds.answerBytesMax;
  const answer = answers.collect(1);
  answer.addMessage(text);
  for (let at = 0; at <= 2 * perMinute; at++) {
    const [row] = answers.rowsOf(answer, `req_${at}`, 0) as [StoredAnswer];
    stored.set(row.requestId, row);
    expect(await answers.replay(row.requestId, 1, 0)).toBe(text);
  }
  for (let turn = 0; turn < perMinute; turn++) expect(await answers.replay('req_0', 1, 0)).toBe(text);
  const refusal = await failureOf(answers.replay('req_0', 1, 0));
  expect(refusal).toMatchObject({ code: 'requests_rate_exceeded', details: { retryAfterMs: 1 } });
  expect(await answers.replay('req_0', 2, 0)).toBe(text);
  expect(await answers.replay('req_0', 1, 1)).toBe(text);
  const waitMs = 60_000 / perMinute;
  expect(await failureOf(answers.replay('req_1', 1, waitMs - 1))).toMatchObject({ details: { retryAfterMs: 2 } });
  expect(await answers.replay('req_1', 1, waitMs + 1)).toBe(text);
  expect(await answers.replay('req_unknown', 1, 2 * waitMs + 2)).toBeNull();
});

test('a replayed response keeps its memory until the client has read it or disconnected', async () => {
  await using service = await startControlled();
  const secret = await service.makeKey();
  const post = (signal = new AbortController().signal) =>
    fetch(`${service.url}/v1/messages`, {
      method: 'POST',
      signal,
      headers: { 'content-type': 'application/json', 'x-api-key': secret, 'idempotency-key': 'order-17' },
      body: JSON.stringify({ model: 'm', max_tokens: 64, stream: true, messages: [{ role: 'user', content: 'hi' }] }),
    });
  const text = (await (await post()).text()).replaceAll('event: ping\ndata: {"type":"ping"}\n\n', ''); // of a wait for the store
  const { answers } = service.gateway;
  expect(answers.bytesInMemory).toBe(0);
  expect(await (await post()).text()).toBe(text);
  const leaving = new AbortController();
  await post(leaving.signal);
  leaving.abort();
  for (let waitedMs = 0; answers.bytesInMemory > 0 && waitedMs < 5_000; waitedMs += 10) await Bun.sleep(10);
  expect(answers.bytesInMemory).toBe(0);
  expect(service.gateway.slots.taken).toBe(0);
});
