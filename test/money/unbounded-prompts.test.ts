// Many messages at once whose prompts cost far more than their bytes: documents with compressed text, images, and tools
// of the provider that add to the prompt. What the account pays is what the provider charges, whatever it could not know.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { parseUsd } from '../../src/base/money.ts';
import { makeArchive } from '../support/make-archive.ts';
import { makePdf } from '../support/make-pdf.ts';
import { type Script, type ScriptedUpstream, scripts, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { setBounds } from '../support/set-bounds.ts';
import { startTurnpike, type Turnpike } from '../support/start-turnpike.ts';

const AT_ONCE = 20;
const price = { input: '3', output: '15' };

let upstream: ScriptedUpstream;
let turnpike: Turnpike;
beforeAll(async () => {
  upstream = await startScriptedUpstream(() => {});
  const at = { base_url: upstream.url, private_network: true };
  turnpike = await startTurnpike({
    providers: {
      messages: { kind: 'anthropic', ...at },
      chat: { kind: 'openai', ...at },
      bedrock: { kind: 'bedrock', region: 'us-east-1', api_key: 'k', ...at },
    },
    models: {
      claude: { price, max_input_tokens: 200_000, routes: [{ provider: 'messages', model: 'claude-sonnet-4-5' }] },
      searching: {
        price: { ...price, web_search_per_thousand: '10' },
        max_input_tokens: 1_000_000,
        routes: [{ provider: 'messages', model: 'claude-sonnet-4-5' }],
      },
      compacting: { price, routes: [{ provider: 'messages', model: 'claude-opus-4-6' }] },
      unlimited: { price, routes: [{ provider: 'messages', model: 'claude-sonnet-4-5' }] },
      mini: { price, routes: [{ provider: 'chat', model: 'gpt-4o-mini' }] },
      nova: { price, routes: [{ provider: 'bedrock', model: 'us.amazon.nova-pro-v1:0' }] },
    },
    groups: { default: { models: ['*'] } },
  });
});
afterAll(async () => {
  expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
  await turnpike.stop();
  await upstream.close();
});

const HEADERS = { 'content-type': 'application/json' };
const pause = () => Bun.sleep(30); // All messages of a test are at the provider, or wait, before the first is answered.

/** A provider that counts this prompt before, if it counts at all, and in its answers. */
function playPrompt(inputTokens: number, counts: number | null = null): void {
  upstream.play(async (answer, request) => {
    if (request.path.includes('count')) {
      if (counts === null) return answer.send(404, HEADERS, '{"type":"error"}');
      return answer.send(200, HEADERS, JSON.stringify({ input_tokens: counts }));
    }
    await pause();
    const [usage, text] = [{ input_tokens: inputTokens, output_tokens: 10 }, 'ok'];
    if (request.path.endsWith('/converse'))
      return answer.send(
        200,
        HEADERS,
        JSON.stringify({
          output: { message: { role: 'assistant', content: [{ text }] } },
          stopReason: 'end_turn',
          usage: { inputTokens, outputTokens: 10, totalTokens: inputTokens + 10 },
        }),
      );
    if (request.path.endsWith('/chat/completions'))
      return answer.send(
        200,
        HEADERS,
        JSON.stringify({
          id: 'c',
          object: 'chat.completion',
          model: 'm',
          choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
          usage: { prompt_tokens: inputTokens, completion_tokens: 10, total_tokens: inputTokens + 10 },
        }),
      );
    const isStream = JSON.parse(request.body).stream === true;
    const script: Script = isStream ? streamed(inputTokens) : scripts.message({ usage });
    return script(answer, request);
  });
}

/** The prompt grows while the answer is made: its beginning has only what was sent. */
function streamed(inputTokens: number): Script {
  const event = (value: { type: string }) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
  return async (answer) => {
    answer.begin(200, { 'content-type': 'text/event-stream' });
    const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null };
    const usage = { input_tokens: 500, output_tokens: 1 };
    await answer.write(event({ type: 'message_start', message: { ...message, usage } } as { type: string }));
    const block = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } };
    await answer.write(event(block));
    const delta = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'ok' } };
    await answer.write(event(delta));
    await Bun.sleep(1_300); // longer than it takes to lower a hold
    await answer.write(event({ type: 'content_block_stop', index: 0 } as { type: string }));
    const end = { delta: { stop_reason: 'end_turn' }, usage: { input_tokens: inputTokens, output_tokens: 10 } };
    await answer.write(event({ type: 'message_delta', ...end } as { type: string }));
    await answer.write(event({ type: 'message_stop' }));
    answer.end();
  };
}

