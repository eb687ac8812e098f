// How much is held for a prompt: one token a byte at first, what was learned of the model after some messages,
// across restarts too; and where one token a byte cannot be paid, the provider's own count decides.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatUsd, parseUsd } from '../../src/base/money.ts';
import { bounds } from '../../src/config.ts';
import { type ScriptedUpstream, scripts, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { spawnTurnpike, startTurnpike, type Turnpike } from '../support/start-turnpike.ts';

let upstream: ScriptedUpstream;
beforeAll(async () => {
  upstream = await startScriptedUpstream(() => {});
});
afterAll(() => upstream.close());

function catalogue() {
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

/** Answers messages with the prompt's tokens as its usage, and counts with the same. */
function playCounting(status = 200): void {
  const usage = { input_tokens: PROMPT_TOKENS, output_tokens: 12 };
  upstream.play((answer, request) => {
    if (!request.path.endsWith('/count_tokens')) return scripts.message({ usage })(answer, request);
    const counted = status === 200 ? { input_tokens: PROMPT_TOKENS } : { type: 'error' };
    answer.send(status, { 'content-type': 'application/json' }, JSON.stringify(counted));
  });
}

/** What is held while a message of this key runs. */
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
  test('is held at a token a byte until the model is known, then at what its prompts had, also after a restart', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
    const bytes = JSON.stringify(bodyOf()).length;
    let turnpike = await spawnTurnpike(directory);
    await turnpike.admin('POST', '/apply', { document: catalogue() });
    const { account, secret } = await turnpike.makeKey({ credit: '100' });
    expect(await heldFor(turnpike, account, secret)).toBe((bytes + 16 + 100) * 10_000);
    playCounting();
    for (let sent = 0; sent < 20; sent++) expect((await turnpike.post(secret, bodyOf())).status).toBe(200);
    const learned = await heldFor(turnpike, account, secret);
    expect(learned).toBeLessThan(bytes * 10_000 * 0.3);
    expect(learned).toBeGreaterThanOrEqual(PROMPT_TOKENS * 10_000);
    turnpike.process.kill('SIGTERM');
    expect(await turnpike.process.exited).toBe(0);
    turnpike = await spawnTurnpike(directory);
    expect(await heldFor(turnpike, account, secret)).toBe(learned);
    await turnpike.stop();
    rmSync(directory, { recursive: true, force: true });
  }, 30_000);
});

describe('a prompt that could not be paid at a token a byte', () => {
  test('is admitted by the provider’s own count, streamed or not', async () => {
    await using turnpike = await startTurnpike(catalogue());
    const { secret } = await turnpike.makeKey({ credit: '0.05' }); // 5,000 tokens; the body has 11,000 bytes
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

  test('is refused where the provider does not count, or its count is too much as well', async () => {
    await using turnpike = await startTurnpike(catalogue());
    const { secret } = await turnpike.makeKey({ credit: '0.05' });
    playCounting(404);
    expect((await turnpike.post(secret, bodyOf())).status).toBe(400);
    playCounting();
    const poor = await turnpike.makeKey({ credit: '0.02' }); // 2,000 tokens, of 2,240
    expect((await turnpike.post(poor.secret, bodyOf())).status).toBe(400);
    const paths = upstream.requests.slice(-2).map(({ path }) => path);
    expect(paths).toEqual(['/v1/messages/count_tokens', '/v1/messages/count_tokens']);
  });

  test('is counted for an account so often only, where that makes nothing payable, and for others all the same', async () => {
    await using turnpike = await startTurnpike(catalogue());
    playCounting();
    const { account, secret } = await turnpike.makeKey({ credit: '0.02' });
    const before = upstream.requests.length;
    for (let sent = 0; sent < bounds.promptCountsInVainPerMinuteMax + 10; sent++)
      expect((await turnpike.post(secret, bodyOf())).status).toBe(400);
    expect(upstream.requests).toHaveLength(before + bounds.promptCountsInVainPerMinuteMax);
    const other = await turnpike.makeKey({ credit: '0.05' });
    const amount = formatUsd((PROMPT_TOKENS + 12) * 10_000); // what a message costs
    for (let sent = 0; sent < bounds.promptCountsInVainPerMinuteMax + 5; sent++) {
      expect((await turnpike.post(other.secret, bodyOf())).status).toBe(200);
      await turnpike.admin('POST', `/accounts/${other.account}/credits`, { amount });
    }
    expect(upstream.requests).toHaveLength(before + 3 * bounds.promptCountsInVainPerMinuteMax + 10);
    await turnpike.admin('POST', `/accounts/${account}/credits`, { amount: '1.00' });
    expect((await turnpike.post(secret, bodyOf())).status).toBe(200);
  });

  test('is not counted for whoever could not pay the least of it', async () => {
    await using turnpike = await startTurnpike(catalogue());
    const { secret } = await turnpike.makeKey({ credit: '0.005' });
    playCounting();
    const before = upstream.requests.length;
    expect((await turnpike.post(secret, bodyOf())).status).toBe(400);
    expect(upstream.requests).toHaveLength(before);
  });
});
