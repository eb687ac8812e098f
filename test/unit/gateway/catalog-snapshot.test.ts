// A message keeps the catalog of its offer: what the operator changes while it runs applies to later messages.

import { expect, test } from 'bun:test';
import { ProviderFault } from '../../../src/providers/providers.ts';
import {
  type ControlledService,
  EVENTS,
  messageReply,
  type Parts,
  startControlled,
  streamOf,
} from '../../contract/post-messages/controlled-service.ts';

/** A service whose catalog can be read no more once a message asks for its admission. */
async function startUnreadable(parts: Parts): Promise<ControlledService> {
  const service = await startControlled({
    ...parts,
    gateOver: (gate) => ({
      batches: () => gate.batches(),
      submit: (bundle) => {
        if (bundle.operations[0]?.kind === 'admit')
          service.gateway.catalog = () => {
            throw new Error('the catalog is read during a message');
          };
        return gate.submit(bundle);
      },
    }),
  });
  return service;
}

test.each([true, false])('its targets, price and time limits come from one catalog (stream: %s)', async (stream) => {
  await using service = await startUnreadable({
    answer: async (model) => {
      if (model === 'first') throw new ProviderFault('failed', 'it fails');
      return stream ? streamOf(EVENTS) : messageReply();
    },
  });
  const response = await service.post(await service.makeKey(), { stream });
  expect(await response.text()).toContain('end_turn');
  const cost = 25 * 3_000 + 12 * 15_000;
  const attempts = [{ model: 'first' }, { model: 'second' }];
  expect(await service.records()).toMatchObject([{ outcome: 'completed', cost, attempts }]);
});

test.each([true, false])('so do the limits after a disconnect (stream: %s)', async (stream) => {
  const begun = Promise.withResolvers<void>();
  const disconnected = Promise.withResolvers<void>();
  await using service = await startUnreadable({
    settings: { finish_streams_without_caller_max: 1 },
    onDisconnect: disconnected.resolve,
    answer: async (_, signal) => {
      begun.resolve();
      if (stream) return streamOf(EVENTS, { 2: disconnected.promise }, signal);
      await disconnected.promise;
      return messageReply();
    },
  });
  const client = new AbortController();
  const posting = service.post(await service.makeKey(), { stream }, client.signal).then(
    (response) => response.text().catch(() => null),
    () => null,
  );
  await begun.promise;
  client.abort();
  await posting;
  while (service.gateway.running.count > 0) await Bun.sleep(2);
  expect(await service.records()).toMatchObject([{ outcome: 'client_gone', inputTokens: 25, outputTokens: 12 }]);
});
