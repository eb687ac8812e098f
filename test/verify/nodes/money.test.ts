// Three nodes on one database, 5,000 messages at once, and money for 250: exactly 250 are served, whichever meter it is that
// has room for no more. `npm run nodes` does it again and again.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cannotStartPostgres } from '../../support/start-postgres.ts';
import { exactly, meters, settings, spendTogether } from './spend-together.ts';
import { applyEverywhere, type Nodes, type ServiceNode, startNodes } from './start-nodes.ts';

describe.skipIf(cannotStartPostgres)('of 5,000 concurrent messages over three nodes', () => {
  let nodes: Nodes;
  beforeAll(async () => {
    nodes = await startNodes(3);
    await applyEverywhere(nodes, { settings });
  });
  afterAll(() => nodes[Symbol.asyncDispose]());

  test.each(Object.keys(meters) as (keyof typeof meters)[])(
    'exactly the 250 are served that %s can pay',
    async (meter) => {
      const { tookMs: _, ...spent } = await spendTogether(nodes, meter, nodes.all[1] as ServiceNode);
      expect(spent).toEqual(exactly);
      expect(await nodes.check()).toMatchObject({ ok: true, open_holds: 0 });
    },
  );
});
