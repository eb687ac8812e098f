// The provider refuses the content: its error text is passed on, because clients correct their request according to
// it, without anything that identifies the operator's account.

import { afterAll, expect, test } from 'bun:test';
import { eventText, scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, expectError, expectMoney, sharedWorld } from './world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());

test.each([
  'messages.1.content.0: Invalid `signature` in `thinking` block',
  'prompt is too long: 200251 tokens > 200000 maximum',
  "messages.2.role: Input should be 'user' or 'assistant'",
  'context_management: Extra inputs are not permitted',
  'input length and `max_tokens` exceed context limit: 197202 + 21333 > 200000, decrease input length or `max_tokens` and try again',
  '',
])('"%s" is passed on word for word, streamed or not, and costs nothing', async (words) => {
  for (const stream of [false, true]) {
    world.upstream.play(scripts.refusedContent(words));
    const caller = await world.makeKey();
    const response = await world.post(caller.secret, bodyOf({ stream }));
    expect(await expectError(response, 400, 'invalid_request_error', 'upstream_rejected', /^/)).toBe(words);
    await expectMoney(world, caller, [
      { outcome: 'failed', status: 400, cost: '0', usage_source: 'none', input_tokens: 0, output_tokens: 0 },
    ]);
  }
});

test('413 request_too_large is passed on for a body that is too large for the provider', async () => {
  world.upstream.play(scripts.error(413, 'request_too_large', 'Request exceeds the maximum size'));
  const caller = await world.makeKey();
  const response = await world.post(caller.secret, bodyOf());
  await expectError(response, 413, 'request_too_large', 'upstream_rejected', /^Request exceeds the maximum size$/);
  await expectMoney(world, caller, [{ outcome: 'failed', status: 413, cost: '0' }]);
});

test('identifiers of the operator’s account are removed, and the provider’s request id is not shown to the client', async () => {
  const words =
    'organization 0b1c2d3e-1111-4222-8333-444455556666 may not send tools.0 with key sk-ant-api03-abcdefgh12345678 (req_011CSHoEeqs5C35K2UUqR7Fy)';
  world.upstream.play(scripts.refusedContent(words));
  const caller = await world.makeKey();
  const response = await world.post(caller.secret, bodyOf());
  const message = await expectError(response, 400, 'invalid_request_error', 'upstream_rejected');
  expect(message).toContain('may not send tools.0');
  for (const identifier of ['0b1c2d3e', 'sk-ant', 'req_011']) expect(message).not.toContain(identifier);
  expect(response.headers.get('request-id')).not.toContain('upstream');
  await expectMoney(world, caller, [{ outcome: 'failed', cost: '0' }]);
});

test('a refusal in the first event of a stream is still sent as an error status', async () => {
  const error = { type: 'invalid_request_error', message: 'prompt is too long: 2 tokens > 1 maximum' };
  world.upstream.play(scripts.rawStream(eventText({ type: 'error', error })));
  const caller = await world.makeKey();
  const response = await world.post(caller.secret, bodyOf({ stream: true }));
  await expectError(response, 400, 'invalid_request_error', 'upstream_rejected', /prompt is too long/);
  await expectMoney(world, caller, [{ outcome: 'failed', cost: '0' }]);
});
