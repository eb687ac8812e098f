// A stream that the service ends while its last events wait for a larger hold: the client's error and the record
// agree.

import { expect, test } from 'bun:test';
import type { LedgerGate } from '../../../src/ledger/ledger.ts';
import { makeEvent } from '../../../src/wire/wire.ts';
import { EVENTS, startControlled } from '../../contract/post-messages/controlled-service.ts';
import { expectErrorEvent } from '../../contract/post-messages/world.ts';

const LONG = makeEvent({
  type: 'content_block_delta',
  index: 0,
  delta: { type: 'text_delta', text: 'abc '.repeat(9_000) },
});

const REPORTED = makeEvent({
  type: 'message_delta',
  delta: { stop_reason: 'end_turn' },
  usage: { output_tokens: 9_000 },
});

test('a stream cut while its last event waits for its hold has no clean end', async () => {
  const asked = Promise.withResolvers<void>();
  const going = Promise.withResolvers<void>();
  const gateOver = (gate: LedgerGate): LedgerGate => ({
    batches: () => gate.batches(),
    async submit(bundle) {
      if (bundle.operations[0]?.kind === 'extend') {
        asked.resolve();
        await going.promise;
      }
      return gate.submit(bundle);
    },
  });
  const pieces = [EVENTS.slice(0, 2), [LONG, REPORTED, ...EVENTS.slice(-1)]];
  await using service = await startControlled({
    gateOver,
    answer: async () => ({
      form: 'stream',
      events: { next: async () => pieces.shift() ?? null },
      upstreamRequestId: null,
    }),
  });
  const secret = await service.makeKey();
  const answering = service.post(secret, { stream: true, max_tokens: 20_000 });
  await asked.promise;
  service.gateway.running.cutAll();
  going.resolve();
  await expectErrorEvent(await answering, 'api_error', 'draining');
  expect(await service.records()).toMatchObject([{ outcome: 'service_cut', writtenOff: 0 }]);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});
