// One attempt at one target: the request that its provider gets, and what remains of it when it was stopped or failed.

import { expect, test } from 'bun:test';
import type { Gateway } from '../../../src/gateway/dependencies.ts';
import { OpenAttempt } from '../../../src/gateway/open-attempt.ts';
import type { AdmittedRequest } from '../../../src/gateway/plan-message.ts';
import { RouteHealth } from '../../../src/gateway/route-health.ts';
import { RunningMessages } from '../../../src/gateway/running-messages.ts';
import { SilenceWatch, SilenceWatches, type WatchEvent } from '../../../src/gateway/silence-watch.ts';
import { type Attempt, type Provider, ProviderFault, type WholeReply } from '../../../src/providers/providers.ts';
import { Estimates } from '../../../src/usage/usage.ts';
import { type JsonObject, type MessageRequest, makeEvent, parseMessageRequest } from '../../../src/wire/wire.ts';
import { makeTarget } from './routes/make-target.ts';

const BOUNDS = { firstMs: 60_000, silenceMs: 60_000, totalMs: 3_600_000, clientMs: 3_600_000, slowMs: 5_000 };
const message = { type: 'message', content: [], stop_reason: 'end_turn', usage: { output_tokens: 3 } };
const REPLY: WholeReply = { form: 'message', message, text: '{}', upstreamRequestId: 'up_1' };

interface Terms {
  provider?: Partial<Provider>;
  kind?: string;
  isStream?: boolean;
  cacheWrites?: '5m' | '1h';
}

function open({ provider = {}, kind = 'anthropic', isStream = false, cacheWrites = '5m' }: Terms = {}) {
  const target = makeTarget('p');
  const health = new RouteHealth(() => 5);
  const running = new RunningMessages();
  const known = { kind, submit: async () => REPLY, countTokens: async () => null, countLocally: () => null };
  const gateway = {
    providers: new Map([[kind, { ...known, ...provider }]]),
    estimates: new Estimates(),
    clock: { nowMs: () => 1_000 },
    running,
    canConnect: async () => false,
    counting: { takeAfterEnd: () => false },
    waits: { recountPausesMs: [] },
  } as unknown as Gateway; // the parts that an attempt uses
  const admitted = {
    clientRequest: { requestId: 'req_1', receivedAtMs: 400, version: null, betas: null, selectors: null },
    caller: { account: { id: 1 } },
    catalog: { settings: { upstreamConnectSeconds: 1, hiddenFromAccounts: [] } },
    offer: { model: { name: 'm' } },
    plan: {
      sound: null,
      compacted: null,
      thinks: false,
      firstCase: { cacheWrites },
      inputEstimate: 5,
      measure: { textBytes: 1 },
    },
    isStream,
    maxTokens: 10,
  } as unknown as AdmittedRequest;
  const seen: WatchEvent[] = [];
  const watch = new SilenceWatch(new SilenceWatches(), BOUNDS, (event) => seen.push(event));
  const permit = health.enter(target);
  if (permit === null) throw new Error('the target is free');
  const settings = { ...target.settings, kind };
  return { attempt: new OpenAttempt(gateway, admitted, { ...target, settings }, permit, watch), health, running };
}

function requestOf(members: JsonObject = {}): MessageRequest {
  const body = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'hi' }], ...members };
  return parseMessageRequest(Buffer.from(JSON.stringify(body)));
}

const begin = (usage: JsonObject) => makeEvent({ type: 'message_start', message: { usage } });

test('the provider gets the request, without fields that it does not know, and gives its id', async () => {
  const sent: Attempt[] = [];
  const submit = async (request: Attempt) => {
    sent.push(request);
    return REPLY;
  };
  const { attempt } = open({ kind: 'openai', provider: { submit } });
  expect(await attempt.send(requestOf({ unheard_of: 1 }), null)).toBe(REPLY);
  expect(sent).toMatchObject([{ upstreamModel: 'm', maxTokens: 10, extra: {} }]);
  expect(attempt.leftOut).toEqual(['unheard_of']);
  expect(attempt.upstreamRequestId).toBe('up_1');
});

test('embeddings are asked of a provider that has them, and refused by another', async () => {
  const request = { ...requestOf(), protocol: 'embeddings' as const };
  const embed = async () => ({ ...REPLY, text: 'vectors' });
  expect(await open({ provider: { uses: { embeddings: embed } } }).attempt.send(request, null)).toMatchObject({
    text: 'vectors',
  });
  await expect(open().attempt.send(request, null)).rejects.toMatchObject({ kind: 'rejected', status: 400 });
});

