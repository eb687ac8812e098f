// A batch that a provider runs, whose service is killed while it is made there, while it runs and while its answers are billed: the provider
// gets it once, each answer is billed once and told once, and the books agree to the nanodollar. No tests of its own.

import { expect } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import { parseUsd } from '../../src/base/money.ts';
import { cloudMembers } from '../support/batch-clouds.ts';
import { REFUSED, startBatchProvider } from '../support/batch-provider.ts';
import { untilHoldsEnd } from '../support/test-store.ts';
import { type Killable, readRecords } from './batch-under-kills.ts';

const REQUESTS = 300;
const FAILS_EVERY = 7;
const KILLS_WHILE_BILLED = 2;
const GOOD_COST = 255_000; // 25 × 3 + 12 × 15 millionths, in nanodollars

/** One with whole requests in a call, and those with requests in a bucket. */
export const KILLED_AT = ['anthropic', 'bedrock', 'vertex'] as const;

export async function killProviderBatch(killable: Killable, kind: (typeof KILLED_AT)[number]): Promise<void> {
  const provider = startBatchProvider();
  const { answer } = provider;
  provider.answer = (dialect, body, id) =>
    Number(JSON.stringify(body).match(/item (\d+)/)?.[1]) % FAILS_EVERY === 0
      ? REFUSED[kind]
      : answer(dialect, body, id);
  let round = 0;
  let isKilled = false;
  provider.onCreate = async () => {
    if (isKilled) return;
    isKilled = true;
    await killable.kill(++round); // the provider has the batch, and nobody knows its id
  };
  const anthropic = { kind: 'anthropic', base_url: provider.url, api_key: 'x', private_network: true, batches: true };
  const model = { anthropic: 'plain', bedrock: 'anthropic.claude-plain', vertex: 'gemini-plain' }[kind];
  const plain = { price: { input: '3', output: '15' }, routes: [{ provider: kind, model }] };
  const providers = { anthropic, ...cloudMembers(provider.url) };
  await killable.apply({ providers: { [kind]: providers[kind] }, models: { plain } });
  const caller = await killable.service().makeKey({ credit: '50.00' });
  const batches = () =>
    new Anthropic({ baseURL: killable.service().url, apiKey: caller.secret, maxRetries: 0 }).messages.batches;
  const requests = Array.from({ length: REQUESTS }, (_, at) => ({
    custom_id: `item-${at}`,
    params: { model: 'plain', max_tokens: 64, messages: [{ role: 'user' as const, content: `item ${at}` }] },
  }));
  const { id } = await batches().create({ requests });
  while (provider.batches.length === 0) await Bun.sleep(5);
  await killable.kill(++round);
  provider.letGo();
  const billed = async () => REQUESTS - (await batches().retrieve(id)).request_counts.processing;
  for (let kill = 1; kill <= KILLS_WHILE_BILLED; kill++) {
    while ((await billed()) < (REQUESTS * kill) / (KILLS_WHILE_BILLED + 2)) await Bun.sleep(2);
    await killable.kill(++round);
  }
  while ((await batches().retrieve(id)).processing_status !== 'ended') await Bun.sleep(20);
  const results = await Array.fromAsync(await batches().results(id));
  const failed = Math.ceil(REQUESTS / FAILS_EVERY);
  expect(results.map(({ custom_id }) => custom_id)).toEqual(requests.map(({ custom_id }) => custom_id));
  expect(results.filter(({ result }) => result.type === 'succeeded')).toHaveLength(REQUESTS - failed);
  expect(await untilHoldsEnd(killable)).toMatchObject({ ok: true, faults: [] });
  const service = killable.service();
  const { balance, held } = (await service.admin('GET', `/accounts/${caller.account}`)) as Record<string, string>;
  const records = await readRecords(service, caller.account);
  const costs = records.map(({ cost }) => parseUsd(cost as string) ?? 0).filter((cost) => cost > 0);
  expect(costs).toHaveLength(REQUESTS - failed);
  expect(held).toBe('0');
  expect((parseUsd('50.00') ?? 0) - (parseUsd(balance as string) ?? 0)).toBe((REQUESTS - failed) * GOOD_COST);
  const removed = provider.removed.filter((name) => !name.includes('/')); // but no objects
  expect([provider.batches.length + removed.length, provider.direct.length]).toEqual([1, 0]);
  expect([...provider.files.keys()]).toEqual([]);
  await provider[Symbol.asyncDispose]();
}
