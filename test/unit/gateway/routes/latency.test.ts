// The choice of the faster of two drawn targets, with a clock that the test moves and draws from a seed.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { hashText } from '../../../../src/base/hash-text.ts';
import { bounds } from '../../../../src/config/config.ts';
import { Conversations } from '../../../../src/gateway/conversations.ts';
import { FirstTokenTime, type Permit, RouteHealth, type Target } from '../../../../src/gateway/route-health.ts';
import { findTargets, orderTargets } from '../../../../src/gateway/targets.ts';
import { type JsonObject, parseMessageRequest } from '../../../../src/wire/wire.ts';
import { catalogOf } from '../../catalog/support.ts';
import { makeTarget } from './make-target.ts';

/** A node that sends streams to targets of given speeds, in virtual time. */
class Streams {
  readonly time = { ms: 1_000_000 };
  readonly health = new RouteHealth(
    () => 5,
    () => this.time.ms,
  );
  readonly speeds: Record<string, number>;
  targets: readonly Target[];
  #waiting: { atMs: number; permit: Permit }[] = [];
  #drawn = 0;

  constructor(targets: readonly Target[], speeds: Record<string, number>) {
    this.targets = targets;
    this.speeds = speeds;
  }

  /** The target of the next stream; its first content arrives when its speed says. */
  send(): string {
    const seed = ++this.#drawn;
    const [target] = orderTargets(this.targets, {
      health: this.health,
      drawOf: (healthKey) => hashText(`draw ${seed} ${healthKey}`),
      kept: null,
      expectedMs: (one) => this.health.expectedFirstTokenMs(one),
    });
    const permit = target === undefined ? null : this.health.enter(target, true);
    if (target === undefined || permit === null) throw new Error('no target');
    this.#waiting.push({ atMs: this.time.ms + (this.speeds[target.healthKey] ?? 0), permit });
    return target.healthKey;
  }

  /** Sends a stream each `everyMs`, and counts them by target. */
  run(streams: number, everyMs: number): Map<string, number> {
    const counts = new Map<string, number>();
    for (let sent = 0; sent < streams; sent++) {
      const name = this.send();
      counts.set(name, (counts.get(name) ?? 0) + 1);
      this.wait(everyMs);
    }
    return counts;
  }

  wait(ms: number): void {
    const untilMs = this.time.ms + ms;
    const due = this.#waiting.filter(({ atMs }) => atMs <= untilMs).sort((one, other) => one.atMs - other.atMs);
    this.#waiting = this.#waiting.filter(({ atMs }) => atMs > untilMs);
    for (const { atMs, permit } of due) {
      this.time.ms = atMs;
      permit.answered(false);
      permit.finish();
    }
    this.time.ms = untilMs;
  }
}

const pair = [makeTarget('a'), makeTarget('b')];
const shareOf = (counts: Map<string, number>, name: string) =>
  (counts.get(name) ?? 0) / [...counts.values()].reduce((sum, count) => sum + count, 0);

describe('streams', () => {
  test('go mostly to the faster of two targets, and the slower one is measured again from time to time', () => {
    const streams = new Streams(pair, { a: 2_000, b: 500 });
    const counts = streams.run(2_000, 250);
    expect(shareOf(counts, 'b')).toBeGreaterThan(0.95);
    expect(counts.get('a')).toBeGreaterThan(2);
  });

  test('go to targets that are about equally fast by weight', () => {
    const uneven = [makeTarget('a', { weight: 3 }), makeTarget('b')];
    const share = shareOf(new Streams(uneven, { a: 550, b: 500 }).run(4_000, 100), 'a');
    expect(share).toBeGreaterThan(0.7);
    expect(share).toBeLessThan(0.8);
  });

  test('follow a change of speed in both directions', () => {
    const streams = new Streams(pair, { a: 400, b: 1_000 });
    expect(shareOf(streams.run(400, 250), 'a')).toBeGreaterThan(0.9);
    streams.speeds['a'] = 4_000;
    streams.run(320, 250); // 80 s: one stream adds little to the mean
    expect(shareOf(streams.run(400, 250), 'b')).toBeGreaterThan(0.9);
    streams.speeds['a'] = 400;
    streams.run(1_600, 250); // 400 s: the slower a target was, the later it is measured again
    expect(shareOf(streams.run(400, 250), 'a')).toBeGreaterThan(0.9);
  });

  test('do not all go to a target that is new or has recovered: one at a time measures it', () => {
    const streams = new Streams(pair, { a: 500, b: 500, new: 60_000 });
    streams.run(200, 250);
    streams.targets = [...pair, makeTarget('new')];
    const trialMs = bounds.firstTokenTrialMs;
    for (let trial = 0; trial < 5; trial++) expect(streams.run(trialMs / 10, 10).get('new')).toBe(1); // none of them is answered yet
    streams.targets = pair;
    streams.speeds['a'] = 20_000;
    streams.run(400, 250);
    streams.speeds['a'] = 5_000;
    for (let second = 0; second < 600; second++) expect(streams.run(100, 10).get('a') ?? 0).toBeLessThanOrEqual(1); // also when it is expected to be the faster one
  });

  test('share three targets so that none but the slowest is left out', () => {
    const three = [...pair, makeTarget('c')];
    const counts = new Streams(three, { a: 300, b: 600, c: 3_000 }).run(6_000, 50);
    expect(shareOf(counts, 'a')).toBeGreaterThan(0.6); // in two of three draws of two
    expect(shareOf(counts, 'b')).toBeGreaterThan(0.25);
    expect(shareOf(counts, 'c')).toBeLessThan(0.05);
  });
});

