// The types of events: their names, their documentation, who may have them, and patterns of them.

import { describe, expect, test } from 'bun:test';
import { type EventType, eventTypes, isEventType, isForAccount, matchesType } from '../../../src/events/events.ts';
import { incidentKinds } from '../../../src/incidents/incidents.ts';
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
      '$10.00 was paid and credited (pay_1).',
      '$10.00 was paid for a plan (pay_1).',
    ]);
    const refunded = (members: { amount: string; debt: string; bonus?: string }) =>
      eventTypes['payment.refunded'].describe({ ...payment, refunded: '10', ...members });
    const about = 'The payment pay_1 was refunded.';
    expect(refunded({ amount: '0', debt: '0' })).toBe(`${about} Nothing was deducted from the balance.`);
    expect(refunded({ amount: '5', debt: '0.00', bonus: '0.00' })).toBe(
      `${about} $5.00 was deducted from the balance.`,
    );
    expect(refunded({ amount: '5', debt: '3', bonus: '1' })).toBe(
      `${about} $5.00 and $1.00 of its bonus were deducted from the balance, and $3.00 is owed.`,
    );
    const failed = eventTypes['payment.failed'].describe({ ...payment, failure: 'Your card has expired.' });
    expect(failed).toBe('The payment pay_1 of $10.00 failed: Your card has expired.');
  });

  test('has words for each kind of incident, and for one that it does not know', () => {
    const facts = { incident: 'inc_1', severity: 'warning', since: '2026-11-30T14:04:00Z', requests: 3 } as const;
    const names = { model: 'fable', provider: 'vendor', key: 'key_1', subject: 'nightly', cause: 'failed' };
    const say = (kind: string) => eventTypes['incident.opened'].describe({ ...facts, ...names, kind, message: 'No.' });
    const said = incidentKinds.map(say);
    expect(said.filter((text) => !text.endsWith(' since Nov 30, 2026, 2:04 PM UTC: No.'))).toEqual([]);
    expect(said.filter((text) => text.includes('“'))).toEqual([]);
    expect(say('of_later')).toStartWith('“of_later” has been a problem since');
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
