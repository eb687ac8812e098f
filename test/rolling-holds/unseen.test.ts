// Output that nobody sees while it is produced: a model that thinks, and shows none of it. It is served, the
// provider is asked for no more than can be paid, and what was more than that after all is reported.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { parseUsd } from '../../src/base/money.ts';
import { type Produced, plainPieces, produce, readEvents } from '../support/producing-upstream.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { startTurnpike, type Turnpike } from '../support/start-turnpike.ts';

let produced: Produced[] = [];
let upstream: ScriptedUpstream;
let turnpike: Turnpike;

beforeAll(async () => {
  upstream = await startScriptedUpstream(() => {});
  const price = { input: '5', output: '25', cache_read: '0.5', cache_write_5m: '6.25', cache_write_1h: '10' };
  turnpike = await startTurnpike({
    providers: { scripted: { kind: 'anthropic', base_url: upstream.url, private_network: true } },
    models: { opus: { price, max_output_tokens: 64_000, routes: [{ provider: 'scripted', model: 'opus' }] } },
  });
});
afterAll(async () => {
  await turnpike.stop();
  await upstream.close();
});

/** As a coding agent begins: 76 KB, 24 tools, thinking that is shown to nobody. */
function agentBody(members: Record<string, unknown> = {}) {
  const tools = Array.from({ length: 24 }, (_, at) => ({
    name: `tool_${at}`,
    description: `${'Reads or writes a file, or runs a command, and says what came of it. '.repeat(36)}`,
    input_schema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  }));
  const body = {
    model: 'opus',
    max_tokens: 64_000,
    stream: true,
    thinking: { type: 'adaptive', display: 'omitted' },
    system: [{ type: 'text', text: 'You are a coding agent. '.repeat(600), cache_control: { type: 'ephemeral' } }],
    tools,
    messages: [{ role: 'user', content: 'Fix the bug.' }],
    ...members,
  };
  expect(JSON.stringify(body).length).toBeGreaterThan(74_000);
  expect(JSON.stringify(body).length).toBeLessThan(78_000);
  return body;
}

function play(thinkingTokens: number, ms: number, textTokens = 200): void {
  produced = [];
  const unseen = { tokens: thinkingTokens, ms };
  upstream.play(produce(() => ({ inputTokens: 19_000, unseen, pieces: plainPieces(textTokens, 20) }), produced));
}

/** Produces so many times what the request allows. */
function playToTheEnd(times: number): void {
  const plan = (body: string) => {
    const tokens = (JSON.parse(body).max_tokens as number) * times - 200;
    const unseen = { tokens, ms: 100 };
    return { inputTokens: 19_000, unseen, pieces: plainPieces(200, 20), stopReason: 'max_tokens' };
  };
  upstream.play(produce(({ body }) => plan(body), []));
}

async function endOf(response: Response, account: string) {
  const text = await response.text();
  const record = await turnpike.admin('GET', `/usage/${response.headers.get('request-id')}`);
  const { balance, held } = await turnpike.admin('GET', `/accounts/${account}`);
  return { text, last: readEvents(text).at(-1), record, balance: parseUsd(balance as string) as number, held };
}

