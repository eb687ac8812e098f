// Rates and concurrency over three nodes: a limit is what all of them together let through, as counted by the provider and by
// what came back of them, never so much a node.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { type OverlapUpstream, startOverlapUpstream } from '../../money/overlap-upstream.ts';
import type { Asked } from '../../support/held-requests.ts';
import { cannotStartPostgres } from '../../support/start-postgres.ts';
import { countVerdicts, sendSpread } from './spread.ts';
import { applyEverywhere, type Nodes, type ServiceNode, startNodes } from './start-nodes.ts';

const RPM = 100;
const ROUNDS_MAX = 20;

describe.skipIf(cannotStartPostgres)('over three nodes', () => {
  let upstream: OverlapUpstream;
  let nodes: Nodes;
  let first: ServiceNode;
  beforeAll(async () => {
    upstream = await startOverlapUpstream();
    nodes = await startNodes(3);
    first = nodes.all[0] as ServiceNode;
    const models = ['*'];
    const groups = {
      narrow: { models, concurrency: 7 },
      slow: { models, rpm: RPM },
      small: { models, output_tpm: 100 },
    };
    await applyEverywhere(nodes, { ...upstream.document(groups), settings: { shed_loop_delay_ms: 60_000 } });
  });
  afterAll(async () => {
    expect(await nodes.check()).toMatchObject({ ok: true, open_holds: 0 });
    await nodes[Symbol.asyncDispose]();
    await upstream.close();
  });

  function message(model: string, stream: boolean, content = 'go') {
    return { model, max_tokens: 16, stream, messages: [{ role: 'user', content }] };
  }

  test.each([
    ['a key', {}, { concurrency: 5 }, 5],
    ["an account's group, over all its keys", { groups: ['narrow'] }, {}, 7],
  ])('the concurrency of %s is never exceeded, and used in full', async (_whose, account, key, limit) => {
    const made = await first.service.makeKey(account, key);
    const secrets = [made.secret];
    if ('groups' in account) {
      const second = await first.service.admin('POST', '/keys', { account: made.account });
      secrets.push(second['key'] as string);
    }
    const asked = Array.from({ length: 600 }, (_, at) => ({
      secret: secrets[at % secrets.length] as string,
      body: message('counted', at % 2 === 0),
    }));
    upstream.takeMost();
    let [served, most] = [0, 0];
    // On a busy machine so many are not there at once in every round.
    for (let round = 0; round < 3 || (most < limit && round < ROUNDS_MAX); round++) {
      const counts = countVerdicts((await sendSpread(nodes, asked)).answers);
      expect(Object.keys(counts).sort()).toEqual(['200', '429 concurrency_exceeded']);
      served += counts['200'] as number;
      most = Math.max(most, upstream.takeMost());
    }
    expect(most).toBe(limit);
    expect(served).toBeGreaterThanOrEqual(3 * limit);
    // And its places are all free again: for other nodes' messages when what was refused for them is not remembered any more.
    await Bun.sleep(bounds.refusalBehindOthersRememberedMs);
    expect(countVerdicts((await sendSpread(nodes, asked.slice(0, limit))).answers)).toEqual({ '200': limit });
  });

  test.each([
    ['a key', {}, { rpm: RPM }],
    ['a group', { groups: ['slow'] }, {}],
  ])('of %s as many requests pass as it says and as came back meanwhile, no more', async (_whose, account, key) => {
    const { secret } = await first.service.makeKey(account, key);
    const asked = Array<Asked>(1_000).fill({ secret, body: message('sandbox-echo', false) });
    const { answers, tookMs } = await sendSpread(nodes, asked);
    const counts = countVerdicts(answers);
    expect(Object.keys(counts).sort()).toEqual(['200', '429 requests_rate_exceeded']);
    expect(counts['200']).toBeGreaterThanOrEqual(RPM);
    expect(counts['200']).toBeLessThanOrEqual(RPM + Math.floor((tookMs * RPM) / 60_000));
  });

  const content = 'x'.repeat(160); // 40 tokens in, 16 out
  test.each([
    ['input tokens of a key', {}, { input_tpm: 100 }, 3, 'input_tokens_rate_exceeded'],
    ['output tokens of a key', {}, { output_tpm: 40 }, 3, 'output_tokens_rate_exceeded'],
    ['output tokens of a group', { groups: ['small'] }, {}, 7, 'output_tokens_rate_exceeded'],
  ])('what one node used of the %s is gone for all of them', async (_what, account, key, admitted, code) => {
    const { secret } = await first.service.makeKey(account, key);
    const body = message('sandbox-echo', false, content);
    const statuses: number[] = [];
    for (let at = 0; at < admitted; at++) {
      const { service } = nodes.all[at % nodes.all.length] as ServiceNode;
      statuses.push((await service.post(secret, body)).status);
    }
    expect(statuses).toEqual(Array<number>(admitted).fill(200));
    const { answers } = await sendSpread(nodes, Array<Asked>(150).fill({ secret, body }));
    expect(countVerdicts(answers)).toEqual({ [`429 ${code}`]: 150 });
  });
});
