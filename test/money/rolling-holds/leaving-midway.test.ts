// A thousand clients disconnect from a thousand different streams. Each is billed once, for the produced output: exactly if
// the service counts with the provider's vocabulary, nearly if with another.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { countText } from '../../support/count-text.ts';
import { type Piece, type Produced, produce } from '../../support/producing-upstream.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import {
  byKind,
  byWords,
  kinds,
  makePiece,
  randomFrom,
  rates,
  type Tokenizer,
} from '../../unit/usage/synthetic-tokenizers.ts';

const STREAMS = 1_000;
const AT_ONCE = 60;
const FIRST_LEAVER = 10_000; // Number of the first stream whose client disconnects.
const COMPLETED = 60; // Teaches the estimator before any disconnect if the provider does not count four bytes per token.

let upstream: ScriptedUpstream;
let turnpike: Turnpike;
const produced: Produced[] = [];
/** The vocabulary with which the service counts, too. */
const byVocabulary: Tokenizer = (pieces) => countText(pieces.map(({ text }) => text).join(''));
let tokenizer = byVocabulary;

beforeAll(async () => {
  upstream = await startScriptedUpstream(produce(({ body }) => plan(JSON.parse(body).messages[0].content), produced));
  const model = { price: { input: '1', output: '5' }, routes: [{ provider: 'scripted' }] };
  turnpike = await startTurnpike({
    providers: { scripted: { kind: 'anthropic', base_url: upstream.url, private_network: true } },
    models: { vocabulary: model, kinds: model, words: model },
    settings: { shed_loop_delay_ms: 60_000 }, // a busy machine refuses none
  });
});
afterAll(async () => {
  await turnpike.stop();
  await upstream.close();
});

/** Output of the upstream for "stream 17 of 3000 bytes": text or tool input of a kind, in small pieces. */
function plan(prompt: string) {
  const [seed = 0, bytes = 0] = (prompt.match(/\d+/g) ?? []).map(Number);
  const random = randomFrom(seed);
  const { kind, text } = makePiece(random, kinds[seed % kinds.length] ?? 'english', bytes);
  const isTool = kind === 'json';
  const block = isTool ? { type: 'tool_use', id: 'toolu_1', name: 'write', input: {} } : { type: 'text', text: '' };
  // A client that disconnects waits for this many pieces, and no more are produced: all timings have one result.
  const isForLeaver = seed >= FIRST_LEAVER;
  const most = isForLeaver ? deltasBeforeLeaving(seed) : Number.POSITIVE_INFINITY;
  function* pieces(): Generator<Piece> {
    let told = 0;
    for (let start = 0, made = 0; start < text.length && made < most; made++) {
      const end = start + 8 + Math.floor(random() * 24);
      const part = text.slice(start, end);
      const tokens = tokenizer([{ kind, text: text.slice(0, end) }]);
      const delta = isTool ? { type: 'input_json_delta', partial_json: part } : { type: 'text_delta', text: part };
      yield { delta, tokens: tokens - told };
      told = tokens;
      start = end;
    }
  }
  return { inputTokens: 50, block, pieces: pieces(), isForLeaver };
}

function deltasBeforeLeaving(seed: number): number {
  return 10 + Math.floor(randomFrom(seed + 77)() * 45); // Fewer than the shortest stream has.
}

function bodyOf(model: string, prompt: string) {
  return { model, max_tokens: 8_000, stream: true, messages: [{ role: 'user', content: prompt }] };
}

interface Left {
  requestId: string;
  note: Produced;
}

/** Reads part of a stream, and disconnects. */
async function leaveMidway(secret: string, model: string, seed: number): Promise<Left> {
  const prompt = `stream ${seed} of ${4_000 + (seed % 4_000)} bytes`;
  const leaving = new AbortController();
  const response = await turnpike.post(secret, bodyOf(model, prompt), { signal: leaving.signal });
  const note = produced.find(({ request }) => request.body.includes(`"${prompt}"`));
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  for (let read = 0; read < deltasBeforeLeaving(seed); ) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`the stream (${response.status}) ended before its reader left`);
    read += decoder.decode(value, { stream: true }).split('event: content_block_delta').length - 1;
  }
  leaving.abort();
  return { requestId: response.headers.get('request-id') as string, note: note as Produced };
}

async function inTurns<Value>(count: number, make: (at: number) => Promise<Value>): Promise<Value[]> {
  const made: Value[] = [];
  let next = 0;
  const work = async () => {
    for (let at = next++; at < count; at = next++) made[at] = await make(at);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return made;
}

async function leaveAll({ account, secret }: { account: string; secret: string }, model: string, firstSeed: number) {
  const left = await inTurns(STREAMS, (at) => leaveMidway(secret, model, firstSeed + at));
  while ((await turnpike.admin('GET', `/accounts/${account}`))['held'] !== '0') await Bun.sleep(20);
  const usage = await turnpike.admin('GET', `/usage?account=${account}&limit=1000`);
  const records = new Map((usage['data'] as Record<string, unknown>[]).map((row) => [row['request_id'], row]));
  return { left, records };
}

for (const [model, count, completed] of [
  ['vocabulary', byVocabulary, 0],
  ['kinds', byKind(rates), COMPLETED],
  ['words', byWords, COMPLETED],
] as const) {
  describe(`${STREAMS} clients that disconnect from streams of a provider that counts by ${model}`, () => {
    test('pay once each, in total the output produced so far, and hardly any of them more', async () => {
      tokenizer = count;
      produced.length = 0;
      const key = await turnpike.makeKey({ credit: '2000' });
      const { account, secret } = key;
      await inTurns(completed, async (at) => {
        const response = await turnpike.post(secret, bodyOf(model, `stream ${at} of ${2_000 + at * 50} bytes`));
        expect(await response.text()).toContain('event: message_stop');
      });
      const { left, records } = await leaveAll(key, model, FIRST_LEAVER);
      expect(records.size).toBe(STREAMS);
      let billed = 0;
      let producedTokens = 0;
      for (const one of left) {
        const record = records.get(one.requestId) ?? {};
        expect(record).toMatchObject({ outcome: 'client_gone', usage_source: 'estimated', input_tokens: 50 });
        const tokens = record['output_tokens'] as number;
        if (count === byVocabulary) expect(tokens).toBe(one.note.outputTokens);
        billed += tokens;
        producedTokens += one.note.outputTokens;
      }
      expect(billed / producedTokens).toBeGreaterThan(0.9);
      expect(billed / producedTokens).toBeLessThan(1.25); // another vocabulary than the provider's
      const { data } = await turnpike.admin('GET', `/accounts/${account}/entries?limit=1000`);
      const references = (data as { kind: string; reference: string }[])
        .filter(({ kind }) => kind === 'usage')
        .map(({ reference }) => reference);
      expect(new Set(references).size).toBe(references.length);
      expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
    });
  });
}
