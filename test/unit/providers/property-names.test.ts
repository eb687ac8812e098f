// Replaced names of properties: unique and short, and put back in JSON that comes in pieces cut anywhere.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { convertMessageBody } from '../../../src/providers/anthropic/convert-request.ts';
import { KeyRenamer, renameKeys, replacedProperties } from '../../../src/providers/property-names.ts';
import { type Provider, providerKinds } from '../../../src/providers/providers.ts';
import { type JsonObject, parseMessageRequest } from '../../../src/wire/wire.ts';
import { makeAttempt } from './make-attempt.ts';

const NAMES = new Map([
  ['_top', '$top'],
  ['a_b', 'a"b'],
  ['x', '名前'],
]);

const cut = (text: string, places: readonly number[]): string[] => {
  const at = [...new Set(places.map((place) => place % (text.length + 1)))].sort((one, other) => one - other);
  return [0, ...at].map((from, index) => text.slice(from, at[index]));
};

const rename = (pieces: readonly string[]) => {
  const renamer = new KeyRenamer(NAMES);
  return pieces.map((piece) => renamer.push(piece)).join('') + renamer.end();
};

const key = fc.constantFrom('_top', 'a_b', 'x', 'other', '"', '\\', '{', '', '__proto__', 'é', '😀');
const value = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    key,
    fc.integer(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(key, tie('value'), { maxKeys: 3 }),
  ),
})).value;
const places = fc.array(fc.nat(), { maxLength: 12 });
const spaces = fc.constantFrom(undefined, 1);

describe('keys in JSON that comes in pieces', () => {
  test('are renamed at the top of an object, and nowhere else, wherever the pieces are cut', () => {
    fc.assert(
      fc.property(fc.dictionary(key, value, { maxKeys: 6 }), places, spaces, (input, at, space) => {
        const expected = JSON.stringify(renameKeys(input as JsonObject, NAMES), null, space);
        expect(rename(cut(JSON.stringify(input, null, space), at))).toBe(expected);
      }),
      { numRuns: 500 },
    );
  });

  test('that are escaped are renamed, too', () => {
    expect(rename(['{"\\u005ft', 'op":1,"_top', '":{"_top":2}}'])).toBe('{"$top":1,"$top":{"_top":2}}');
  });

  test('of JSON that is cut, or of another form, stay as they are', () => {
    expect(rename(['{"_top":1,"_t'])).toBe('{"$top":1,"_t');
    expect(rename(['{"_top'])).toBe('{"_top');
    for (const text of [
      '["_top",{"_top":1}]',
      '"_top"',
      '_top',
      '{{"_top":1}}',
      '}"_top"{',
      '{"a":"_top","b":["_top"]}',
    ])
      expect(rename([...text])).toBe(text);
  });

  test('are held back up to the length that a name may have', () => {
    const renamer = new KeyRenamer(NAMES);
    let held = 0;
    let shown = '';
    for (const character of `{"${'k'.repeat(10_000)}":"_top"}`) {
      const out = renamer.push(character);
      held = out === '' ? held + 1 : 0;
      expect(held).toBeLessThan(400);
      shown += out;
    }
    expect(shown + renamer.end()).toBe(`{"${'k'.repeat(10_000)}":"_top"}`);
  });
});

test('names are replaced in the form that is taken, once each, the same for the same tools', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string({ minLength: 1, maxLength: 70, unit: 'grapheme' }), { maxLength: 20 }),
      (names) => {
        const tools = [
          { name: 'f', input_schema: { properties: Object.fromEntries(names.map((name) => [name, {}])) } },
        ];
        const read = () => replacedProperties({ tools } as unknown as JsonObject).get('f');
        const { sent = new Map(), own = new Map() } = read() ?? {};
        const all = names.map((name) => sent.get(name) ?? name);
        expect(all.filter((name) => !/^[\w.-]{1,64}$/.test(name))).toEqual([]);
        expect(new Set(all).size).toBe(names.length);
        for (const [name, other] of sent) expect(other.length).toBeLessThanOrEqual(Buffer.byteLength(name));
        expect(all.map((name) => own.get(name) ?? name)).toEqual(names);
        expect(read()).toEqual(read());
      },
    ),
    { numRuns: 300 },
  );
});

test('many names that are alike are replaced soon', () => {
  const long = Array.from({ length: 20_000 }, (_, index) => `${'x'.repeat(56)}${index}`.padEnd(64, 'y'));
  const pairs = long.flatMap((name) => [`${name}/`, `${name}$`]);
  const replaced = replacedProperties({
    tools: [{ name: 'f', input_schema: { properties: Object.fromEntries(pairs.map((name) => [name, {}])) } }],
  });
  expect(new Set(replaced.get('f')?.sent.values())).toHaveProperty('size', pairs.length);
  const names = Array.from({ length: 20_000 }, (_, index) => String.fromCodePoint(0x4e00 + index));
  const tools = [{ name: 'f', input_schema: { properties: Object.fromEntries(names.map((name) => [name, {}])) } }];
  expect(
    replacedProperties({ tools })
      .get('f')
      ?.sent.get(names.at(-1) ?? ''),
  ).toBe('ffk');
});

test('a name without a free one of its length is refused, as is an empty one', () => {
  const read = (names: string[]) =>
    replacedProperties({
      tools: [{ name: 'f', input_schema: { properties: Object.fromEntries(names.map((name) => [name, {}])) } }],
    }).get('f')?.sent;
  const signs = [...'$%&/()=?!'];
  expect([...(read(signs)?.values() ?? [])]).toEqual([...'_23456789']);
  expect(read([...signs, '*', ...'abcdefghijklmnopqrstuvwxyz'])).toBeUndefined();
  expect(read(['$', ''])).toBeUndefined();
});

test.each([
  ['anthropic', 'claude-sonnet-4-5'],
  ['vertex', 'claude-sonnet-4-5'],
  ['foundry', 'claude-sonnet-4-5'],
  ['bedrock', 'anthropic.claude-sonnet-4-5-v1:0'],
])('a prompt for %s is no longer than it was measured, with what names add', (kind, upstreamModel) => {
  const names = Array.from({ length: 1_500 }, (_, index) => String.fromCodePoint(0x4e00 + index));
  const properties = Object.fromEntries(names.map((name, index) => [name, index % 2 ? {} : { description: 'd' }]));
  const input_schema = { type: 'object', properties, required: names };
  const calls = Array.from({ length: 20 }, (_, index) => [
    { role: 'assistant', content: [{ type: 'tool_use', id: `a${index}`, name: 'f', input: properties }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: `a${index}`, content: 'ok' }] },
  ]);
  const messages = [{ role: 'user', content: 'Hi' }, ...calls.flat()];
  const tools = [
    { name: 'f', input_schema },
    { name: 'f', input_schema },
    { name: 'g', input_schema },
  ];
  const body = { model: 'm', max_tokens: 1, messages, tools };
  const request = parseMessageRequest(new TextEncoder().encode(JSON.stringify(body)), 'chat-completions');
  const { addedBytesMax } = providerKinds.get(kind) as Provider;
  const added = addedBytesMax?.(request, { upstreamModel, protocol: null }) ?? 0;
  const sent = convertMessageBody(makeAttempt('http://127.0.0.1:1', body, { upstreamModel, request }));
  expect(sent).toContain('"description":"一: d"');
  expect(Buffer.byteLength(sent)).toBeGreaterThan(request.bytes);
  expect(Buffer.byteLength(sent)).toBeLessThanOrEqual(request.bytes + added + upstreamModel.length);
});
