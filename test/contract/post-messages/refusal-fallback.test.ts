// The refusal fallback of the official SDK: a refused message is repeated with another model, with the credit token that
// the provider gave with the refusal.

import { afterAll, expect, test } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import { betaRefusalFallbackMiddleware } from '@anthropic-ai/sdk/lib/middleware';
import { eventText, scripts } from '../../support/scripted-upstream.ts';
import { expectMoney, GOOD, type Json, sharedWorld } from './world.ts';

const price = { input: '3', output: '15' };
const world = await sharedWorld({
  models: {
    'claude-refusing': { price, routes: [{ provider: 'first' }] },
    'claude-answering': { price, routes: [{ provider: 'second' }] },
  },
});
afterAll(() => world.stop());

const TOKEN = 'credit-token-1';
const ending = {
  stop_reason: 'refusal',
  stop_sequence: null,
  stop_details: {
    type: 'refusal',
    category: 'cyber',
    explanation: null,
    fallback_credit_token: TOKEN,
    fallback_has_prefill_claim: false,
    recommended_model: null,
  },
};
const head = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-refusing', content: [] };
const usage = { input_tokens: 412, output_tokens: 0 };
const refusal = JSON.stringify({ ...head, ...ending, usage });
const refusedStream = [
  { type: 'message_start', message: { ...head, stop_reason: null, usage } },
  { type: 'message_delta', delta: ending, usage: { output_tokens: 0 } },
  { type: 'message_stop' },
];

test('is answered by the second model, streamed or not, and only that answer is paid for', async () => {
  for (const stream of [false, true]) {
    world.upstream.play(stream ? scripts.rawStream(refusedStream.map(eventText).join('')) : scripts.json(refusal));
    world.second.play(scripts.good({ model: 'claude-answering' }));
    world.second.requests.length = 0;
    const caller = await world.makeKey();
    const client = new Anthropic({
      apiKey: caller.secret,
      baseURL: world.url,
      maxRetries: 0,
      logLevel: 'off',
      middleware: [betaRefusalFallbackMiddleware([{ model: 'claude-answering' }])],
    });
    const body = { model: 'claude-refusing', max_tokens: 64, messages: [{ role: 'user' as const, content: 'Hi' }] };
    const message = stream
      ? await client.beta.messages.stream(body).finalMessage()
      : await client.beta.messages.create(body);
    expect(message).toMatchObject({ stop_reason: 'end_turn', content: [{ type: 'fallback' }, { type: 'text' }] });
    const [repeated] = world.second.requests;
    expect(repeated?.headers['anthropic-beta']).toContain('fallback-credit-2026-07-01');
    expect((JSON.parse(repeated?.body ?? '') as Json)['fallback_credit_token']).toMatchObject({ token: TOKEN });
    await expectMoney(world, caller, [
      { ...GOOD, model: 'claude-answering' },
      { model: 'claude-refusing', cost: '0', input_tokens: 412 },
    ]);
  }
});
