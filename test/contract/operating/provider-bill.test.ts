// A provider's bill against the messages of a whole service: what was answered, what failed midway, and what it did not see.

import { afterAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, type Json, sharedWorld } from '../post-messages/world.ts';

const MODEL = 'billed-model';
const cost = { input: '2', output: '10' };
const route = { provider: 'first', model: MODEL, cost };
const world = await sharedWorld({ models: { billed: { price: { input: '3', output: '15' }, routes: [route] } } });
afterAll(() => world.stop());

async function importBill(day: string, rows: readonly (readonly [type: string, usd: string])[]): Promise<Json> {
  await world.admin('POST', '/provider-bill-sources', { provider: 'first', kind: 'anthropic', schedule: 'never' });
  const { token } = JSON.parse(readFileSync(join(world.dataDirectory, 'operator.json'), 'utf8'));
  const lines = rows.map(([type, usd]) => `${day},${MODEL},${type},${usd}\n`);
  const answer = await fetch(`${world.url}/api/v1/provider-bill-sources/first/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'text/csv' },
    body: `usage_date_utc,model,token_type,cost_usd\n${lines.join('')}`,
  });
  expect(answer.status).toBe(200);
  const bill = await world.admin('GET', `/provider-bills/first:${day}`);
  return (bill['models'] as Json[]).find(({ model }) => model === MODEL) as Json;
}

test('a bill of the messages that were answered differs by nothing, and one of more by traffic beside the service', async () => {
  const { secret, account } = await world.makeKey();
  world.upstream.play(scripts.message({ usage: { input_tokens: 1_000, output_tokens: 500 } }));
  expect((await world.post(secret, bodyOf({ model: 'billed' }))).status).toBe(200);
  const { data } = await world.admin('GET', `/usage?account=${account}`);
  const [record] = data as Json[];
  expect(record).toMatchObject({ provider_cost: '0.007' }); // 1,000 × 2 + 500 × 10, in millionths
  const day = String(record?.['at']).slice(0, 10);
  const equal = await importBill(day, [
    ['input_no_cache', '0.002000'],
    ['output', '0.005000'],
  ]);
  expect(equal).toMatchObject({ billed: '0.007', ours: '0.007', difference: '0' });
  expect(equal['features']).toMatchObject([
    { feature: 'input', ours: '0.002', our_quantity: 1_000 },
    { feature: 'output', ours: '0.005', our_quantity: 500 },
  ]);
  const more = await importBill(day, [
    ['input_no_cache', '0.002000'],
    ['output', '0.015000'],
  ]);
  expect(more).toMatchObject({ difference: '0.01', parts: { beside: '0.01', unexplained: '0' } });
});
