// Failover: a second route is tried until the client has received output, and never after. Only the route that
// answered is billed.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { type Script, scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, expectError, expectMoney, GOOD, sharedWorld } from './world.ts';

const world = await sharedWorld({
  // A failed route is tried again in each test, because the tests share their providers.
  settings: { upstream_silence_seconds: 1, upstream_answer_seconds: 1, circuit_failures: null },
});
afterAll(() => world.stop());
beforeEach(() => {
  world.second.play(scripts.good());
  world.second.requests.length = 0;
});

const failing: [string, Script, string, number | null][] = [
  ['is overloaded', scripts.overloaded(), 'overloaded', 529],
  ['limits the request rate', scripts.rateLimited(null), 'rate_limited', 429],
  ['refuses the operator’s key', scripts.unauthorized(), 'credentials', 401],
  ['requires payment', scripts.noCredit(), 'credentials', 400],
  ['does not know the model', scripts.error(404, 'not_found_error', 'model: upstream-model'), 'not_found', 404],
  ['fails', scripts.error(500, 'api_error', 'Internal server error'), 'failed', 500],
  ['responds with a web page', scripts.html(502), 'failed', 502],
  ['breaks the connection', scripts.resetBeforeHead(), 'failed', null],
  ['sends a redirect', scripts.redirect('http://127.0.0.1:9/'), 'failed', 307],
];

test.each(failing)(
  'if a provider %s, the next route is tried, streamed or not',
  async (_words, script, result, status) => {
    for (const stream of [false, true]) {
      world.upstream.play(script);
      const caller = await world.makeKey();
      const response = await world.post(caller.secret, bodyOf({ model: 'paired', stream }));
      expect(response.status).toBe(200);
      expect(await response.text()).toContain(stream ? 'message_stop' : '"type":"message"');
      expect(JSON.parse(world.second.requests.at(-1)?.body ?? '').model).toBe('second-model');
      expect(world.second.requests.at(-1)?.headers['x-api-key']).toBe('sk-upstream-credential-2');
      await expectMoney(world, caller, [
        {
          ...GOOD,
          outcome: 'completed',
          provider: 'second',
          upstream_model: 'second-model',
          attempts: [
            { provider: 'first', model: 'upstream-model', result, status },
            { provider: 'second', model: 'second-model', result: 'answered', status: 200 },
          ],
        },
      ]);
    }
  },
);

const beforeContent: [string, Script][] = [
  [
    'an error event',
    scripts.rawStream(
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
    ),
  ],
  ['its end', scripts.rawStream('')],
  ['garbage', scripts.garbage()],
  [
    'content without a beginning',
    scripts.rawStream('event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n'),
  ],
  ['only keep-alives', scripts.pingsOnlyFromStart()],
  ['silence', scripts.hangBeforeHead()],
];

test.each(beforeContent)('if a stream begins with %s, the next route is tried', async (_words, script) => {
  world.upstream.play(script);
  const caller = await world.makeKey();
  const text = await (await world.post(caller.secret, bodyOf({ model: 'paired', stream: true }))).text();
  expect(text).toContain('event: message_stop');
  expect(text).not.toContain('event: error');
  expect(text.match(/event: message_start/g)).toHaveLength(1);
  await expectMoney(world, caller, [{ ...GOOD, provider: 'second' }]);
});

test('a route that failed is stopped, and its remaining output is discarded', async () => {
  const abortedBefore = world.upstream.abortedCount;
  world.upstream.play(async (answer, request) => {
    answer.begin(200, { 'content-type': 'text/event-stream' });
    await answer.write('event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n');
    await scripts.hangBeforeHead()(answer, request);
  });
  const caller = await world.makeKey();
  const text = await (await world.post(caller.secret, bodyOf({ model: 'paired', stream: true }))).text();
  expect(text).toContain('event: message_stop');
  await world.upstream.aborted(abortedBefore + 1);
  await expectMoney(world, caller, [{ ...GOOD, provider: 'second' }]);
});

test('once the client has received output, no other route is tried for a broken stream', async () => {
  for (const script of [scripts.errorEvent(), scripts.resetMidStream(), scripts.halfStream()]) {
    world.upstream.play(script);
    const caller = await world.makeKey();
    const response = await world.post(caller.secret, bodyOf({ model: 'paired', stream: true }));
    const text = await response.clone().text();
    expect(text.match(/event: message_start/g)).toHaveLength(1);
    expect(text).toContain('event: error');
    expect(world.second.requests).toHaveLength(0);
    await expectMoney(world, caller, [{ provider: 'first', outcome: 'upstream_cut' }]);
  }
});

test('a refusal of the content is final: no other route is tried', async () => {
  world.upstream.play(scripts.refusedContent());
  const caller = await world.makeKey();
  const response = await world.post(caller.secret, bodyOf({ model: 'paired' }));
  await expectError(response, 400, 'invalid_request_error', 'upstream_rejected');
  expect(world.second.requests).toHaveLength(0);
  await expectMoney(world, caller, [{ outcome: 'failed', status: 400, cost: '0', usage_source: 'none' }]);
});

test('if every route fails, the last failure is returned, and nothing is charged', async () => {
  world.upstream.play(scripts.error(500, 'api_error', 'Internal server error'));
  world.second.play(scripts.overloaded({ 'retry-after': '3' }));
  const caller = await world.makeKey();
  const response = await world.post(caller.secret, bodyOf({ model: 'paired', stream: true }));
  expect(response.headers.get('retry-after')).toBe('3');
  await expectError(response, 529, 'overloaded_error', 'upstream_overloaded');
  await expectMoney(world, caller, [
    { outcome: 'failed', status: 529, cost: '0', usage_source: 'none', attempts: [{ status: 500 }, { status: 529 }] },
  ]);
});
