// A client that disconnects, revokes its key or makes the model fail pays for what the provider worked, however late the
// provider counts it.

import { afterAll, expect, test } from 'bun:test';
import { parseUsd } from '../../../src/base/money.ts';
import { costOf, countText } from '../../support/count-text.ts';
import {
  eventText,
  type Script,
  type ScriptedUpstream,
  startScriptedUpstream,
} from '../../support/scripted-upstream.ts';
import { startTurnpike } from '../../support/start-turnpike.ts';

const price = { input: '3', output: '15', web_search_per_thousand: '10' };
const upstream: ScriptedUpstream = await startScriptedUpstream((answer) => answer.end());
const provider = (kind: string) => ({ kind, base_url: upstream.url, api_key: 'k', private_network: true });
const turnpike = await startTurnpike({
  providers: { a: provider('anthropic'), o: provider('openai'), g: provider('gemini') },
  models: Object.fromEntries(['a', 'o', 'g'].map((name) => [name, { price, routes: [{ provider: name }] }])),
});
afterAll(async () => {
  await turnpike.stop();
  await upstream.close();
});

const line = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
const ENDS = 'END-OF-ANSWER';

/** Writes the pieces; the rest only if the service still reads after the client has seen the end of the answer. */
function stream(before: string, rest: () => Promise<string>): Script {
  return async (answer) => {
    answer.begin(200, { 'content-type': 'text/event-stream' });
    await answer.write(before);
    const more = await rest();
    if (answer.isGone) return;
    await answer.write(more);
    answer.end();
  };
}

interface Left {
  usage: Record<string, unknown>;
}

/**
 * Posts a stream, disconnects at the end of its answer, lets the provider send the rest, and returns the record. `null`: the
 * service stops the provider.
 */
async function leave(body: object, before: string, rest: string | null, path = '/v1/messages'): Promise<Left> {
  const abortedBefore = upstream.abortedCount;
  const hasLeft = Promise.withResolvers<void>();
  upstream.play(
    stream(before, async () => {
      await hasLeft.promise;
      return rest ?? '';
    }),
  );
  const { account, secret } = await turnpike.makeKey({ credit: '10' });
  const leaving = new AbortController();
  const response = await fetch(turnpike.url + path, {
    method: 'POST',
    signal: leaving.signal,
    headers: { 'x-api-key': secret, authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  let text = '';
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(piece).toString();
    if (text.includes(ENDS)) break;
  }
  leaving.abort();
  if (rest === null) await upstream.aborted(abortedBefore + 1);
  hasLeft.resolve();
  return { usage: await recordOf(account) };
}

async function recordOf(account: string): Promise<Record<string, unknown>> {
  for (;;) {
    const { data } = (await turnpike.admin('GET', `/usage?account=${account}`)) as { data: Record<string, unknown>[] };
    const [record] = data;
    if (record !== undefined) return record;
    await Bun.sleep(10);
  }
}

const messages = [{ role: 'user', content: 'x' }];
const delta = (text: string) =>
  eventText({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } });
const start = (input: number) =>
  eventText({
    type: 'message_start',
    message: {
      id: 'm',
      type: 'message',
      role: 'assistant',
      content: [],
      usage: { input_tokens: input, output_tokens: 1 },
    },
  });
const block = (index: number, content: object) =>
  eventText({ type: 'content_block_start', index, content_block: content }) +
  eventText({ type: 'content_block_stop', index });
const end = (usage: object) =>
  eventText({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage }) + eventText({ type: 'message_stop' });

test('a client that leaves after server-side searches pays for their results and for each search', async () => {
  const results = [1, 2, 3].flatMap((at) => [
    block(2 * at, { type: 'server_tool_use', id: `s${at}`, name: 'web_search', input: {} }),
    block(2 * at + 1, {
      type: 'web_search_tool_result',
      tool_use_id: `s${at}`,
      content: [{ type: 'web_search_result' }],
    }),
  ]);
  const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: 5 }];
  const text = eventText({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } });
  const { usage } = await leave(
    { model: 'a', stream: true, max_tokens: 400, tools, messages },
    start(2_000) + results.join('') + text + delta(ENDS),
    end({ input_tokens: 122_000, output_tokens: 700, server_tool_use: { web_search_requests: 3 } }),
  );
  expect(usage).toMatchObject({
    usage_source: 'reported',
    input_tokens: 122_000,
    web_searches: 3,
  });
  expect(parseUsd(usage['cost'] as string)).toBe(122_000 * 3_000 + 700 * 15_000 + 3 * 10_000_000);
});

