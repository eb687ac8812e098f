// The types of events: their names, their documentation, who may have them, and patterns of them.

import { describe, expect, test } from 'bun:test';
import { type EventType, eventTypes, isEventType, isForAccount, matchesType } from '../../../src/events/events.ts';
import { projectFiles, readText } from '../../sources.ts';

const types = Object.keys(eventTypes) as EventType[];

describe('the event types', () => {
  test('has names of a resource and what happened to it', () => {
    expect(types.filter((type) => !/^[a-z]+(?:_[a-z]+)*\.[a-z]+(?:_[a-z]+)*$/.test(type))).toEqual([]);
    expect(isEventType('balance.low')).toBe(true);
    expect(isEventType('constructor')).toBe(false);
  });

  test('has the same rows in docs/events.md', () => {
    const rows = [...(readText('docs/events.md') ?? '').matchAll(/^\| `([a-z_.]+)` \| (\w+) \| (\w+) \| ([^|]*) \|/gm)];
    const documented = rows.map(([, type, severity, audience, members]) => ({
      type,
      severity,
      audience,
      members: [...(members ?? '').matchAll(/`(\w+)`/g)].map(([, member]) => member),
    }));
    const defined = types.map((type) => {
      const { severity, audience, data } = eventTypes[type];
      return { type, severity, audience, members: Object.keys(data.shape) };
    });
    expect(documented as unknown[]).toEqual(defined);
  });

  test('are all reported by some part of the service', () => {
    const reporting = projectFiles().filter(
      (path) => /^src\/.*\.ts$/.test(path) && path !== 'src/events/event-types.ts',
    );
    const text = reporting.map((path) => readText(path)).join('');
    expect(types.filter((type) => !text.includes(`'${type}'`))).toEqual([]);
  });

  test('describes who did it by name, and ends each sentence with one period', () => {
    const key = { key: 'key_1', name: 'search', prefix: 'sk-tp-1' };
    const describeKey = (actor: string) => eventTypes['key.created'].describe({ ...key, actor });
    expect(describeKey('local')).toBe('The key “search” (key_1) was created by the CLI.');
    expect(describeKey('start')).toBe('The key “search” (key_1) was created by the service.');
    expect(describeKey('person_1')).toBe('The key “search” (key_1) was created by person_1.');
    const payment = { payment: 'pay_1', kind: 'checkout', amount: '10.00' } as const;
    const paid = (kind: 'checkout' | 'subscription') => eventTypes['payment.succeeded'].describe({ ...payment, kind });
    expect([paid('checkout'), paid('subscription')]).toEqual([
      expect.stringMatching(/ USD were paid and credited /),
      expect.stringMatching(/ USD were paid for a plan /),
    ]);
    const failed = eventTypes['payment.failed'].describe({ ...payment, failure: 'Your card has expired.' });
    expect(failed).toBe('The payment pay_1 of 10.00 USD failed: Your card has expired.');
  });

  test('never delivers events of the installation to accounts', () => {
    expect(isForAccount({ type: 'balance.low', account: 7 })).toBe(true);
    expect(isForAccount({ type: 'message.written_off', account: 7 })).toBe(false);
    expect(isForAccount({ type: 'destination.disabled', account: null })).toBe(false);
  });
});

describe('a pattern of types', () => {
  test.each([
    [['*'], 'key.created', true],
    [['key.*'], 'key.created', true],
    [['key.created'], 'key.created', true],
    [['key.*'], 'payment.failed', false],
    [['payment.*', 'plan.ended'], 'plan.ended', true],
    [['plan.*'], 'plan_window.used', false],
    [[], 'key.created', false],
  ] as const)('%j matches %s: %p', (patterns, type, isMatch) => {
    expect(matchesType(patterns, type)).toBe(isMatch);
  });
});