describe('the order', () => {
  const names = ['a', 'b', 'c', 'd', 'e'];
  const targetOf = fc.record({ priority: fc.nat(2), weight: fc.nat(3) });

  test('is always a permutation of all targets, and differs from the draw at most in its first two', () => {
    fc.assert(
      fc.property(
        fc.array(targetOf, { maxLength: names.length }),
        fc.array(fc.oneof(fc.nat(5_000), fc.constant(Number.NaN), fc.constant(Number.POSITIVE_INFINITY)), {
          minLength: names.length,
          maxLength: names.length,
        }),
        fc.array(fc.constantFrom('ready', 'open', 'resting', 'full'), { minLength: 5, maxLength: 5 }),
        fc.option(fc.constantFrom(...names)),
        fc.integer(),
        (given, times, states, kept, seed) => {
          const targets = given.map((bounds, at) => makeTarget(names[at] ?? '', bounds));
          const at = ({ healthKey }: Target) => names.indexOf(healthKey);
          const inputs = {
            health: { breakerState: (one: Target) => states[at(one)] ?? 'ready', waitMs: (one: Target) => at(one) },
            drawOf: (healthKey: string) => hashText(`${seed} ${healthKey}`),
            kept,
          };
          const drawn = orderTargets(targets, inputs);
          const chosen = orderTargets(targets, { ...inputs, expectedMs: (one) => times[at(one)] ?? 0 });
          expect(new Set(chosen)).toEqual(new Set(targets));
          expect(chosen.length).toBe(targets.length);
          expect(chosen.slice(2)).toEqual(drawn.slice(2));
          const [first, second] = chosen;
          const isKept = drawn[0]?.healthKey === kept;
          if (first === drawn[0] || second === undefined) return;
          expect(isKept).toBe(false);
          expect(first?.route.priority).toBe(second.route.priority);
          expect(inputs.health.breakerState(first as Target)).toBe('ready');
        },
      ),
    );
  });

  test('leaves spare routes and better priorities where they are, however fast', () => {
    const from = [makeTarget('a'), makeTarget('spare', { weight: 0 }), makeTarget('later', { priority: 1 })];
    const health = { breakerState: () => 'ready' as const, waitMs: () => 0 };
    const expectedMs = ({ healthKey }: Target) => (healthKey === 'a' ? 9_000 : 1);
    const order = orderTargets(from, { health, drawOf: () => 0.5, kept: null, expectedMs });
    expect(order.map(({ healthKey }) => healthKey)).toEqual(['a', 'spare', 'later']);
  });
});

