// A service that is killed during a message with an idempotency key: the next start frees the key, a retry is
// answered, and one charge remains.

import { expect, test } from 'bun:test';
import { temporaryDirectory } from '../../storage/temporary-directory.ts';
import { type ScriptedUpstream, scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { spawnTurnpike, type TurnpikeProcess } from '../../support/start-turnpike.ts';
import { bodyOf, expectMoney, GOOD } from '../post-messages/world.ts';
import { expectReplay, paused, postKeyed, postUntilAnswered, requestIdOf } from './post-keyed.ts';

const REPEATED = 50;

function catalogOf(upstream: ScriptedUpstream) {
  const routes = [{ provider: 'first', model: 'upstream-model' }];
  return {
    providers: { first: { kind: 'anthropic', base_url: upstream.url, private_network: true } },
    models: { plain: { price: { input: '3', output: '15' }, routes } },
  };
}

async function kill(turnpike: TurnpikeProcess): Promise<void> {
  turnpike.process.kill('SIGKILL');
  await turnpike.process.exited;
}

for (const stream of [false, true])
  test(`${stream ? 'a stream' : 'a message'} interrupted by a crash is answered to ${REPEATED} concurrent retries and charged once`, async () => {
    using directory = temporaryDirectory();
    const hanging = paused(scripts.good());
    await using upstream = await startScriptedUpstream(stream ? scripts.hangMidStream() : hanging.script);
    const dying = await spawnTurnpike(directory.path);
    await dying.admin('POST', '/apply', { document: catalogOf(upstream) });
    const caller = await dying.makeKey();
    const first = postKeyed(dying, caller.secret, 'order-17', { stream });
    first.catch(() => {});
    if (stream) {
      await ((await first).body as ReadableStream<Uint8Array>).getReader().read();
      await Bun.sleep(2_500); // so that there is a checkpoint to bill after a crash
    } else {
      await hanging.asked;
      await dying.admin('GET', `/accounts/${caller.account}`); // a read writes young holds down before
    }
    await kill(dying);
    hanging.goOn();

    upstream.play(scripts.good());
    await using turnpike = await spawnTurnpike(directory.path);
    const responses = await Promise.all(
      Array.from({ length: REPEATED }, () =>
        postUntilAnswered(() => postKeyed(turnpike, caller.secret, 'order-17', { stream })),
      ),
    );
    expect(responses.map(({ status }) => status)).toEqual(Array<number>(REPEATED).fill(200));
    expect(new Set(await Promise.all(responses.map((response) => response.text()))).size).toBe(1);
    expect(upstream.requests).toHaveLength(2); // one by the killed process, and one more
    await expectMoney(turnpike, caller, [
      { ...GOOD, outcome: 'completed' },
      { outcome: 'service_cut', cost: '0', written_off: '0' },
    ]);
  });

test('a stored response survives a crash', async () => {
  using directory = temporaryDirectory();
  await using upstream = await startScriptedUpstream(scripts.good(), scripts.overloaded());
  const dying = await spawnTurnpike(directory.path);
  await dying.admin('POST', '/apply', { document: catalogOf(upstream) });
  const caller = await dying.makeKey();
  const first = await postKeyed(dying, caller.secret, 'order-17', { stream: true });
  const requestId = requestIdOf(first);
  const text = await first.text();
  await kill(dying);
  await using turnpike = await spawnTurnpike(directory.path);
  const again = await postKeyed(turnpike, caller.secret, 'order-17', { stream: true });
  expectReplay(again, requestId);
  expect(await again.text()).toBe(text);
  await expectMoney(turnpike, caller, [GOOD]);
});

test('a message interrupted by a shutdown before its response may be retried and is charged once', async () => {
  using directory = temporaryDirectory();
  await using upstream = await startScriptedUpstream(scripts.hangMidStream());
  const stopping = await spawnTurnpike(directory.path);
  await stopping.admin('POST', '/apply', { document: { ...catalogOf(upstream), settings: { drain_seconds: 1 } } });
  const caller = await stopping.makeKey();
  const first = await postKeyed(stopping, caller.secret, 'order-17', { stream: true });
  stopping.process.kill('SIGTERM');
  expect(await first.text()).toContain('draining');
  expect(await stopping.process.exited).toBe(0);
  upstream.play(scripts.good());
  await using turnpike = await spawnTurnpike(directory.path);
  requestIdOf(
    await turnpike.post(caller.secret, bodyOf({ stream: true }), { headers: { 'idempotency-key': 'order-17' } }),
  );
  await expectMoney(turnpike, caller, [GOOD, { outcome: 'service_cut', cost: '0' }]);
});
