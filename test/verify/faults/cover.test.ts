// The disk fails while a stream uses up its hold: the stream continues up to its covered tokens and waits there, and
// nothing unpaid is sent.

import { describe, expect, test } from 'bun:test';
import { upstreamEvents } from '../../support/scripted-upstream.ts';
import { cannotFault, type Faulty, startOnDisk, until } from './faulty-disk.ts';
import { isSettled, type Provider, readAll, type Seen, sell, send, startProvider } from './witnesses.ts';

const PIECES = 60; // About 30 tokens each; a tranche covers a few of them.
const TEXT = 'some words of an answer that is long '.repeat(PIECES * 4);

/** A long response, in pieces. */
async function startLong(turnpike: Faulty, provider: Provider, settleWaitSeconds: number, pieceMs: number) {
  await sell(turnpike, provider, { output_tranche_tokens: 256, settle_wait_seconds: settleWaitSeconds });
  const events = upstreamEvents({ text: TEXT, pieces: PIECES, finalUsage: { output_tokens: PIECES * 30 } });
  provider.upstream.play(async (answer) => {
    answer.begin(200, { 'content-type': 'text/event-stream' });
    for (const event of events) {
      if (answer.isGone) return;
      await answer.write(event);
      await Bun.sleep(pieceMs);
    }
    answer.end();
  });
}

/** Waits until a stream receives nothing more although its provider continues. */
async function untilPaused(seen: Seen): Promise<number> {
  for (let count = -1; count !== seen.events.length; await Bun.sleep(700)) count = seen.events.length;
  return seen.events.length;
}

describe.skipIf(cannotFault)('a stream that needs a larger hold while the disk cannot be written', () => {
  test.concurrent('pauses, continues when the disk recovers, and is billed once', async () => {
    await using provider = await startProvider();
    await using turnpike = await startOnDisk();
    await startLong(turnpike, provider, 30, 10);
    const { account, secret } = await turnpike.makeKey();
    const sent = send(turnpike, secret, true, 8_000);
    await until('the stream begins', () => sent.seen.events.length > 3);
    turnpike.disk.set('full');
    expect(await untilPaused(sent.seen)).toBeLessThan(PIECES);
    expect(sent.seen.end).toBe('running');
    turnpike.disk.set('none');
    expect(await sent.done).toMatchObject({ end: 'whole' });
    expect(sent.seen.events.filter((name) => name === 'content_block_delta').length).toBe(PIECES);
    await until('all is settled', () => isSettled(turnpike));
    const records = await readAll(turnpike, `/usage?account=${account}&`);
    expect(records).toMatchObject([{ outcome: 'completed', usage_source: 'reported', written_off: '0' }]);
    expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
  });

  test.concurrent('ends with an error after the wait, and is billed once for the relayed output', async () => {
    await using provider = await startProvider();
    await using turnpike = await startOnDisk();
    await startLong(turnpike, provider, 1, 100);
    const { account, secret } = await turnpike.makeKey();
    const sent = send(turnpike, secret, true, 8_000);
    await until('the stream begins', () => sent.seen.events.length > 3);
    turnpike.disk.set('full');
    expect(await sent.done).toMatchObject({ end: 'error', code: 'store_unavailable' });
    turnpike.disk.set('none');
    await until('all is settled', () => isSettled(turnpike));
    const records = await readAll(turnpike, `/usage?account=${account}&`);
    const entries = await readAll(turnpike, `/accounts/${account}/entries?`);
    expect(entries.filter(({ kind }) => kind === 'usage').length).toBe(1);
    expect(records).toMatchObject([{ outcome: 'service_cut', usage_source: 'estimated', written_off: '0' }]);
    expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
  });

  test('aborts its upstream when it ends for that reason', async () => {
    await using provider = await startProvider();
    await using turnpike = await startOnDisk();
    await startLong(turnpike, provider, 1, 100);
    const { secret } = await turnpike.makeKey();
    const sent = send(turnpike, secret, true, 8_000);
    await until('the stream begins', () => sent.seen.events.length > 3);
    turnpike.disk.set('full');
    await sent.done;
    await provider.upstream.aborted(1);
  });
});
