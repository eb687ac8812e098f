// A node that was stopped for longer than its lease: its responses and its records agree with what its clients
// received.

import { describe, expect, test } from 'bun:test';
import { scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { cannotStartPostgres } from '../../support/start-postgres.ts';
import { applyEverywhere, startNodes } from '../../verify/nodes/start-nodes.ts';
import { paused } from '../idempotency/post-keyed.ts';
import { bodyOf, type Json } from '../post-messages/world.ts';

describe.skipIf(cannotStartPostgres)('a node that was stopped for longer than its lease', () => {
  test('answers a whole message with an error that costs nothing, so that a retry is the only charge', async () => {
    await using nodes = await startNodes(2, { preload: './test/support/short-leases.ts' });
    const [late, other] = nodes.all;
    if (late === undefined || other === undefined) throw new Error('this test needs exactly one node');
    await using upstream = await startScriptedUpstream(scripts.good());
    const route = { provider: 'first', model: 'upstream-model' };
    await applyEverywhere(nodes, {
      providers: { first: { kind: 'anthropic', base_url: upstream.url, private_network: true } },
      models: { plain: { price: { input: '3', output: '15' }, routes: [route] } },
    });
    const { account, secret } = await other.service.makeKey();
    const { script, asked, goOn } = paused(scripts.good());
    upstream.play(script, scripts.good());
    const first = late.service.post(secret, bodyOf());
    await asked;
    late.suspend();
    while ((await other.service.admin('GET', `/accounts/${account}`))['held'] !== '0') await Bun.sleep(50);
    goOn();
    late.resume();
    const answer = await first;
    expect(answer.status).toBe(500);
    expect((await answer.json()) as Json).toMatchObject({ error: { code: 'internal' } });
    const requestId = answer.headers.get('request-id');
    // Written by the late owner, once.
    const seen = { request_id: requestId, outcome: 'service_cut', status: 500, cost: '0', written_off: '0' };
    for (;;) {
      const { data } = (await other.service.admin('GET', `/usage?account=${account}`)) as { data: Json[] };
      expect(data).toMatchObject([seen]);
      const [record] = data;
      if (record !== undefined && (record['attempts'] as unknown[]).length > 0) break;
      await Bun.sleep(50);
    }
    expect((await other.service.post(secret, bodyOf())).status).toBe(200);
    const { balance } = await other.service.admin('GET', `/accounts/${account}`);
    expect(balance).toBe('9.999745'); // the price of one response
    expect(await nodes.check()).toMatchObject({ ok: true, open_holds: 0, faults: [] });
  });
});
