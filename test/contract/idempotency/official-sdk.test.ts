// The official SDKs with an idempotency key: they retry a message in progress by themselves, and read a replay like
// any response.

import { afterAll, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { makeClient, sdks } from '../../verify/clients/official-sdks.ts';
import { expectMoney, GOOD, sharedWorld } from '../post-messages/world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());

const hello = { model: 'plain', max_tokens: 64, messages: [{ role: 'user' as const, content: 'Good morning!' }] };
const headers = { 'idempotency-key': 'order-17' };

for (const sdk of sdks) {
  test(`the SDK ${sdk.name} gets the same message again, and the same stream`, async () => {
    world.upstream.play(scripts.good());
    for (const stream of [false, true]) {
      const caller = await world.makeKey();
      const { client } = makeClient(sdk, world.url, caller.secret);
      const ask = () =>
        stream ? client.messages.stream(hello, { headers }).finalMessage() : client.messages.create(hello, { headers });
      const first = await ask();
      const again = await ask();
      expect(again.content).toEqual(first.content);
      expect(again.usage).toEqual(first.usage);
      await expectMoney(world, caller, [GOOD]);
    }
  });

  test(`the SDK ${sdk.name} waits for a message that is in progress, and gets its response`, async () => {
    world.upstream.play(async (answer, request) => {
      await Bun.sleep(600);
      await scripts.good()(answer, request);
    });
    const calls = world.upstream.requests.length;
    const caller = await world.makeKey();
    const { client, sent } = makeClient(sdk, world.url, caller.secret, 5);
    const messages = await Promise.all([1, 2, 3].map(() => client.messages.create(hello, { headers })));
    expect(new Set(messages.map(({ content }) => JSON.stringify(content))).size).toBe(1);
    expect(world.upstream.requests.length - calls).toBe(1);
    expect(sent.length).toBeGreaterThan(3); // two of them received an error and retried
    await expectMoney(world, caller, [GOOD]);
  });

  test(`the SDK ${sdk.name} does not send its option idempotencyKey, so the header must be set explicitly`, async () => {
    const caller = await world.makeKey();
    world.upstream.play(scripts.good());
    const { client, sent } = makeClient(sdk, world.url, caller.secret);
    await client.messages.create(hello, { idempotencyKey: 'order-17' });
    expect(sent.at(-1)?.headers.has('idempotency-key')).toBe(false);
  });
}
