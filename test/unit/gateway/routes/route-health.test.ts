// How the health of a target follows from its attempts: circuit breakers, cooldowns and concurrency limits, with a
// clock that the test moves.

import { expect, test } from 'bun:test';
import { bounds } from '../../../../src/config/config.ts';
import { LiveSecret } from '../../../../src/credentials/live-secret.ts';
import { RouteHealth, type Target } from '../../../../src/gateway/route-health.ts';
import { ProviderFault } from '../../../../src/providers/providers.ts';
import { makeTarget } from './make-target.ts';

const FAILURES_MAX = 3;

function begin() {
  const time = { ms: 1_000_000 };
  const health = new RouteHealth(
    () => FAILURES_MAX,
    () => time.ms,
  );
  return { health, time };
}

function enter(health: RouteHealth, target: Target) {
  const permit = health.enter(target);
  if (permit === null) throw new Error('no permit was given');
  return permit;
}

function fail(health: RouteHealth, target: Target, times: number): void {
  for (let time = 0; time < times; time++) enter(health, target).failed('failed', null);
}

const a = makeTarget('a');

test('a circuit opens after consecutive failures; a success in between resets the count', () => {
  const { health } = begin();
  fail(health, a, FAILURES_MAX - 1);
  const permit = enter(health, a);
  permit.answered(true);
  permit.finish();
  fail(health, a, FAILURES_MAX - 1);
  expect(health.breakerState(a)).toBe('ready');
  fail(health, a, 1);
  expect(health.breakerState(a)).toBe('open');
});

test('rejected content and aborted requests do not open a circuit', () => {
  const { health } = begin();
  for (let time = 0; time < 20; time++) {
    enter(health, a).failed('rejected', null);
    enter(health, a).failed('aborted', null);
  }
  expect(health.breakerState(a)).toBe('ready');
});

test('responses that break off midway open a circuit', () => {
  const { health } = begin();
  for (let time = 0; time < FAILURES_MAX; time++) {
    const permit = enter(health, a);
    permit.answered(false);
    permit.failed('failed', null);
  }
  expect(health.breakerState(a)).toBe('open');
});

test('a half-open circuit admits one probe; other messages skip it', () => {
  const { health, time } = begin();
  fail(health, a, FAILURES_MAX);
  time.ms += bounds.circuitOpenMs - 1;
  expect(health.breakerState(a)).toBe('open');
  time.ms += 1;
  expect(health.breakerState(a)).toBe('ready');
  const probe = enter(health, a);
  expect(health.breakerState(a)).toBe('open');
  expect(health.list()[0]?.state).toBe('half_open');
  probe.answered(false);
  expect(health.breakerState(a)).toBe('ready');
  expect(health.list()[0]?.state).toBe('ready');
  probe.finish();
});

test('a failed probe keeps the circuit open for twice as long each time, up to a bound', () => {
  const { health, time } = begin();
  fail(health, a, FAILURES_MAX);
  for (let round = 1; round < 40; round++) {
    time.ms += bounds.circuitOpenMsMax;
    fail(health, a, 1);
    expect(health.waitMs(a)).toBe(Math.min(bounds.circuitOpenMs * 2 ** round, bounds.circuitOpenMsMax));
  }
});

test('an inconclusive probe leaves the decision to the next one', () => {
  const { health, time } = begin();
  fail(health, a, FAILURES_MAX);
  time.ms += bounds.circuitOpenMs;
  enter(health, a).failed('aborted', null);
  expect(health.breakerState(a)).toBe('ready');
  enter(health, a).finish();
  expect(health.breakerState(a)).toBe('ready');
});

test('an attempt on an open circuit does not extend its open time, and closes it on success', () => {
  const { health } = begin();
  fail(health, a, FAILURES_MAX);
  const waitMs = health.waitMs(a);
  fail(health, a, 5);
  expect(health.waitMs(a)).toBe(waitMs);
  enter(health, a).answered(true);
  expect(health.breakerState(a)).toBe('ready');
});

test('a provider’s retry-after causes a cooldown with one probe at a time and does not count as a failure', () => {
  const { health, time } = begin();
  enter(health, a).failed('rate_limited', 7_000);
  expect(health.breakerState(a)).toBe('resting');
  expect(health.waitMs(a)).toBe(7_000);
  const only = enter(health, a);
  expect(health.enter(a)).toBeNull();
  only.failed('rate_limited', 9_000);
  expect(health.waitMs(a)).toBe(9_000);
  time.ms += 9_000;
  expect(health.breakerState(a)).toBe('ready');
  expect(health.list()[0]?.failuresInARow).toBe(0);
});

test('only a response to a request made during the cooldown ends it', () => {
  const { health } = begin();
  const before = enter(health, a);
  enter(health, a).failed('overloaded', 7_000);
  before.answered(true);
  before.finish();
  expect(health.breakerState(a)).toBe('resting');
  enter(health, a).answered(true);
  expect(health.breakerState(a)).toBe('ready');
});

test('a cooldown is bounded, whatever the provider says', () => {
  const { health } = begin();
  enter(health, a).failed('rate_limited', 10 ** 12);
  expect(health.waitMs(a)).toBe(bounds.credentialCooldownMsMax);
});