describe('thinking that is shown to nobody', () => {
  test('of 20,000 tokens is served with a dollar left, and costs what it was', async () => {
    play(20_000, 200);
    const { account, secret } = await turnpike.makeKey({ credit: '1.00' });
    const end = await endOf(await turnpike.post(secret, agentBody()), account);
    expect(end.last).toMatchObject({ type: 'message_stop' });
    expect(end.record).toMatchObject({ outcome: 'completed', output_tokens: 20_200, written_off: '0' });
    expect([end.balance, end.held]).toEqual([1_000_000_000 - 19_000 * 5_000 - 20_200 * 25_000, '0']);
  });

  test('that costs more than there is takes all there is, and what was written off is reported', async () => {
    play(40_000, 200);
    const { account, secret } = await turnpike.makeKey({ credit: '1.00' });
    const end = await endOf(await turnpike.post(secret, agentBody()), account);
    const cost = 19_000 * 5_000 + 40_200 * 25_000;
    expect(end.last).toMatchObject({ type: 'message_stop' });
    expect(end.record).toMatchObject({ outcome: 'completed', output_tokens: 40_200 });
    expect(parseUsd(end.record['written_off'] as string)).toBe(cost - 1_000_000_000);
    expect([end.balance, end.held]).toEqual([0, '0']);
    const { data } = await turnpike.admin('GET', `/accounts/${account}/entries`);
    expect((data as { kind: string }[]).map(({ kind }) => kind)).toContain('write_off');
    expect(await turnpike.check()).toMatchObject({ ok: true });
  });

  test('is asked for no more than can be paid, and where that is used up the caller is told so', async () => {
    playToTheEnd(1);
    const { account, secret } = await turnpike.makeKey({ credit: '1.00' });
    const before = upstream.requests.length;
    const end = await endOf(await turnpike.post(secret, agentBody()), account);
    const sent = JSON.parse(upstream.requests[before]?.body ?? '').max_tokens as number;
    expect(sent).toBeLessThan(40_000);
    expect(sent).toBeGreaterThan(15_000);
    expect(end.last).toMatchObject({ type: 'error', error: { code: 'insufficient_user_quota' } });
    expect(end.text).not.toContain('message_delta');
    expect(end.record).toMatchObject({
      outcome: 'quota_cut',
      usage_source: 'reported',
      output_tokens: sent,
      written_off: '0',
    });
    expect(end.balance).toBeGreaterThanOrEqual(0);
  });

  test('is billed as reported where its provider goes beyond what it was asked for, the excess written off', async () => {
    playToTheEnd(2);
    const { account, secret } = await turnpike.makeKey({ credit: '1.00' });
    const before = upstream.requests.length;
    const end = await endOf(await turnpike.post(secret, agentBody()), account);
    const sent = JSON.parse(upstream.requests[before]?.body ?? '').max_tokens as number;
    const cost = 19_000 * 5_000 + 2 * sent * 25_000;
    expect(cost).toBeGreaterThan(1_000_000_000);
    expect(end.last).toMatchObject({ type: 'error', error: { code: 'insufficient_user_quota' } });
    expect(end.record).toMatchObject({ outcome: 'quota_cut', usage_source: 'reported', output_tokens: 2 * sent });
    expect(parseUsd(end.record['cost'] as string)).toBe(cost);
    expect(parseUsd(end.record['written_off'] as string)).toBe(cost - 1_000_000_000);
    expect([end.balance, end.held]).toEqual([0, '0']);
  });

  test('leaves a budget of its own as it is: a provider would refuse a max_tokens below it', async () => {
    play(1_000, 50);
    const { account, secret } = await turnpike.makeKey({ credit: '0.60' });
    const before = upstream.requests.length;
    const thinking = { type: 'enabled', budget_tokens: 32_000, display: 'omitted' };
    await endOf(await turnpike.post(secret, agentBody({ thinking })), account);
    expect(JSON.parse(upstream.requests[before]?.body ?? '').max_tokens).toBe(32_001);
  });

  test('for longer than the money lasts by its model’s speed ends the stream, and is billed to the end of it', async () => {
    produced = [];
    const unseen = { tokens: 9_000, ms: 60_000 };
    upstream.play(produce(() => ({ inputTokens: 100, unseen, pieces: plainPieces(20, 20) }), produced));
    const thinking = { type: 'enabled', budget_tokens: 32_000, display: 'omitted' };
    const messages = [{ role: 'user', content: 'Think.' }];
    const { account, secret } = await turnpike.makeKey({ credit: '0.01' });
    const body = { model: 'opus', max_tokens: 64_000, stream: true, thinking, messages };
    const response = await turnpike.post(secret, body);
    const end = await endOf(response, account);
    // Nothing of it was said yet, so that the error still is an answer of its own.
    expect([response.status, JSON.parse(end.text)]).toMatchObject([
      400,
      { error: { code: 'insufficient_user_quota' } },
    ]);
    expect(end.record).toMatchObject({
      outcome: 'quota_cut',
      status: 400,
      usage_source: 'estimated',
      written_off: '0',
    });
    expect([end.balance >= 0, end.balance < 100_000, end.held]).toEqual([true, true, '0']);
    expect(produced[0]?.isFinished).toBe(false);
  }, 20_000);

  test('of a stream that is not asked to think is not looked for', async () => {
    produced = [];
    upstream.play(produce(() => ({ inputTokens: 100, pieces: plainPieces(200, 1), pauseMs: 15 }), produced));
    const { account, secret } = await turnpike.makeKey({ credit: '0.01' });
    const body = { model: 'opus', max_tokens: 300, stream: true, messages: [{ role: 'user', content: 'Slowly.' }] };
    const end = await endOf(await turnpike.post(secret, body), account);
    expect(end.record).toMatchObject({ outcome: 'completed', output_tokens: 200, written_off: '0' });
  });
});