test('an answer in a form that was not requested is a failure', async () => {
  await expect(open({ isStream: true }).attempt.send(requestOf(), null)).rejects.toMatchObject({ kind: 'failed' });
});

test.each([
  ['1h', true, '1h'],
  ['1h', false, '5m'],
  ['5m', true, '5m'],
] as const)(
  'cache writes without a lifetime: %s requested, kept by the provider: %s, count as %s',
  (cacheWrites, keeps, counted) => {
    const { attempt } = open({ cacheWrites, provider: { keepsCacheLifetimes: () => keeps } });
    attempt.see([begin({ input_tokens: 1, output_tokens: 0, cache_creation_input_tokens: 7 })]);
    const { cacheWrite1h, cacheWrite5m } = attempt.estimate().counts;
    expect([cacheWrite1h, cacheWrite5m]).toEqual(counted === '1h' ? [7, 0] : [0, 7]);
  },
);

test.each([
  ['anthropic', true],
  ['openai', false],
])('a refusal before any output is not billed by the kind %s: %s', (kind, isUnbilled) => {
  const { attempt } = open({ kind });
  attempt.see([begin({ input_tokens: 1, output_tokens: 0 })]);
  expect(attempt.isUnbilled).toBe(false);
  attempt.see([makeEvent({ type: 'message_delta', delta: { stop_reason: 'refusal' }, usage: { output_tokens: 0 } })]);
  expect(attempt.isUnbilled).toBe(isUnbilled);
});

test('it is stopped for the first reason, but a time limit gives way to any other', () => {
  const { attempt } = open();
  attempt.onLate(true);
  expect([attempt.stopReason, attempt.isOverlong]).toEqual(['timeout', true]);
  attempt.stop('draining');
  attempt.stop('money');
  expect(attempt.stopReason).toBe('draining');
});

test('a host without a connection ends it by a time limit, until it has been decided', async () => {
  const { attempt } = open();
  await attempt.checkConnection();
  expect(attempt.stopReason).toBe('timeout');
  expect(attempt.faultOf(null, true)).toMatchObject({
    kind: 'timeout',
    message: 'no connection within the time limit',
  });
  const { attempt: answered } = open();
  answered.answered(requestOf());
  await answered.checkConnection();
  expect(answered.stopReason).toBeNull();
  const { attempt: begun } = open();
  begun.see([begin({ input_tokens: 1, output_tokens: 0 })]);
  await begun.checkConnection();
  expect(begun.stopReason).toBeNull();
});

test('a failed attempt is discarded with its counts, its reason and its prompt, and has finished its permit', async () => {
  const { attempt, health, running } = open();
  await attempt.takeMessage(requestOf(), REPLY);
  attempt.noteFirstToken();
  expect([attempt.firstTokenMs, running.uncountedPrompts.taken > 0]).toEqual([600, true]);
  attempt.onLate(false);
  attempt.failed(new ProviderFault('timeout', 'late', { upstreamRequestId: 'up_2' }));
  attempt.discard();
  expect([attempt.stopReason, attempt.firstTokenMs, attempt.made, attempt.counter.started]).toEqual([
    null,
    null,
    null,
    false,
  ]);
  expect(running.uncountedPrompts.taken).toBe(0);
  expect(attempt.upstreamRequestId).toBe('up_2');
  expect(health.list()).toMatchObject([{ inFlight: 0, failuresInARow: 1 }]);
});

test('an answer that begins after its message has ended keeps nothing', () => {
  const { attempt, health, running } = open();
  attempt.finish(null);
  attempt.answered(requestOf());
  expect([attempt.uncountedPrompt, running.uncountedPrompts.taken]).toEqual([null, 0]);
  expect(health.list()).toMatchObject([{ inFlight: 0, failuresInARow: 0 }]);
});

test('an answer that its provider broke off counts as a failure of the target', () => {
  for (const cut of ['timeout', 'failed'] as const) {
    const { attempt, health } = open();
    attempt.answered(requestOf());
    attempt.finish(cut);
    expect(health.list()).toMatchObject([{ failuresInARow: 1, lastFailure: { kind: cut } }]);
  }
});

test('what a provider throws is a fault: its own as it is, anything else a failure', () => {
  const { attempt } = open();
  const fault = new ProviderFault('overloaded', 'busy');
  expect(attempt.faultOf(fault, false)).toBe(fault);
  expect(attempt.faultOf(new TypeError('odd'), false)).toMatchObject({ kind: 'failed' });
  expect(attempt.faultOf(fault, true)).toMatchObject({ kind: 'timeout', message: 'no response within the time limit' });
});
