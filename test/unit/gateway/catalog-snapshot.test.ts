// A message keeps the catalog of its offer: what the operator changes while it runs applies to later messages.

import { expect, test } from 'bun:test';
import { type Catalog, resolveModel } from '../../../src/catalog/catalog.ts';
import type { Target } from '../../../src/gateway/route-health.ts';
import { listTargets, presentTarget } from '../../../src/gateway/targets.ts';
import { ProviderFault } from '../../../src/providers/providers.ts';
import {
  type ControlledService,
  EVENTS,
  messageReply,
  type Parts,
  startControlled,
  streamOf,
} from '../../contract/post-messages/controlled-service.ts';
import { expectError } from '../../contract/post-messages/world.ts';

/** A service whose catalog is another one as soon as a message asks for its admission. */
async function startChanged(parts: Parts, change: (catalog: Catalog) => Partial<Catalog>): Promise<ControlledService> {
  const service = await startControlled({
    ...parts,
    gateOver: (gate) => ({
      batches: () => gate.batches(),
      submit: (bundle) => {
        if (bundle.operations[0]?.kind === 'admit') {
          const before = service.gateway.catalog();
          service.gateway.catalog = () => ({ ...before, ...change(before) });
        }
        return gate.submit(bundle);
      },
    }),
  });
  return service;
}

/** Nothing is sold any more, and no message may wait, run without its client or be tried again. */
const nothingElse = ({ settings }: Catalog): Partial<Catalog> => ({
  models: new Map(),
  groups: new Map(),
  settings: { ...settings, attemptsSeconds: 0, finishStreamsWithoutCallerMax: 0, upstreamSilenceSeconds: 0 },
});

test.each([true, false])('its targets, price and time limits come from one catalog (stream: %s)', async (stream) => {
  const answer: Parts['answer'] = async (model) => {
    if (model === 'first') throw new ProviderFault('failed', 'it fails');
    return stream ? streamOf(EVENTS) : messageReply();
  };
  await using service = await startChanged({ answer }, nothingElse);
  const response = await service.post(await service.makeKey(), { stream });
  expect(await response.text()).toContain('end_turn');
  const cost = 25 * 3_000 + 12 * 15_000;
  const attempts = [{ model: 'first' }, { model: 'second' }];
  expect(await service.records()).toMatchObject([{ outcome: 'completed', cost, attempts }]);
});

test.each([true, false])('so do the limits after a disconnect (stream: %s)', async (stream) => {
  const begun = Promise.withResolvers<void>();
  const disconnected = Promise.withResolvers<void>();
  const answer: Parts['answer'] = async (_, signal) => {
    begun.resolve();
    if (stream) return streamOf(EVENTS, { 2: disconnected.promise }, signal);
    await disconnected.promise;
    return messageReply();
  };
  const settings = { finish_streams_without_caller_max: 1 };
  await using service = await startChanged({ settings, onDisconnect: disconnected.resolve, answer }, nothingElse);
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

test.each([true, false])('nothing is sent to a provider that was removed meanwhile (stream: %s)', async (stream) => {
  const asked: string[] = [];
  const answer: Parts['answer'] = async (model) => {
    asked.push(model);
    return stream ? streamOf(EVENTS) : messageReply();
  };
  await using service = await startChanged({ answer }, () => ({ providers: new Map() }));
  const response = await service.post(await service.makeKey(), { stream });
  await expectError(response, 502, 'api_error', 'upstream_failed');
  expect(asked).toEqual([]);
  expect(await service.records()).toMatchObject([{ outcome: 'failed', cost: 0, attempts: [] }]);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test('an attempt has the address and credential that its provider has when it begins', async () => {
  await using service = await startControlled({ answer: async () => messageReply() });
  const catalog = service.gateway.catalog();
  const scope = { account: 7, keyModels: null, groups: [...catalog.groups.keys()] };
  const [model] = catalog.models.keys();
  const offer = resolveModel(catalog, scope as never, model as string);
  const admitted = { catalog, offer, caller: { account: { id: 7 } } } as never;
  const [listed] = listTargets(catalog, offer, 7) as [Target];
  expect(presentTarget(catalog, admitted, listed)).toBe(listed);
  const providers = new Map(
    [...catalog.providers].map(([name, settings]) => [name, { ...settings, baseUrl: 'http://127.0.0.1:9' }]),
  );
  expect(presentTarget({ ...catalog, providers }, admitted, listed)?.endpoint.baseUrl).toBe('http://127.0.0.1:9');
});
