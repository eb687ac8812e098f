// Findings of the scan that JSON.parse does not report: duplicate keys, depth, and the spans of the fields.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { bounds } from '../../../src/config/config.ts';
import { TurnpikeError } from '../../../src/errors.ts';
import { isTooDeep, scanJson } from '../../../src/wire/wire.ts';
import { anyText } from '../../support/any-text.ts';

function refusal(text: string): string {
  try {
    scanJson(text);
  } catch (error) {
    if (error instanceof TurnpikeError && error.code === 'invalid_request') return error.message;
    throw error;
  }
  return 'not refused';
}

test('every valid object is accepted, and its spans are exactly its fields', () => {
  const spaces = fc.constantFrom(0, 1, 4, '\t', ' \r\n');
  fc.assert(
    fc.property(fc.dictionary(anyText(), fc.jsonValue({ maxDepth: 5 })), spaces, (value, indent) => {
      const text = ` ${JSON.stringify(value, null, indent)}\n`;
      const spans = scanJson(text);
      expect([...spans.keys()]).toEqual(Object.keys(JSON.parse(text)));
      for (const [name, span] of spans) {
        expect(JSON.parse(text.slice(span.start, span.end))).toEqual(JSON.parse(text)[name]);
        expect(Object.keys(JSON.parse(`{${text.slice(span.from, span.end)}}`))).toEqual([name]);
        expect(text.slice(span.start, span.end).trim()).toBe(text.slice(span.start, span.end));
      }
    }),
  );
});

test('the scan of any text terminates, and throws only refusals', () => {
  const pieces = fc.constantFrom('{', '}', '[', ']', ',', ':', '"', '\\', '"a"', '1', ' ', '\\u0061', 'é');
  fc.assert(fc.property(fc.array(pieces, { maxLength: 40 }), (parts) => void refusal(parts.join(''))));
});

test('a duplicate key is refused at any level, with its path first', () => {
  expect(refusal('{"model":"a","model":"b"}')).toStartWith('model: ');
  expect(refusal('{"messages":[{"role":"user"},{"role":"user","role":"system"}]}')).toStartWith('messages.1.role: ');
  expect(refusal('{"a":{"b":[[],[0,{"c":{},"d":"}","c":1}]]}}')).toStartWith('a.b.1.1.c: ');
  expect(refusal('{"model":"a","messages":[{"model":1}],"model":"b"}')).toStartWith('model: ');
  expect(refusal('{"messages":[{"model":1}],"model":"a","model":"b"}')).toStartWith('model: ');
});

test('duplicates are found in objects after lists, and not in lists after objects', () => {
  expect(refusal('{"a":[1,2],"b":{"c":1,"d":1,"d":2}}')).toStartWith('b.d: ');
  expect(refusal('{"a":{"b":1},"c":["x","x",{"y":1,"y":2}]}')).toStartWith('c.2.y: ');
});

test('depth is how far lists and objects are inside each other, not how many there are', () => {
  expect(isTooDeep('[[1],[2],{"a":[3]}]', 3)).toBe(false);
  expect(isTooDeep('[[1],[2],{"a":[3]}]', 2)).toBe(true);
});

test('each key of a body may occur again inside it, but not beside it', () => {
  const key = fc.constantFrom('a', 'b', 'c', '0');
  const written = (members: readonly [string, string][]) => members.map(([name, value]) => `"${name}":${value}`).join();
  const unique = <Value>(value: fc.Arbitrary<Value>) =>
    fc.uniqueArray(fc.tuple(key, value), { selector: ([name]) => name, maxLength: 4 });
  const { inside } = fc.letrec<{ inside: string }>((tie) => ({
    inside: fc.oneof(
      { maxDepth: 4 },
      fc.constant('1'),
      fc.array(tie('inside'), { maxLength: 2 }).map((items) => `[${items.join()}]`),
      unique(tie('inside')).map((members) => `{${written(members)}}`),
    ),
  }));
  const check = (members: readonly [string, string][]) => {
    expect(refusal(`{${written(members)}}`)).toBe('not refused');
    for (const [name] of members)
      expect(refusal(`{${written([...members, [name, '2']])}}`)).toStartWith(`${name}: Duplicate key`);
  };
  fc.assert(fc.property(unique(inside), check), { numRuns: 300 });
});

test('an empty key has a name in the path of an error', () => {
  expect(refusal('{"":1,"":2}')).toStartWith('"": Duplicate key in one object');
  expect(refusal('{"a":{"":{"b":1,"b":2}}}')).toStartWith('a."".b: Duplicate key');
});

test('two notations of one key are the same key', () => {
  expect(refusal('{"a":1,"\\u0061":2}')).toStartWith('a: ');
  expect(refusal('{"\\/":1,"/":2}')).toStartWith('/: ');
  expect(refusal('{"\\u0061":1,"\\\\u0061":2}')).toBe('not refused');
});

test('the same key in sibling objects, as a value, or among many different keys is not a duplicate', () => {
  expect(refusal('[{"a":1},{"a":1},"a",{"b":"a","a":"b"}]')).toBe('not refused');
  const many = Array.from({ length: 1000 }, (_, index) => `"k${index}":{"k${index}":0}`).join();
  expect(refusal(`{${many}}`)).toBe('not refused');
  expect(refusal(`{${many},"k500":1}`)).toStartWith('k500: ');
});

test('a string is skipped as a whole: quotes, braces and backslashes in it have no effect', () => {
  const value = { a: '"}{[]\\', 'b\\"': '\\\\"', c: '\\'.repeat(99), d: '{"a":1,"a":2}' };
  expect([...scanJson(JSON.stringify(value)).keys()]).toEqual(Object.keys(value));
});

test('nesting is counted from the outermost level: the bound is accepted, and one more level is refused', () => {
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
  expect(refusal(nested(bounds.jsonDepthMax))).toBe('not refused');
  expect(refusal(nested(bounds.jsonDepthMax + 1))).toContain(`deeper than ${bounds.jsonDepthMax}`);
  expect(refusal(`{"a":${nested(bounds.jsonDepthMax)}}`)).toStartWith('a.0.0');
});

test('100,000 levels are refused without a stack overflow, closed or not', () => {
  expect(refusal('['.repeat(100_000))).toContain('deeper');
  expect(refusal(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`)).toStartWith('a.a.a');
});

test('values of every type are counted everywhere: the bound is accepted, and one more value is refused', () => {
  const most = bounds.jsonValuesMax;
  const lists = (values: number) =>
    `[${Array(values - 1)
      .fill('1')
      .join()}]`; // the list itself counts, too
  expect(refusal(lists(most))).toBe('not refused');
  expect(refusal(lists(most + 1))).toContain(`more than ${most} values`);
  const objects = (values: number) => `{"a":${lists(values - 4)},"b":{"c":{}}}`;
  expect(refusal(objects(most))).toBe('not refused');
  expect(refusal(objects(most + 1))).toStartWith('b');
  expect(refusal(`["${'1,[]'.repeat(most)}"]`)).toBe('not refused'); // one text, which counts once
});

test('the path in an error is short, however long the keys are', () => {
  expect(refusal(`{"${'x'.repeat(1e6)}":{"b":1,"b":2}}`).length).toBeLessThan(400);
});

test('a key named __proto__ is an ordinary field', () => {
  expect([...scanJson('{"__proto__":{"a":1},"b":2}').keys()]).toEqual(['__proto__', 'b']);
});
