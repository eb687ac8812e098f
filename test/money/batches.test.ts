// Batches whose service is killed again and again: each request is answered, billed once and told once, and the books agree to the nanodollar.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { parseUsd } from '../../src/base/money.ts';
import { makeRandom } from '../support/random.ts';
import { type Script, scripts, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { spawnTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { untilHoldsEnd } from '../support/test-store.ts';

const REQUESTS = 300;
const KILLS = 4;
const GOOD_COST = 255_000; // 25 × 3 + 12 × 15 millionths, in nanodollars
const FAILS_EVERY = 7;

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const contentOf = (at: number) => (at % FAILS_EVERY === 0 ? `refuse ${at}` : `answer ${at}`);

/** Answers well, or refuses for good, by the request. Counts what it was asked. */
function answering(asked: Map<string, number>): Script {
  return (answer, request) => {
    const { messages } = JSON.parse(request.body) as { messages: { content: string }[] };
    const content = messages[0]?.content ?? '';
    asked.set(content, (asked.get(content) ?? 0) + 1);
    if (content.startsWith('refuse')) return scripts.error(400, 'invalid_request_error', 'No.')(answer, request);
    return scripts.good()(answer, request);
  };
}

async function readBatch(client: Anthropic, id: string) {
  return client.messages.batches.retrieve(id);
}

async function readRecords(turnpike: Turnpike, account: string) {
  const rows: Record<string, string>[] = [];
  for (let cursor: unknown = null; ; ) {
    const page = await turnpike.admin(
      'GET',
      `/usage?account=${account}&limit=1000${cursor === null ? '' : `&cursor=${cursor}`}`,
    );
    rows.push(...(page['data'] as Record<string, string>[]));
    cursor = page['next_cursor'];
    if (cursor === null) return rows;
  }
}

test.each([false, true])(
  'kills at any moment bill each request once (canceled in the middle: %p)',
  async (isCanceled) => {
    const random = makeRandom(isCanceled ? 7 : 3);
    const asked = new Map<string, number>();
    await using upstream = await startScriptedUpstream(answering(asked));
    const provider = { kind: 'anthropic', base_url: upstream.url, api_key: 'x', private_network: true };
    const document = {
      providers: { scripted: provider },
      models: { plain: { price: { input: '3', output: '15' }, routes: [{ provider: 'scripted' }] } },
    };
    const place = join(directory, String(isCanceled));
    let turnpike = await spawnTurnpike(place);
    await turnpike.admin('POST', '/apply', { document });
    const caller = await turnpike.makeKey({ credit: '50.00' });
    const clientOf = () => new Anthropic({ baseURL: turnpike.url, apiKey: caller.secret, maxRetries: 0 });
    const requests = Array.from({ length: REQUESTS }, (_, at) => ({
      custom_id: `item-${at}`,
      params: { model: 'plain', max_tokens: 64, messages: [{ role: 'user' as const, content: contentOf(at) }] },
    }));
    const { id } = await clientOf().messages.batches.create({ requests });
    for (let kill = 1; kill <= KILLS; kill++) {
      const upTo = (REQUESTS * kill) / (KILLS + 1);
      while (asked.size < upTo && (await readBatch(clientOf(), id)).processing_status !== 'ended') await Bun.sleep(5);
      await Bun.sleep(Math.floor(random() * 60));
      if (isCanceled && kill === KILLS / 2) await clientOf().messages.batches.cancel(id);
      turnpike.process.kill('SIGKILL');
      await turnpike.process.exited;
      turnpike = await spawnTurnpike(place);
    }
    let batch = await readBatch(clientOf(), id);
    while (batch.processing_status !== 'ended') {
      await Bun.sleep(20);
      batch = await readBatch(clientOf(), id);
    }
    const results = await Array.fromAsync(await clientOf().messages.batches.results(id));
    expect(results.map(({ custom_id }) => custom_id)).toEqual(requests.map(({ custom_id }) => custom_id));
    const countOf = (type: string) => results.filter(({ result }) => result.type === type).length;
    const { succeeded, errored, canceled, expired } = batch.request_counts;
    expect({ succeeded, errored, canceled, expired }).toEqual({
      succeeded: countOf('succeeded'),
      errored: countOf('errored'),
      canceled: countOf('canceled'),
      expired: 0,
    });
    if (isCanceled) expect(canceled).toBeGreaterThan(0);
    else
      expect({ succeeded, errored }).toEqual({
        succeeded: REQUESTS - errored,
        errored: Math.ceil(REQUESTS / FAILS_EVERY),
      });

    const report = await untilHoldsEnd(turnpike);
    expect(report).toMatchObject({ ok: true, faults: [] });
    const { balance, held } = (await turnpike.admin('GET', `/accounts/${caller.account}`)) as Record<string, string>;
    const records = await readRecords(turnpike, caller.account);
    const charged = records.filter(({ cost }) => (parseUsd(cost as string) ?? 0) > 0);
    // Nothing else was charged than what a result tells, and no result twice.
    expect(charged).toHaveLength(succeeded);
    expect(held).toBe('0');
    expect((parseUsd('50.00') ?? 0) - (parseUsd(balance as string) ?? 0)).toBe(succeeded * GOOD_COST);
    await turnpike.stop();
  },
);
