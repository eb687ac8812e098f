// A batch whose service is killed again and again: each request is answered, billed once and told once, and the books agree to the
// nanodollar. No tests of its own.

import { expect } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import { parseUsd } from '../../src/base/money.ts';
import { makeRandom } from '../support/random.ts';
import { type Script, type ScriptedUpstream, scripts, startScriptedUpstream } from '../support/scripted-upstream.ts';
import type { Turnpike } from '../support/start-turnpike.ts';
import { untilHoldsEnd } from '../support/test-store.ts';

const REQUESTS = 300;
const KILLS = 4;
const GOOD_COST = 255_000; // 25 × 3 + 12 × 15 millionths, in nanodollars
const FAILS_EVERY = 7;
const LATER_FROM = 180; // more are left than run at once

/** A service that runs, or runs again after its process was killed. */
export interface Killable {
  /** Some process that runs. */
  service(): Pick<Turnpike, 'url' | 'admin' | 'makeKey'>;
  /** Kills a process at once, and starts it again. */
  kill(round: number): Promise<void>;
  /** Resolves when each process obeys the document. */
  apply(document: object): Promise<void>;
  check(): Promise<{ ok: boolean; open_holds: number; faults: readonly unknown[] }>;
}

const contentOf = (at: number) => (at % FAILS_EVERY === 0 ? `refuse ${at}` : `answer ${at}`);

/** Answers well, or refuses for good, by the request; later ones once they may. Counts what it was asked. */
function answering(asked: Set<string>, mayEnd: Promise<void>): Script {
  return async (answer, request) => {
    const { messages } = JSON.parse(request.body) as { messages: { content: string }[] };
    const content = messages[0]?.content ?? '';
    asked.add(content);
    if (Number(content.split(' ')[1]) >= LATER_FROM) await mayEnd;
    if (content.startsWith('refuse')) return scripts.error(400, 'invalid_request_error', 'No.')(answer, request);
    return scripts.good()(answer, request);
  };
}

/** Parts that `killBatch` needs: an upstream with the document that sells it, and how a batch that is canceled goes on. */
export interface BatchUpstream {
  upstream: ScriptedUpstream;
  asked: ReadonlySet<string>;
  document: object;
  /** null: the batch is not canceled. */
  goOn: (() => void) | null;
}

/** `isCanceled`: the last requests wait until the batch is canceled, so that some are never sent. */
export async function startBatchUpstream(isCanceled: boolean): Promise<BatchUpstream> {
  const asked = new Set<string>();
  const { promise: mayEnd, resolve: goOn } = Promise.withResolvers<void>();
  if (!isCanceled) goOn();
  const upstream = await startScriptedUpstream(answering(asked, mayEnd));
  const provider = { kind: 'anthropic', base_url: upstream.url, api_key: 'x', private_network: true };
  const plain = { price: { input: '3', output: '15' }, routes: [{ provider: 'scripted' }] };
  const document = { providers: { scripted: provider }, models: { plain } };
  return { upstream, asked, document, goOn: isCanceled ? goOn : null };
}

export async function readRecords({ admin }: Pick<Turnpike, 'admin'>, account: string) {
  const rows: Record<string, string>[] = [];
  for (let cursor: unknown = null; ; ) {
    const more = cursor === null ? '' : `&cursor=${cursor}`;
    const page = await admin('GET', `/usage?account=${account}&limit=1000${more}`);
    rows.push(...(page['data'] as Record<string, string>[]));
    cursor = page['next_cursor'];
    if (cursor === null) return rows;
  }
}

export async function killBatch(killable: Killable, { asked, document, goOn }: BatchUpstream): Promise<void> {
  const isCanceled = goOn !== null;
  await killable.apply(document);
  const random = makeRandom(isCanceled ? 7 : 3);
  const caller = await killable.service().makeKey({ credit: '50.00' });
  const batches = () =>
    new Anthropic({ baseURL: killable.service().url, apiKey: caller.secret, maxRetries: 0 }).messages.batches;
  const requests = Array.from({ length: REQUESTS }, (_, at) => ({
    custom_id: `item-${at}`,
    params: { model: 'plain', max_tokens: 64, messages: [{ role: 'user' as const, content: contentOf(at) }] },
  }));
  const { id } = await batches().create({ requests });
  for (let kill = 1; kill <= KILLS; kill++) {
    const upTo = (REQUESTS * kill) / (KILLS + 1);
    while (asked.size < upTo && (await batches().retrieve(id)).processing_status !== 'ended') await Bun.sleep(5);
    await Bun.sleep(Math.floor(random() * 60));
    if (kill === KILLS / 2 && goOn !== null) {
      // Nothing begins any more, so that some requests are canceled however late the leading node reads the cancellation.
      await killable.apply({ ...document, settings: { batch_messages_max: 0 } });
      await batches().cancel(id);
      goOn();
    }
    await killable.kill(kill);
  }
  let batch = await batches().retrieve(id);
  while (batch.processing_status !== 'ended') {
    await Bun.sleep(20);
    batch = await batches().retrieve(id);
  }
  const results = await Array.fromAsync(await batches().results(id));
  expect(results.map(({ custom_id }) => custom_id)).toEqual(requests.map(({ custom_id }) => custom_id));
  const countOf = (type: string) => results.filter(({ result }) => result.type === type).length;
  const { succeeded, errored, canceled, expired } = batch.request_counts;
  const counted = { errored: countOf('errored'), canceled: countOf('canceled'), expired: 0 };
  expect({ succeeded, errored, canceled, expired }).toEqual({ succeeded: countOf('succeeded'), ...counted });
  if (isCanceled) expect(canceled).toBeGreaterThan(0);
  else expect({ errored, canceled }).toEqual({ errored: Math.ceil(REQUESTS / FAILS_EVERY), canceled: 0 });

  expect(await untilHoldsEnd(killable)).toMatchObject({ ok: true, faults: [] });
  const service = killable.service();
  const { balance, held } = (await service.admin('GET', `/accounts/${caller.account}`)) as Record<string, string>;
  const records = await readRecords(service, caller.account);
  // Nothing else was charged than what a result tells, and no result twice.
  expect(records.filter(({ cost }) => (parseUsd(cost as string) ?? 0) > 0)).toHaveLength(succeeded);
  expect(held).toBe('0');
  expect((parseUsd('50.00') ?? 0) - (parseUsd(balance as string) ?? 0)).toBe(succeeded * GOOD_COST);
}