test('a route’s concurrency limit counts all of its credentials', () => {
  const { health } = begin();
  const first = { ...makeTarget('p', { concurrency: 2 }, 'one'), healthKey: 'p one' };
  const second = { ...makeTarget('p', { concurrency: 2 }, 'two'), healthKey: 'p two' };
  const permits = [enter(health, first), enter(health, second)];
  expect(health.breakerState(first)).toBe('full');
  expect(health.enter(second)).toBeNull();
  permits[0]?.finish();
  permits[0]?.finish();
  expect(health.breakerState(second)).toBe('ready');
  permits.push(enter(health, second));
  expect(health.enter(first)).toBeNull();
  for (const permit of permits) permit.finish();
  expect(health.list().map(({ inFlight }) => inFlight)).toEqual([0, 0]);
});

test('a permit is released once, however often it is finished', () => {
  const { health } = begin();
  const permit = enter(health, a);
  permit.failed('failed', null);
  permit.failed('failed', null);
  permit.finish();
  permit.answered(true);
  expect(health.list()).toMatchObject([{ failuresInARow: 1, inFlight: 0, lastFailure: { kind: 'failed' } }]);
});

test('a changed credential resets the state', () => {
  const { health } = begin();
  const [old, fresh] = ['old', 'new'].map((secret) => makeTarget('p', {}, secret)) as [Target, Target];
  fail(health, old, FAILURES_MAX);
  expect(health.breakerState(old)).toBe('open');
  expect(health.breakerState(fresh)).toBe('ready');
  const permit = enter(health, fresh);
  expect(health.list()).toHaveLength(1);
  permit.failed(new ProviderFault('credentials', 'no').kind, null);
  expect(health.breakerState(fresh)).toBe('ready');
});

test('a refreshed token of the same identity does not reset the state, and one that is not loaded yet can be tracked', async () => {
  const { health } = begin();
  const texts = ['first', 'second'];
  const secret = new LiveSecret({
    load: async () => ({ text: texts.shift() ?? '', use: 'bearer', expiresAtMs: null, rereadMs: null }),
    timer: { nowMs: () => 0, after: () => () => undefined },
    stopped: new AbortController().signal,
    onState: () => undefined,
  });
  const credential = { name: 'default', secret, account: null, group: null };
  const target = { ...makeTarget('live'), credential };
  fail(health, target, FAILURES_MAX);
  expect(health.breakerState(target)).toBe('open');
  await secret.ready();
  await secret.reread();
  expect(secret.reveal()).toBe('second');
  expect(health.breakerState(target)).toBe('open');
});

test('the listed health contains no secret', () => {
  const { health } = begin();
  fail(health, makeTarget('p', {}, 'sk-hidden'), FAILURES_MAX);
  expect(JSON.stringify(health.list())).not.toContain('sk-hidden');
});

test('a probe ends with its response: a later failure of the same message does not affect the next probe', () => {
  const { health, time } = begin();
  fail(health, a, FAILURES_MAX);
  time.ms += bounds.circuitOpenMs;
  const earlier = [enter(health, a), enter(health, a)];
  earlier[0]?.answered(false);
  fail(health, a, FAILURES_MAX); // it is open again
  time.ms += bounds.circuitOpenMs;
  const probe = enter(health, a);
  earlier[0]?.finish();
  expect(health.breakerState(a)).toBe('open');
  probe.finish();
  const waits = health.waitMs(a);
  earlier[1]?.failed('failed', null);
  expect(health.waitMs(a)).toBe(waits);
});

test('a response to a probe does not end a cooldown that began meanwhile', () => {
  const { health, time } = begin();
  const other = enter(health, a);
  fail(health, a, FAILURES_MAX);
  time.ms += bounds.circuitOpenMs;
  const probe = enter(health, a);
  other.failed('rate_limited', 7_000);
  probe.answered(true);
  expect(health.breakerState(a)).toBe('resting');
});

test('repeated retry-after responses make probes less frequent, until the cooldown ends', () => {
  const { health, time } = begin();
  const REST_MS = 600_000;
  const askInVain = () => {
    const permit = health.enter(a);
    permit?.failed('rate_limited', REST_MS);
    return permit !== null;
  };
  for (let time = 0; time <= bounds.cooldownProbesMax; time++) expect(askInVain()).toBe(true);
  let admissionRequest = 0;
  for (let second = 0; second < 60; second++) {
    time.ms += 1_000;
    if (askInVain()) admissionRequest++;
  }
  expect(admissionRequest).toBe(5); // the probes are after 1, 2, 4, 8 and 16 seconds
  time.ms += REST_MS;
  expect(askInVain()).toBe(true);
  expect(askInVain()).toBe(true);
});

test('a changed address resets the state', () => {
  const { health } = begin();
  fail(health, a, FAILURES_MAX);
  expect(health.breakerState({ ...a, settings: { ...a.settings, baseUrl: 'https://elsewhere' } })).toBe('ready');
});

test('the number of tracked targets is bounded; idle and healthy ones are evicted first', () => {
  const { health } = begin();
  fail(health, a, FAILURES_MAX);
  const running = enter(health, makeTarget('running'));
  for (let place = 0; place < bounds.routeTargetsMax; place++) enter(health, makeTarget(`p${place}`)).finish();
  expect(health.list().length).toBeLessThanOrEqual(bounds.routeTargetsMax);
  expect(health.breakerState(a)).toBe('open');
  expect(health.list().find(({ provider }) => provider === 'running')?.inFlight).toBe(1);
  running.finish();
  for (let place = 0; place < 2 * bounds.routeTargetsMax; place++) fail(health, makeTarget(`q${place}`), 1);
  expect(health.list().length).toBeLessThanOrEqual(bounds.routeTargetsMax);
});
