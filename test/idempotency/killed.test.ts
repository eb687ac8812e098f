// A service that is killed in the midst of a message with an idempotency key: the next run frees the key, who
// asks again is answered, and one charge remains.

import { expect, test } from 'bun:test';
import { bodyOf, expectMoney, GOOD } from '../post-messages/world.ts';
import { temporaryDirectory } from '../storage/temporary-directory.ts';
import { type ScriptedUpstream, scripts, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { spawnTurnpike, type TurnpikeProcess } from '../support/start-turnpike.ts';
import { expectReplay, held, postKeyed, postUntilAnswered, requestIdOf } from './keyed.ts';

const REPEATED = 50;

function catalogueOf(upstream: ScriptedUpstream) {
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
  test(`${stream ? 'a stream' : 'a message'} that the service died over is answered to who asks again, ${REPEATED} times at once, and charged once`, async () => {
    using directory = temporaryDirectory();
    const hanging = held(scripts.good());
    await using upstream = await startScriptedUpstream(stream ? scripts.hangMidStream() : hanging.script);
    const dying = await spawnTurnpike(directory.path);
    await dying.admin('POST', '/apply', { document: catalogueOf(upstream) });
    const caller = await dying.makeKey();
    const first = postKeyed(dying, caller.secret, 'order-17', { stream });
    first.catch(() => {});
    if (stream) {
      await ((await first).body as ReadableStream<Uint8Array>).getReader().read();
      await Bun.sleep(2_500); // so that there is something that a crash bills
    } else await hanging.asked;
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
    expect(upstream.requests).toHaveLength(2); // of the run that died, and one more
    await expectMoney(turnpike, caller, [
      { ...GOOD, outcome: 'completed' },
      { outcome: 'service_cut', cost: '0', written_off: '0' },
    ]);
  }, 30_000);

test('an answer outlasts the death of the service that gave it', async () => {
  using directory = temporaryDirectory();
  await using upstream = await startScriptedUpstream(scripts.good(), scripts.overloaded());
  const dying = await spawnTurnpike(directory.path);
  await dying.admin('POST', '/apply', { document: catalogueOf(upstream) });
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

test('a message whose service was stopped before its provider answered may be sent again, and is charged once', async () => {
  using directory = temporaryDirectory();
  await using upstream = await startScriptedUpstream(scripts.hangMidStream());
  const stopping = await spawnTurnpike(directory.path);
  await stopping.admin('POST', '/apply', { document: { ...catalogueOf(upstream), settings: { drain_seconds: 1 } } });
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
}, 20_000);
