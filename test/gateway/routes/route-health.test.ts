// How a way's health follows what happens on it: circuits, rests and bounds, by a clock that is moved by hand.

import { expect, test } from 'bun:test';
import { bounds } from '../../../src/config.ts';
import { type Candidate, RouteHealth } from '../../../src/gateway/routes/routes.ts';
import { ProviderFault } from '../../../src/providers/providers.ts';
import { makeCandidate } from './make-candidate.ts';

const FAILURES_MAX = 3;

function begin() {
  const time = { ms: 1_000_000 };
  const health = new RouteHealth(
    () => FAILURES_MAX,
    () => time.ms,
  );
  return { health, time };
}

function enter(health: RouteHealth, candidate: Candidate) {
  const passage = health.enter(candidate);
  if (passage === null) throw new Error('there was no way in');
  return passage;
}

function fail(health: RouteHealth, candidate: Candidate, times: number): void {
  for (let time = 0; time < times; time++) enter(health, candidate).failed('failed', null);
}

const a = makeCandidate('a');

test('a circuit opens after so many failures in a row, and not by failures between which one went well', () => {
  const { health } = begin();
  fail(health, a, FAILURES_MAX - 1);
  const passage = enter(health, a);
  passage.answered(true);
  passage.finish();
  fail(health, a, FAILURES_MAX - 1);
  expect(health.standing(a)).toBe('ready');
  fail(health, a, 1);
  expect(health.standing(a)).toBe('open');
});

test('what the content was refused for, and what we broke off, opens nothing', () => {
  const { health } = begin();
  for (let time = 0; time < 20; time++) {
    enter(health, a).failed('rejected', null);
    enter(health, a).failed('aborted', null);
  }
  expect(health.standing(a)).toBe('ready');
});

test('answers that break off in their midst open it as well', () => {
  const { health } = begin();
  for (let time = 0; time < FAILURES_MAX; time++) {
    const passage = enter(health, a);
    passage.answered(false);
    passage.failed('failed', null);
  }
  expect(health.standing(a)).toBe('open');
});

test('half open, one message finds out; the others go on passing it by', () => {
  const { health, time } = begin();
  fail(health, a, FAILURES_MAX);
  time.ms += bounds.circuitOpenMs - 1;
  expect(health.standing(a)).toBe('open');
  time.ms += 1;
  expect(health.standing(a)).toBe('ready');
  const probe = enter(health, a);
  expect(health.standing(a)).toBe('open');
  expect(health.list()[0]?.state).toBe('half_open');
  probe.answered(false);
  expect(health.standing(a)).toBe('ready');
  expect(health.list()[0]?.state).toBe('ready');
  probe.finish();
});

test('a probe that fails keeps it open, twice as long each time, with a bound', () => {
  const { health, time } = begin();
  fail(health, a, FAILURES_MAX);
  for (let round = 1; round < 40; round++) {
    time.ms += bounds.circuitOpenMsMax;
    fail(health, a, 1);
    expect(health.waitMs(a)).toBe(Math.min(bounds.circuitOpenMs * 2 ** round, bounds.circuitOpenMsMax));
  }
});

test('a probe that says nothing, as one that its caller left, leaves the question to the next', () => {
  const { health, time } = begin();
  fail(health, a, FAILURES_MAX);
  time.ms += bounds.circuitOpenMs;
  enter(health, a).failed('aborted', null);
  expect(health.standing(a)).toBe('ready');
  enter(health, a).finish();
  expect(health.standing(a)).toBe('ready');
});

test('what is tried though its circuit is open does not keep it open longer, and closes it when it goes well', () => {
  const { health } = begin();
  fail(health, a, FAILURES_MAX);
  const waitMs = health.waitMs(a);
  fail(health, a, 5);
  expect(health.waitMs(a)).toBe(waitMs);
  enter(health, a).answered(true);
  expect(health.standing(a)).toBe('ready');
});

test('who told us to wait rests so long, is asked by one at most, and is no failure', () => {
  const { health, time } = begin();
  enter(health, a).failed('rate_limited', 7_000);
  expect(health.standing(a)).toBe('resting');
  expect(health.waitMs(a)).toBe(7_000);
  const only = enter(health, a);
  expect(health.enter(a)).toBeNull();
  only.failed('rate_limited', 9_000);
  expect(health.waitMs(a)).toBe(9_000);
  time.ms += 9_000;
  expect(health.standing(a)).toBe('ready');
  expect(health.list()[0]?.failuresInARow).toBe(0);
});

test('an answer to who asked before does not end a rest; one to who asked in it does', () => {
  const { health } = begin();
  const before = enter(health, a);
  enter(health, a).failed('overloaded', 7_000);
  before.answered(true);
  before.finish();
  expect(health.standing(a)).toBe('resting');
  enter(health, a).answered(true);
  expect(health.standing(a)).toBe('ready');
});

test('no rest is longer than its bound, whatever a provider says', () => {
  const { health } = begin();
  enter(health, a).failed('rate_limited', 10 ** 12);
  expect(health.waitMs(a)).toBe(bounds.credentialRestMsMax);
});

