// Limits that other systems exceeded permanently or lost. docs/known-failures.md has the sources.

import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scripts } from '../../support/scripted-upstream.ts';
import { spawnTurnpike } from '../../support/start-turnpike.ts';
import { bodyOf, expectError, expectMoney, sharedWorld } from '../post-messages/world.ts';

test('tokens that concurrent messages use beyond the limit per minute are owed in full, and later messages wait for them', async () => {
  await using world = await sharedWorld();
  // The token counts of five messages that together used 663 tokens under a limit of 100 per minute in another
  // system.
  const took = [58, 80, 175, 175, 175];
  const { promise: areFive, resolve: allRun } = Promise.withResolvers<void>();
  world.upstream.play(async (answer, request) => {
    if (world.upstream.requests.length === took.length) allRun();
    await areFive;
    const place = Number(JSON.parse(request.body).messages[0].content);
    await scripts.message({ usage: { input_tokens: took[place], output_tokens: 1 } })(answer, request);
  });
  const caller = await world.makeKey({}, { input_tpm: 100 });
  const post = (place: number) =>
    world.post(caller.secret, bodyOf({ messages: [{ role: 'user', content: String(place) }] }));
  const answers = await Promise.all(took.map((_, place) => post(place)));
  expect(answers.map(({ status }) => status)).toEqual(took.map(() => 200));
  const refused = await post(0);
  // 563 are owed and 100 refill per minute: five minutes and 38 seconds, less the elapsed time.
  expect(Number(refused.headers.get('retry-after'))).toBeWithin(200, 340);
  await expectError(refused, 429, 'rate_limit_error', 'input_tokens_rate_exceeded');
  await expectMoney(
    world,
    caller,
    took.map(() => ({ output_tokens: 1 })),
  );
});

test('no limit is lost in a restart', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
  const body = bodyOf({ model: 'sandbox-echo' });
  const keys = [{ rpm: 1 }, { input_tpm: 1 }, { output_tpm: 1 }, { quota: '0.00033' }];
  const codes = ['requests', 'input_tokens', 'output_tokens'].map((rate) => `${rate}_rate_exceeded`);
  const secrets: string[] = [];
  {
    await using first = await spawnTurnpike(directory);
    for (const key of keys) {
      const { secret } = await first.makeKey({}, key);
      expect((await first.post(secret, body)).status).toBe(200);
      secrets.push(secret);
    }
  }
  {
    await using second = await spawnTurnpike(directory);
    const refused = await Promise.all(secrets.map((secret) => second.post(secret, { ...body, max_tokens: 64 })));
    const errors = await Promise.all(refused.map(async (response) => (await response.json()).error.code as string));
    expect(errors).toEqual([...codes, 'insufficient_user_quota']);
  }
  rmSync(directory, { recursive: true, force: true });
});
