// Hidden output, such as thinking that is not in the stream. It is served, the provider is asked for no more than can
// be paid, and any excess is reported. The tests wait for streams, so that they run at once.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { parseUsd } from '../../../src/base/money.ts';
import { type Produced, type Production, plainPieces, produce, readEvents } from '../../support/producing-upstream.ts';
import { type RecordedRequest, type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';

/** The upstream's plans, by the prompt of the test. */
const plans = new Map<string, (request: RecordedRequest) => Production>();
const produced: Produced[] = [];
let upstream: ScriptedUpstream;
let turnpike: Turnpike;

beforeAll(async () => {
  upstream = await startScriptedUpstream(produce((request) => planOf(request), produced));
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

const promptOf = ({ body }: RecordedRequest): string => JSON.parse(body).messages[0].content;

function planOf(request: RecordedRequest): Production {
  const plan = plans.get(promptOf(request));
  if (plan === undefined) throw new Error('an unknown prompt');
  return plan(request);
}

/** A prompt for which the upstream produces this. */
function promptFor(plan: (request: RecordedRequest) => Production): string {
  const prompt = `Fix bug ${plans.size}.`;
  plans.set(prompt, plan);
  return prompt;
}

/** First request of a coding agent: 76 KB, 24 tools, hidden thinking. */
function agentBody(prompt: string, members: Record<string, unknown> = {}) {
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
    messages: [{ role: 'user', content: prompt }],
    ...members,
  };
  expect(JSON.stringify(body).length).toBeGreaterThan(74_000);
  expect(JSON.stringify(body).length).toBeLessThan(78_000);
  return body;
}

function thinks(tokens: number, ms: number, pauseBeforeStopMs?: number): string {
  const unseen = { tokens, ms };
  return promptFor(() => ({ inputTokens: 19_000, unseen, pieces: plainPieces(200, 20), pauseBeforeStopMs }));
}

/** Produces this multiple of what the request allows. */
function thinksToTheEnd(times: number, pauseBeforeStopMs?: number): string {
  return promptFor(({ body }) => {
    const tokens = (JSON.parse(body).max_tokens as number) * times - 200;
    const unseen = { tokens, ms: 100 };
    return { inputTokens: 19_000, unseen, pieces: plainPieces(200, 20), stopReason: 'max_tokens', pauseBeforeStopMs };
  });
}

/** The max_tokens that the upstream was asked for. */
function sentMaxOf(prompt: string): number {
  const request = upstream.requests.find((one) => promptOf(one) === prompt);
  return JSON.parse(request?.body ?? '{}').max_tokens;
}

async function endOf(response: Response, account: string) {
  const text = await response.text();
  const record = await turnpike.admin('GET', `/usage/${response.headers.get('request-id')}`);
  const { balance, held } = await turnpike.admin('GET', `/accounts/${account}`);
  return { text, last: readEvents(text).at(-1), record, balance: parseUsd(balance as string) as number, held };
}

describe.concurrent('thinking that is not visible in the stream', () => {
  test('of 20,000 tokens is served with a balance of a dollar and charged exactly', async () => {
    const prompt = thinks(20_000, 200);
    const { account, secret } = await turnpike.makeKey({ credit: '1.00' });
    const end = await endOf(await turnpike.post(secret, agentBody(prompt)), account);
    expect(end.last).toMatchObject({ type: 'message_stop' });
    expect(end.record).toMatchObject({ outcome: 'completed', output_tokens: 20_200, written_off: '0' });
    expect([end.balance, end.held]).toEqual([1_000_000_000 - 19_000 * 5_000 - 20_200 * 25_000, '0']);
  });

  // Sends the final count and the end in one read, and in two with a check of the hold between them.
  test.each([undefined, 1_500])(
    'that costs more than the balance takes all of it, and the write-off is reported (%p)',
    async (pauseBeforeStopMs) => {
      const prompt = thinks(40_000, 200, pauseBeforeStopMs);
      const { account, secret } = await turnpike.makeKey({ credit: '1.00' });
      const end = await endOf(await turnpike.post(secret, agentBody(prompt)), account);
      const cost = 19_000 * 5_000 + 40_200 * 25_000;
      expect(end.last).toMatchObject({ type: 'message_stop' });
      expect(end.record).toMatchObject({ outcome: 'completed', output_tokens: 40_200 });
      expect(parseUsd(end.record['written_off'] as string)).toBe(cost - 1_000_000_000);
      expect([end.balance, end.held]).toEqual([0, '0']);
      const { data } = await turnpike.admin('GET', `/accounts/${account}/entries`);
      expect((data as { kind: string }[]).map(({ kind }) => kind)).toContain('write_off');
      expect(await turnpike.check()).toMatchObject({ ok: true });
    },
  );

  test.each([undefined, 1_500])(
    'is requested only up to what can be paid, and the client gets an error when that is used up (%p)',
    async (pauseBeforeStopMs) => {
      const prompt = thinksToTheEnd(1, pauseBeforeStopMs);
      const { account, secret } = await turnpike.makeKey({ credit: '1.00' });
      const end = await endOf(await turnpike.post(secret, agentBody(prompt)), account);
      const sent = sentMaxOf(prompt);
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
    },
  );

  test.each([undefined, 1_500])(
    'is billed as reported if its provider exceeds max_tokens, with the excess written off (%p)',
    async (pauseBeforeStopMs) => {
      const prompt = thinksToTheEnd(2, pauseBeforeStopMs);
      const { account, secret } = await turnpike.makeKey({ credit: '1.00' });
      const end = await endOf(await turnpike.post(secret, agentBody(prompt)), account);
      const sent = sentMaxOf(prompt);
      const cost = 19_000 * 5_000 + 2 * sent * 25_000;
      expect(cost).toBeGreaterThan(1_000_000_000);
      expect(end.last).toMatchObject({ type: 'error', error: { code: 'insufficient_user_quota' } });
      expect(end.record).toMatchObject({ outcome: 'quota_cut', usage_source: 'reported', output_tokens: 2 * sent });
      expect(parseUsd(end.record['cost'] as string)).toBe(cost);
      expect(parseUsd(end.record['written_off'] as string)).toBe(cost - 1_000_000_000);
      expect([end.balance, end.held]).toEqual([0, '0']);
    },
  );

  test('keeps its thinking budget: a provider would reject a max_tokens below it', async () => {
    const prompt = thinks(1_000, 50);
    const { account, secret } = await turnpike.makeKey({ credit: '0.60' });
    const thinking = { type: 'enabled', budget_tokens: 32_000, display: 'omitted' };
    await endOf(await turnpike.post(secret, agentBody(prompt, { thinking })), account);
    expect(sentMaxOf(prompt)).toBe(32_001);
  });

  test('that runs longer than the balance pays for at the model’s speed ends the stream and is billed', async () => {
    const unseen = { tokens: 9_000, ms: 60_000 };
    const prompt = promptFor(() => ({ inputTokens: 100, unseen, pieces: plainPieces(20, 20) }));
    const thinking = { type: 'enabled', budget_tokens: 32_000, display: 'omitted' };
    const messages = [{ role: 'user', content: prompt }];
    const { account, secret } = await turnpike.makeKey({ credit: '0.01' });
    const body = { model: 'opus', max_tokens: 64_000, stream: true, thinking, messages };
    const response = await turnpike.post(secret, body);
    const end = await endOf(response, account);
    // Nothing was relayed yet, so that the error is a response of its own.
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
    expect(produced.find(({ request }) => promptOf(request) === prompt)?.isFinished).toBe(false);
  });

  test('is not assumed for a stream without thinking', async () => {
    const prompt = promptFor(() => ({ inputTokens: 100, pieces: plainPieces(200, 1), pauseMs: 15 }));
    const { account, secret } = await turnpike.makeKey({ credit: '0.01' });
    const body = { model: 'opus', max_tokens: 300, stream: true, messages: [{ role: 'user', content: prompt }] };
    const end = await endOf(await turnpike.post(secret, body), account);
    expect(end.record).toMatchObject({ outcome: 'completed', output_tokens: 200, written_off: '0' });
  });
});