interface Outcome {
  answered: number;
  refused: number;
  cost: number;
  writtenOff: number;
  balance: number;
}

/** Sends the same message many times at once. */
async function sendAtOnce(credit: string, body: object, times = AT_ONCE): Promise<Outcome> {
  const { account, secret } = await turnpike.makeKey({ credit });
  const texts = await Promise.all(
    Array.from({ length: times }, async () => {
      const response = await turnpike.post(secret, body);
      return { status: response.status, text: await response.text() };
    }),
  );
  const usage = await turnpike.admin('GET', `/usage?account=${account}&limit=1000`);
  const records = usage['data'] as { cost: string; written_off: string }[];
  const sum = (name: 'cost' | 'written_off') => records.reduce((total, one) => total + nano(one[name]), 0);
  const { balance } = await turnpike.admin('GET', `/accounts/${account}`);
  return {
    answered: texts.filter(({ status }) => status === 200).length,
    refused: texts.filter(({ status, text }) => status === 400 && text.includes('insufficient_user_quota')).length,
    cost: sum('cost'),
    writtenOff: sum('written_off'),
    balance: nano(balance as string),
  };
}

function nano(amount: string): number {
  return parseUsd(amount) as number;
}

function message(model: string, content: object[], members: object = {}) {
  return { model, max_tokens: 100, messages: [{ role: 'user', content }], ...members };
}

const document = (file: Buffer, media_type = 'application/pdf') => ({
  type: 'document',
  source: { type: 'base64', media_type, data: file.toString('base64') },
});
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } };
const DOCX = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
const fetching = { tools: [{ type: 'web_fetch_20250910', name: 'web_fetch', max_uses: 5 }] };

const dense = makePdf(['word1 word2 '.repeat(12_000)]);
const costOf = (inputTokens: number) => inputTokens * 3_000 + 10 * 15_000;

describe.each([
  ['a PDF file with compressed text', 'claude', [document(dense.file)], {}, 140_000],
  [
    'a PDF file that repeats one page',
    'claude',
    [document(makePdf(['short'], { timesPage: 90 }).file)],
    {},
    90 * 1_590,
  ],
  ['a PDF file that cannot be read', 'nova', [document(Buffer.from('%PDF-1.7'))], {}, 190_000],
  [
    'a document of an office program',
    'nova',
    [document(makeArchive([{ name: 'a.xml', content: 'x '.repeat(100_000) }]), DOCX)],
    {},
    200_000,
  ],
  [
    'an archive that cannot be read',
    'nova',
    [document(Buffer.from(`PK\x03\x04${'z'.repeat(9_000)}`), DOCX)],
    {},
    190_000,
  ],
  ['images at the highest detail', 'mini', Array<object>(4).fill(image), {}, 4 * 36_835],
  [
    'a document at an address',
    'unlimited',
    [{ type: 'document', source: { type: 'url', url: 'https://a.example/b.pdf' } }],
    {},
    190_000,
  ],
  ['web pages, with a known context window', 'claude', [], fetching, 150_000],
])('%s, sent many times at once', (_what, model, blocks, members, tokens) => {
  const body = message(model, [...blocks, { type: 'text', text: 'go' }], members);

  test('costs no more than the account has', async () => {
    playPrompt(tokens);
    const made = await sendAtOnce('1', body);
    expect(made.writtenOff).toBe(0);
    expect(made.answered).toBe(Math.floor(made.cost / costOf(tokens)));
    expect([made.answered + made.refused, made.balance]).toEqual([AT_ONCE, 1_000_000_000 - made.cost]);
  });

  test('is answered as often as the account can pay for', async () => {
    playPrompt(tokens);
    expect(await sendAtOnce('30', body, 4)).toMatchObject({ answered: 4, cost: 4 * costOf(tokens), writtenOff: 0 });
  });
});

