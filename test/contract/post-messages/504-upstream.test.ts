// The provider is silent for too long. Its keep-alives do not count as progress.

import { afterAll, expect, test } from 'bun:test';
import { type Script, scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, expectError, expectErrorEvent, expectMoney, sharedWorld } from './world.ts';

const world = await sharedWorld({
  settings: { upstream_silence_seconds: 1, upstream_answer_seconds: 1, circuit_failures: null }, // the tests share these providers
});
afterAll(() => world.stop());

test('silence, or only keep-alives, before the first event is upstream_timeout, and the upstream request is aborted', async () => {
  const cases: [Script, boolean][] = [
    [scripts.hangBeforeHead(), true],
    [scripts.hangBeforeHead(), false],
    [scripts.pingsOnlyFromStart(), true],
    [scripts.error(504, 'timeout_error', 'Timed out'), true],
    [scripts.error(408, 'timeout_error', 'Timed out'), false],
  ];
  const abortedBefore = world.upstream.abortedCount;
  // All cases run at once, so that the test waits only once; the text of each names its case.
  world.upstream.play((answer, request) => {
    const [script] = cases[Number(JSON.parse(request.body).messages[0].content)] as [Script, boolean];
    return script(answer, request);
  });
  await Promise.all(
    cases.map(async ([, stream], index) => {
      const caller = await world.makeKey();
      const messages = [{ role: 'user', content: String(index) }];
      const response = await world.post(caller.secret, bodyOf({ stream, messages }));
      await expectError(response, 504, 'timeout_error', 'upstream_timeout');
      const { data } = (await world.admin('GET', `/usage?account=${caller.account}`)) as { data: object[] };
      expect(data).toMatchObject([{ outcome: 'failed', status: 504, cost: '0', attempts: [{ result: 'timeout' }] }]);
    }),
  );
  await world.upstream.aborted(abortedBefore + 3);
  expect(await world.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test('a token count is estimated if no provider responds within its time limit, and is not an error', async () => {
  world.upstream.play(scripts.hangBeforeHead());
  world.second.play(scripts.hangBeforeHead());
  const { secret } = await world.makeKey();
  const askedOfSecond = world.second.requests.length;
  const response = await fetch(`${world.url}/v1/messages/count_tokens`, {
    method: 'POST',
    headers: { 'x-api-key': secret, 'content-type': 'application/json' },
    body: JSON.stringify(bodyOf({ model: 'paired' })),
  });
  expect([response.status, await response.json()]).toEqual([200, { input_tokens: expect.any(Number) }]);
  expect(world.second.requests).toHaveLength(askedOfSecond); // the time limit applies to all routes together
});

test('silence in the middle of a stream, with or without pings, ends it with an error event, and it is billed as received', async () => {
  for (const script of [scripts.hangMidStream(), scripts.pingsOnly()]) {
    const abortedBefore = world.upstream.abortedCount;
    world.upstream.play(script);
    const caller = await world.makeKey();
    const response = await world.post(caller.secret, bodyOf({ stream: true }));
    const events = await expectErrorEvent(response, 'timeout_error', 'upstream_timeout');
    expect(events[0]?.name).toBe('message_start');
    await world.upstream.aborted(abortedBefore + 1);
    // The first half contains "Hello t" or more; the input is as reported.
    const [record] = await expectMoney(world, caller, [
      { outcome: 'upstream_cut', status: 200, input_tokens: 25, usage_source: 'estimated' },
    ]);
    expect(record?.['output_tokens']).toBeWithin(1, 6);
  }
});