test('a client that leaves a stream whose provider counts the prompt last pays for the tokens of its prompt', async () => {
  const digits = Array.from({ length: 20_000 }, (_, at) => (at * 7_919) % 10).join(',');
  const chunk = (content: string) =>
    line({ id: 'c', choices: [{ index: 0, delta: { content }, finish_reason: null }] });
  const { usage } = await leave(
    { model: 'o', stream: true, max_tokens: 400, messages: [{ role: 'user', content: digits }] },
    chunk(ENDS),
    null,
    '/v1/chat/completions',
  );
  const tokens = countText(digits);
  expect(tokens).toBeGreaterThan(39_000);
  expect(usage).toMatchObject({ outcome: 'client_gone', usage_source: 'estimated' });
  expect(usage['input_tokens']).toBeWithin(tokens, 1.01 * tokens);
});

test('a client that leaves pays for hidden thinking that the provider has counted on the way', async () => {
  const chunk = (text: string) =>
    line({
      candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] } }],
      usageMetadata: {
        promptTokenCount: 1_000,
        thoughtsTokenCount: 30_000,
        candidatesTokenCount: 4,
        totalTokenCount: 31_004,
      },
    });
  const body = { model: 'g', stream: true, max_tokens: 40_000, messages };
  const { usage } = await leave(body, chunk('the answer ') + chunk(ENDS), null);
  expect(usage).toMatchObject({ outcome: 'client_gone', input_tokens: 1_000 });
  expect(usage['output_tokens']).toBeGreaterThanOrEqual(30_004);
});

test('answers that the model leaves unusable are charged under one idempotency key, and no charge is reversed', async () => {
  const counts = { promptTokenCount: 20_000, candidatesTokenCount: 2_000, totalTokenCount: 22_000 };
  const chunk = (finishReason: string) =>
    line({
      candidates: [{ index: 0, finishReason, content: { role: 'model', parts: [{ text: 'A complete answer.' }] } }],
      usageMetadata: counts,
    });
  const { account, secret } = await turnpike.makeKey({ credit: '10' });
  for (const reason of ['MALFORMED_FUNCTION_CALL', 'MALFORMED_FUNCTION_CALL', 'STOP']) {
    upstream.play(stream(chunk(reason), async () => ''));
    const headers = { 'idempotency-key': 'one' };
    await (await turnpike.post(secret, { model: 'g', stream: true, max_tokens: 4_000, messages }, { headers })).text();
  }
  const { data } = (await turnpike.admin('GET', `/usage?account=${account}`)) as { data: Record<string, unknown>[] };
  const cost = costOf(20_000, 3, 2_000, 15);
  expect(data.map((record) => [record['outcome'], record['cost']])).toEqual([
    ['completed', cost],
    ['failed', cost],
    ['failed', cost],
  ]);
});

test('a whole answer that the model leaves unusable is charged as reported, and no other route is asked', async () => {
  upstream.requests.length = 0;
  upstream.play(async (answer) => {
    const candidates = [
      { index: 0, finishReason: 'MALFORMED_FUNCTION_CALL', content: { parts: [{ text: 'A text.' }] } },
    ];
    const usageMetadata = {
      promptTokenCount: 500,
      candidatesTokenCount: 30,
      thoughtsTokenCount: 60,
      totalTokenCount: 590,
    };
    answer.begin(200, { 'content-type': 'application/json' });
    await answer.write(JSON.stringify({ candidates, usageMetadata }));
    answer.end();
  });
  const { account, secret } = await turnpike.makeKey({ credit: '10' });
  const response = await turnpike.post(secret, { model: 'g', max_tokens: 4_000, messages });
  expect([response.status, response.headers.get('x-should-retry')]).toEqual([502, 'false']);
  expect(await recordOf(account)).toMatchObject({ outcome: 'failed', input_tokens: 500, output_tokens: 90 });
  expect(upstream.requests).toHaveLength(1);
});
