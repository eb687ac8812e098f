// The choice of event types by single types and whole groups.

import { expect, test } from 'bun:test';
import { groupTypes, isChosen, toggleGroup, toggleType } from '../../console/features/destinations/type-patterns.ts';
import { eventTypes, isEventType, matchesType } from '../../src/events/events.ts';

const shown = Object.entries(eventTypes).map(([type, { title, severity, audience, isSecurity }]) => ({
  ...{ type, title, severity, audience },
  ...{ is_security: isSecurity, data: {} },
}));
const groups = groupTypes(shown);
const keys = groups.find(({ pattern }) => pattern === 'key.*');
if (keys === undefined) throw new Error('there are no events of keys');

test('every type but the test of a destination is offered once, under a name for its group', () => {
  const offered = groups.flatMap(({ types }) => types.map(({ type }) => type));
  expect(offered.toSorted()).toEqual(
    shown.flatMap(({ type }) => (type === 'destination.tested' ? [] : [type])).toSorted(),
  );
  for (const { label, pattern } of groups) expect([pattern, label]).toEqual([pattern, expect.stringMatching(/^[A-Z]/)]);
});

test('patterns choose the same types here as when events are sent', () => {
  for (const patterns of [['*'], ['key.*'], ['key.created', 'plan.*'], ['plan_window.used'], []])
    for (const { type } of shown)
      expect([type, isChosen(patterns, type)]).toEqual([type, isEventType(type) && matchesType(patterns, type)]);
});

test('a whole group is one pattern, without one of its types it is the others, and the rest stays', () => {
  const whole = toggleGroup(['balance.low', 'key.created'], keys);
  expect(whole).toEqual(['balance.low', 'key.*']);
  const others = toggleType(whole, keys, 'key.created');
  expect(others).toEqual(['balance.low', 'key.rotated', 'key.expiring', 'key.disabled']);
  const again = toggleType(others, keys, 'key.created');
  expect(keys.types.every(({ type }) => isChosen(again, type))).toBe(true);
  expect(toggleGroup(again, keys)).toEqual(['balance.low']);
});
