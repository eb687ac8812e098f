// The hold for a prompt: one token per byte until its provider has counted it. If that cannot be paid, the provider's
// count decides before the message is refused.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { formatUsd, parseUsd } from '../../../src/base/money.ts';
import { bounds } from '../../../src/config/config.ts';
import { type ScriptedUpstream, scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';

let upstream: ScriptedUpstream;
beforeAll(async () => {
  upstream = await startScriptedUpstream(() => {});
});
afterAll(() => upstream.close());

function catalog() {
  const route = { provider: 'scripted', model: 'upstream-model' };
  return {
    providers: { scripted: { kind: 'anthropic', base_url: upstream.url, private_network: true } },
    models: { m: { price: { input: '10', output: '10' }, routes: [route] } },
  };
}

const PROMPT = 'Say what you know about rivers, bridges and toll roads. '.repeat(200);
const PROMPT_TOKENS = Math.ceil(PROMPT.length / 5);

function bodyOf(members: Record<string, unknown> = {}) {
  return { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: PROMPT }], ...members };
}

/** Answers messages with the prompt's tokens as its usage, and counts the same. */
function playCounting(status = 200): void {
  const usage = { input_tokens: PROMPT_TOKENS, output_tokens: 12 };
  upstream.play((answer, request) => {
    if (!request.path.endsWith('/count_tokens')) return scripts.message({ usage })(answer, request);
    const counted = status === 200 ? { input_tokens: PROMPT_TOKENS } : { type: 'error' };
    answer.send(status, { 'content-type': 'application/json' }, JSON.stringify(counted));
  });
}

/** Held amount while a message of this key runs. */
async function heldFor(turnpike: Turnpike, account: string, secret: string): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<void>();
  upstream.play(async (answer, request) => {
    await promise;
    await scripts.message({ usage: { input_tokens: PROMPT_TOKENS, output_tokens: 12 } })(answer, request);
  });
  const before = upstream.requests.length;
  const answering = turnpike.post(secret, bodyOf());
  while (upstream.requests.length === before) await Bun.sleep(2);
  const { held } = await turnpike.admin('GET', `/accounts/${account}`);
  resolve();
  expect((await answering).status).toBe(200);
  return parseUsd(held as string) as number;
}

describe('the prompt of a message', () => {
  test('is held at one token per byte, whatever was counted before', async () => {
    await using turnpike = await startTurnpike(catalog());
    const bytes = JSON.stringify(bodyOf()).length;
    const { account, secret } = await turnpike.makeKey({ credit: '100' });
    const worstCase = (bytes + 16 + 100) * 10_000;
    expect(await heldFor(turnpike, account, secret)).toBe(worstCase);
    playCounting();
    for (let sent = 0; sent < 20; sent++) expect((await turnpike.post(secret, bodyOf())).status).toBe(200);
    expect(await heldFor(turnpike, account, secret)).toBe(worstCase);
  });
});

describe('a prompt that cannot be paid at one token per byte', () => {
  test('is admitted by the provider’s count, streamed or not', async () => {
    await using turnpike = await startTurnpike(catalog());
    const { secret } = await turnpike.makeKey({ credit: '0.05' }); // 5,000 tokens in a body of 11,000 bytes.
    playCounting();
    expect((await turnpike.post(secret, bodyOf())).status).toBe(200);
    const asked = upstream.requests.slice(-2).map(({ path }) => path);
    expect(asked).toEqual(['/v1/messages/count_tokens', '/v1/messages']);
    upstream.play((answer, request) => {
      if (!request.path.endsWith('/count_tokens'))
        return scripts.stream({ usage: { input_tokens: PROMPT_TOKENS, output_tokens: 1 } })(answer, request);
      answer.send(200, { 'content-type': 'application/json' }, JSON.stringify({ input_tokens: PROMPT_TOKENS }));
    });
    const streamed = await turnpike.post(secret, bodyOf({ stream: true }));
    expect([streamed.status, (await streamed.text()).includes('message_stop')]).toEqual([200, true]);
  });

  test('is refused if the provider cannot count, or its count is too high', async () => {
    await using turnpike = await startTurnpike(catalog());
    const { secret } = await turnpike.makeKey({ credit: '0.05' });
    playCounting(404);
    expect((await turnpike.post(secret, bodyOf())).status).toBe(400);
    playCounting();
    const poor = await turnpike.makeKey({ credit: '0.02' }); // 2,000 tokens of 2,240.
    expect((await turnpike.post(poor.secret, bodyOf())).status).toBe(400);
    const paths = upstream.requests.slice(-2).map(({ path }) => path);
    expect(paths).toEqual(['/v1/messages/count_tokens', '/v1/messages/count_tokens']);
  });

  test('is counted a bounded number of times for an account without admission, without affecting others', async () => {
    await using turnpike = await startTurnpike(catalog());
    playCounting();
    const { account, secret } = await turnpike.makeKey({ credit: '0.02' });
    const before = upstream.requests.length;
    for (let sent = 0; sent < bounds.unsuccessfulPromptCountsPerMinuteMax + 10; sent++)
      expect((await turnpike.post(secret, bodyOf())).status).toBe(400);
    expect(upstream.requests).toHaveLength(before + bounds.unsuccessfulPromptCountsPerMinuteMax);
    const other = await turnpike.makeKey({ credit: '0.05' });
    const amount = formatUsd((PROMPT_TOKENS + 12) * 10_000); // Cost of one message.
    for (let sent = 0; sent < bounds.unsuccessfulPromptCountsPerMinuteMax + 5; sent++) {
      expect((await turnpike.post(other.secret, bodyOf())).status).toBe(200);
      await turnpike.admin('POST', `/accounts/${other.account}/credits`, { amount });
    }
    expect(upstream.requests).toHaveLength(before + 3 * bounds.unsuccessfulPromptCountsPerMinuteMax + 10);
    await turnpike.admin('POST', `/accounts/${account}/credits`, { amount: '1.00' });
    expect((await turnpike.post(secret, bodyOf())).status).toBe(200);
  });

  test('is not counted if even a likely count could not be paid', async () => {
    await using turnpike = await startTurnpike(catalog());
    const { secret } = await turnpike.makeKey({ credit: '0.005' });
    playCounting();
    const before = upstream.requests.length;
    expect((await turnpike.post(secret, bodyOf())).status).toBe(400);
    expect(upstream.requests).toHaveLength(before);
  });
});