test('a route carries as many messages as it may, whichever of its credentials they show', () => {
  const { health } = begin();
  const first = { ...makeCandidate('p', { concurrency: 2 }, 'one'), target: 'p one' };
  const second = { ...makeCandidate('p', { concurrency: 2 }, 'two'), target: 'p two' };
  const passages = [enter(health, first), enter(health, second)];
  expect(health.standing(first)).toBe('full');
  expect(health.enter(second)).toBeNull();
  passages[0]?.finish();
  passages[0]?.finish();
  expect(health.standing(second)).toBe('ready');
  passages.push(enter(health, second));
  expect(health.enter(first)).toBeNull();
  for (const passage of passages) passage.finish();
  expect(health.list().map(({ inFlight }) => inFlight)).toEqual([0, 0]);
});

test('a passage counts once, however often it is finished', () => {
  const { health } = begin();
  const passage = enter(health, a);
  passage.failed('failed', null);
  passage.failed('failed', null);
  passage.finish();
  passage.answered(true);
  expect(health.list()).toMatchObject([{ failuresInARow: 1, inFlight: 0, lastFailure: { kind: 'failed' } }]);
});

test('another credential begins anew', () => {
  const { health } = begin();
  const [old, fresh] = ['old', 'new'].map((secret) => makeCandidate('p', {}, secret)) as [Candidate, Candidate];
  fail(health, old, FAILURES_MAX);
  expect(health.standing(old)).toBe('open');
  expect(health.standing(fresh)).toBe('ready');
  const passage = enter(health, fresh);
  expect(health.list()).toHaveLength(1);
  passage.failed(new ProviderFault('credentials', 'no').kind, null);
  expect(health.standing(fresh)).toBe('ready');
});

test('what is shown holds no credential', () => {
  const { health } = begin();
  fail(health, makeCandidate('p', {}, 'sk-hidden'), FAILURES_MAX);
  expect(JSON.stringify(health.list())).not.toContain('sk-hidden');
});

test('one that found out is the probe no more: its end leaves the next probe alone, and its break-off is no failed probe', () => {
  const { health, time } = begin();
  fail(health, a, FAILURES_MAX);
  time.ms += bounds.circuitOpenMs;
  const earlier = [enter(health, a), enter(health, a)];
  earlier[0]?.answered(false);
  fail(health, a, FAILURES_MAX); // it is open again
  time.ms += bounds.circuitOpenMs;
  const probe = enter(health, a);
  earlier[0]?.finish();
  expect(health.standing(a)).toBe('open');
  probe.finish();
  const waits = health.waitMs(a);
  earlier[1]?.failed('failed', null);
  expect(health.waitMs(a)).toBe(waits);
});

test('an answer to who found out about a circuit does not end a rest that began meanwhile', () => {
  const { health, time } = begin();
  const other = enter(health, a);
  fail(health, a, FAILURES_MAX);
  time.ms += bounds.circuitOpenMs;
  const probe = enter(health, a);
  other.failed('rate_limited', 7_000);
  probe.answered(true);
  expect(health.standing(a)).toBe('resting');
});

test('who is told again and again to wait is asked ever more seldom, and anew when it has rested', () => {
  const { health, time } = begin();
  const REST_MS = 600_000;
  const askInVain = () => {
    const passage = health.enter(a);
    passage?.failed('rate_limited', REST_MS);
    return passage !== null;
  };
  for (let time = 0; time <= bounds.restAsksMax; time++) expect(askInVain()).toBe(true);
  let asked = 0;
  for (let second = 0; second < 60; second++) {
    time.ms += 1_000;
    if (askInVain()) asked++;
  }
  expect(asked).toBe(5); // after 1, 2, 4, 8 and 16 seconds
  time.ms += REST_MS;
  expect(askInVain()).toBe(true);
  expect(askInVain()).toBe(true);
});

test('at another address it begins anew', () => {
  const { health } = begin();
  fail(health, a, FAILURES_MAX);
  expect(health.standing({ ...a, settings: { ...a.settings, baseUrl: 'https://elsewhere' } })).toBe('ready');
});

test('of so many ways the health is known; what is idle and well is forgotten before what is not', () => {
  const { health } = begin();
  fail(health, a, FAILURES_MAX);
  const running = enter(health, makeCandidate('running'));
  for (let place = 0; place < bounds.routeTargetsMax; place++) enter(health, makeCandidate(`p${place}`)).finish();
  expect(health.list().length).toBeLessThanOrEqual(bounds.routeTargetsMax);
  expect(health.standing(a)).toBe('open');
  expect(health.list().find(({ provider }) => provider === 'running')?.inFlight).toBe(1);
  running.finish();
  for (let place = 0; place < 2 * bounds.routeTargetsMax; place++) fail(health, makeCandidate(`q${place}`), 1);
  expect(health.list().length).toBeLessThanOrEqual(bounds.routeTargetsMax);
});
