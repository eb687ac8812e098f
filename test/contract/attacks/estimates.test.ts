// One account cannot raise the bills of others for interrupted output, whether their clients disconnect or their
// money runs out.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Piece, type Produced, produce } from '../../support/producing-upstream.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import { makeText } from '../../unit/usage/corpora.ts';
import { pick, type Random, randomFrom } from '../../unit/usage/synthetic-tokenizers.ts';

const ANSWERS = 90;
const PROSE_BYTES = 12_000;
const PROSE_BYTES_PER_TOKEN = 4.2;
const RANDOM_LETTERS = 160;
const RANDOM_TOKENS = 100;

let upstream: ScriptedUpstream;
let turnpike: Turnpike;
const produced: Produced[] = [];

beforeAll(async () => {
  upstream = await startScriptedUpstream(
    produce(({ body }) => {
      const prompt: string = JSON.parse(body).messages[0].content;
      const isTeaching = prompt.startsWith('teach');
      return {
        inputTokens: 20,
        pieces: isTeaching ? junk(randomFrom(Number(prompt.slice(6)))) : prose(),
        pauseMs: isTeaching ? 0 : 1,
      };
    }, produced),
  );
  const model = { price: { input: '1', output: '100' }, routes: [{ provider: 'scripted' }] };
  turnpike = await startTurnpike({
    providers: { scripted: { kind: 'anthropic', base_url: upstream.url, private_network: true } },
    models: { m: model },
  });
  const { secret } = await turnpike.makeKey({ credit: '100' });
  for (let sent = 0; sent < ANSWERS; sent++) await (await turnpike.post(secret, bodyOf(`teach ${sent}`))).text();
});
afterAll(async () => {
  await turnpike.stop();
  await upstream.close();
});

function bodyOf(prompt: string) {
  return { model: 'm', max_tokens: 8_000, stream: true, messages: [{ role: 'user', content: prompt }] };
}

function* junk(random: Random): Generator<Piece> {
  const text = Array.from({ length: RANDOM_LETTERS }, () => pick(random, 'abcdefghijklmnopqrstuvwxyz')).join('');
  yield { delta: { type: 'text_delta', text }, tokens: RANDOM_TOKENS };
}

function* prose(): Generator<Piece> {
  const text = makeText(randomFrom(5), 'english', PROSE_BYTES);
  for (let at = 0, reported = 0; at < text.length; at += 42) {
    const tokens = Math.ceil((at + 42) / PROSE_BYTES_PER_TOKEN) - reported;
    reported += tokens;
    yield { delta: { type: 'text_delta', text: text.slice(at, at + 42) }, tokens };
  }
}

/** The tokens of the text in a part of the stream, at the provider's own rate. */
function tokensOf(stream: string): number {
  let bytes = 0;
  for (const [, json] of stream.matchAll(/^data: (.*content_block_delta.*)$/gm))
    bytes += (JSON.parse(json as string).delta.text as string).length;
  return bytes / PROSE_BYTES_PER_TOKEN;
}

async function recordOf(response: Response): Promise<Record<string, unknown>> {
  const path = `/usage/${response.headers.get('request-id')}`;
  for (let waitedMs = 0; waitedMs < 5_000; waitedMs += 10) {
    const record = await turnpike.admin('GET', path).catch(() => ({}));
    if ('outcome' in record) return record;
    await Bun.sleep(10);
  }
  throw new Error('no record');
}

describe(`after another account had ${ANSWERS} responses of random letters`, () => {
  test('a client that disconnects mid-stream pays at most a tenth more than the actual output', async () => {
    const { secret } = await turnpike.makeKey({ credit: '100' });
    const leaving = new AbortController();
    const response = await turnpike.post(secret, bodyOf('prose'), { signal: leaving.signal });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const decoder = new TextDecoder();
    let seen = '';
    while (seen.length < 20_000) seen += decoder.decode((await reader.read()).value, { stream: true });
    leaving.abort();
    const record = await recordOf(response);
    expect(record).toMatchObject({ outcome: 'client_gone', usage_source: 'estimated' });
    const billed = record['output_tokens'] as number;
    expect(billed).toBeLessThanOrEqual((produced.at(-1)?.outputTokens as number) * 1.1);
    expect(billed).toBeGreaterThan(tokensOf(seen) * 0.7);
  });

  test('a stream that runs out of money is billed at most a tenth more than the actual output', async () => {
    const { account, secret } = await turnpike.makeKey({ credit: '0.10' }); // 1,000 tokens
    const response = await turnpike.post(secret, bodyOf('prose'));
    const text = await response.text();
    const record = await recordOf(response);
    expect(record).toMatchObject({ outcome: 'quota_cut', usage_source: 'estimated', written_off: '0' });
    expect(record['output_tokens']).toBeLessThanOrEqual(tokensOf(text) * 1.1 + 12); // one piece was received and not relayed
    expect(tokensOf(text)).toBeGreaterThan(850);
    expect((await turnpike.admin('GET', `/accounts/${account}`))['held']).toBe('0');
    expect(await turnpike.check()).toMatchObject({ ok: true });
  });
});