describe('a mean', () => {
  test('counts the first measurements equally, and later ones by the time since the one before', () => {
    const time = new FirstTokenTime();
    time.measured(100, 0);
    time.measured(300, 0);
    time.measured(200, 0);
    expect(time.meanMs).toBeCloseTo(200);
    time.measured(500, bounds.firstTokenDecayMs * 20);
    expect(time.meanMs).toBeCloseTo(500);
  });

  test('grows by a bound with each measurement, so that one long prompt does not move the others', () => {
    const time = new FirstTokenTime();
    time.measured(100, 0);
    time.measured(60_000, bounds.firstTokenDecayMs * 20);
    expect(time.meanMs).toBeCloseTo(100 * bounds.firstTokenGrowthMax);
  });

  test('is expected for the time of a trial, falls while nothing is measured, and stays within its measurements', () => {
    const time = new FirstTokenTime();
    expect(time.expectedMs(0)).toBe(0);
    time.began(0);
    expect(time.expectedMs(bounds.firstTokenTrialMs - 1)).toBe(Number.POSITIVE_INFINITY);
    expect(time.expectedMs(bounds.firstTokenTrialMs)).toBe(0);
    time.measured(1_000, bounds.firstTokenTrialMs);
    const later = bounds.firstTokenTrialMs + bounds.firstTokenDecayMs;
    expect(time.expectedMs(later)).toBeCloseTo(1_000 / Math.E);
    time.began(later);
    expect(time.expectedMs(later + 1)).toBe(1_000);
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(60_000), fc.nat(300_000)), { minLength: 1 }), (measured) => {
        const one = new FirstTokenTime();
        let nowMs = 0;
        for (const [ms, passedMs] of measured) {
          nowMs += passedMs;
          one.measured(ms, nowMs);
        }
        const all = measured.map(([ms]) => ms);
        expect(one.meanMs).toBeGreaterThanOrEqual(Math.min(...all) - 1e-6);
        expect(one.meanMs).toBeLessThanOrEqual(Math.max(...all) + 1e-6);
      }),
    );
  });
});

describe('a model that prefers latency', () => {
  const modelOf = (prefer?: string) =>
    catalogOf({
      providers: { a: { kind: 'anthropic', api_key: 'a' }, b: { kind: 'anthropic', api_key: 'b' } },
      models: {
        m: {
          price: { input: '1', output: '2' },
          routes: [{ provider: 'a' }, { provider: 'b' }],
          ...(prefer && { prefer }),
        },
      },
      groups: { default: { models: ['*'] } },
    });
  const requestOf = (body: JsonObject) =>
    parseMessageRequest(
      new TextEncoder().encode(
        JSON.stringify({
          model: 'm',
          max_tokens: 9,
          stream: true,
          messages: [{ role: 'user', content: 'x' }],
          ...body,
        }),
      ),
    );

  /** The provider of a first turn that the draw gives to `a`, where `b` is known to be faster. */
  function chooser(prefer?: string) {
    const catalog = modelOf(prefer);
    const [model, group] = [catalog.models.get('m'), catalog.groups.get('default')];
    if (model === undefined || group === undefined) throw new Error('not in the catalog');
    const time = { ms: 0 };
    const health = new RouteHealth(
      () => 5,
      () => time.ms,
    );
    let drawn = 0;
    const conversations = new Conversations(() => (drawn++ % 2 === 0 ? 0.1 : 0.9));
    const find = (body: JsonObject = {}) => {
      const request = requestOf(body);
      const offer = { model, group, routes: model.routes };
      return findTargets({ health, conversations }, catalog, { account: 1, key: 1, offer, request });
    };
    for (const target of find().targets) {
      const permit = health.enter(target, true);
      time.ms += target.route.provider === 'a' ? 3_000 : 200;
      permit?.answered(false);
      permit?.finish();
    }
    return find;
  }
  const firstOf = ({ targets }: ReturnType<ReturnType<typeof chooser>>) => targets[0]?.route.provider;

  test('uses the faster target, also for whole answers; by default the draw decides', () => {
    expect(firstOf(chooser('latency')())).toBe('b');
    expect(firstOf(chooser('latency')({ stream: false }))).toBe('b');
    expect(firstOf(chooser()())).toBe('a');
    expect(firstOf(chooser('weight')())).toBe('a');
  });

  test('keeps a conversation at its target, however slow it is', () => {
    const find = chooser('latency');
    const opened = find({ metadata: { user_id: 'session' } });
    const slow = opened.targets.find(({ route }) => route.provider === 'a');
    if (slow === undefined) throw new Error('no target');
    opened.conversation?.keep(slow);
    expect(firstOf(find({ metadata: { user_id: 'session' } }))).toBe('a');
  });

  test('draws conversations that may not lose their thinking, so that every node finds the same target', () => {
    const find = chooser('latency');
    const draw = chooser();
    for (let session = 0; session < 20; session++) {
      const body = { metadata: { user_id: `${session}` }, thinking: { type: 'adaptive', block_binding: {} } };
      expect(firstOf(find(body))).toBe(firstOf(draw(body)) as string);
    }
  });

  test('does not try unknown targets with whole answers, which would not measure them', () => {
    const never = new RouteHealth(() => 5);
    const [a] = pair;
    expect(never.meanFirstTokenMs(a as Target)).toBeNaN();
    expect(never.expectedFirstTokenMs(a as Target)).toBe(0);
  });
});