test('whole messages with a summary of the conversation cost no more than the account has', async () => {
  const tokens = 60_000;
  const usage = {
    input_tokens: tokens,
    output_tokens: 10,
    iterations: [
      { type: 'compaction', input_tokens: tokens, output_tokens: 400 },
      { type: 'message', input_tokens: tokens, output_tokens: 10 },
    ],
  };
  upstream.play(async (answer, request) => {
    if (request.path.includes('count')) return answer.send(200, HEADERS, JSON.stringify({ input_tokens: tokens }));
    await pause();
    return scripts.message({ usage })(answer, request);
  });
  const edits = [{ type: 'compact_20260112', trigger: { type: 'input_tokens', value: 50_000 } }];
  const text = 'word '.repeat(tokens);
  const made = await sendAtOnce(
    '1',
    message('compacting', [{ type: 'text', text }], { context_management: { edits } }),
  );
  const cost = 2 * tokens * 3_000 + 410 * 15_000;
  expect(made).toMatchObject({ answered: made.cost / cost, writtenOff: 0, balance: 1_000_000_000 - made.cost });
  expect(made.answered).toBeGreaterThan(0);
  expect(made.answered + made.refused).toBe(AT_ONCE);
  // A prompt that cannot reach the trigger holds nothing more.
  const short = message('compacting', [{ type: 'text', text: 'go' }], { context_management: { edits } });
  expect(await sendAtOnce('0.003', short, 1)).toMatchObject({ refused: 0 });
});

test('a prompt without any bound waits until it is alone, and others wait for it', async () => {
  playPrompt(150_000);
  const body = message('unlimited', [{ type: 'text', text: 'go' }], fetching);
  const made = await sendAtOnce('1', body);
  // The third would leave the account with less than a few fetches cost.
  expect(made).toMatchObject({ answered: 2, refused: AT_ONCE - 2, cost: 2 * costOf(150_000), writtenOff: 0 });
});

test('a stream with searches keeps its hold until its end, and more run at once as far as their bounds fit', async () => {
  using _ = setBounds({ holdWaitMsMax: 20 });
  const searches = { stream: true, tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 4 }] };
  const body = message('searching', [{ type: 'text', text: 'go' }], searches);
  playPrompt(60_000);
  const made = await sendAtOnce('1', body, 6);
  expect(made.writtenOff).toBe(0);
  expect(made.answered).toBeWithin(3, 6);
  expect(made.cost).toBe(made.answered * costOf(60_000));
});

test('the provider’s count replaces a large bound before it is held, whichever is higher', async () => {
  const body = message('claude', [document(dense.file), { type: 'text', text: 'go' }]);
  playPrompt(30_000, 30_000);
  // The bound of one would be 0.6 USD.
  expect(await sendAtOnce('1', body, 8)).toMatchObject({ answered: 8, cost: 8 * costOf(30_000), writtenOff: 0 });
  playPrompt(190_000, 190_000);
  const raised = await sendAtOnce('1', message('unlimited', [document(makePdf(['x'.repeat(40_000)]).file)]), 8);
  expect(raised).toMatchObject({ answered: 1, refused: 7, cost: costOf(190_000), writtenOff: 0 });
});

test.each([0, 1, -5, 1e12])('a count of %d tokens is not believed', async (counts) => {
  playPrompt(150_000, counts);
  const body = message('claude', [document(dense.file), { type: 'text', text: 'a text that has tokens '.repeat(20) }]);
  expect(await sendAtOnce('1', body, 8)).toMatchObject({ answered: 1, refused: 7, writtenOff: 0 });
});

test('an account with much more than the bound does not wait for a count', async () => {
  playPrompt(30_000, 30_000);
  const before = upstream.requests.length;
  const { secret } = await turnpike.makeKey({ credit: '100' });
  expect((await turnpike.post(secret, message('claude', [document(dense.file)]))).status).toBe(200);
  expect(upstream.requests.slice(before).map(({ path }) => path)).toEqual(['/v1/messages']);
});
