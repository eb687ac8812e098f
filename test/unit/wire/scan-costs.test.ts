// Parts of a body that slow down a parser are bounded: a body at the bound is accepted, one more part is refused.

import { expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { TurnpikeError } from '../../../src/errors.ts';
import { JsonWeight, scanJson, weighJson } from '../../../src/wire/scan-json.ts';

function refusal(text: string, weight?: JsonWeight): string {
  try {
    scanJson(text, weight);
    return 'not refused';
  } catch (thrown) {
    if (thrown instanceof TurnpikeError && thrown.code === 'invalid_request') return thrown.message;
    throw thrown;
  }
}

const { jsonNewKeysMax, jsonBareCharactersMax, jsonEscapedCharactersMax, jsonLongNumbersMax } = bounds;
const each = (count: number, write: (place: number) => string) =>
  Array.from({ length: count }, (_, at) => write(at)).join();

test('different keys are counted per object and in total; an object with the same keys adds none', () => {
  const one = (count: number) => `{${each(count, (at) => `"k${at}":1`)}}`;
  expect(refusal(one(jsonNewKeysMax))).toBe('not refused');
  expect(refusal(one(jsonNewKeysMax + 1))).toBe(
    `k${jsonNewKeysMax}: Input should not have more than ${jsonNewKeysMax} different keys in total`,
  );
  const many = (count: number) => `[${each(count, (at) => `{"k${at}":1}`)}]`;
  expect(refusal(many(jsonNewKeysMax))).toBe('not refused');
  expect(refusal(many(jsonNewKeysMax + 1))).toStartWith(`${jsonNewKeysMax}.k${jsonNewKeysMax}: `);
  expect(refusal(`[${each(jsonNewKeysMax + 1, () => '{"a":1,"b":{"c":2}}')}]`)).toBe('not refused');
});

test('the same keys in another order count as other keys, and so does each array index', () => {
  const orders = `[${each(jsonNewKeysMax, (at) => `{"${at % 2 ? 'a' : 'b'}":1,"x${at}":1}`)}]`;
  expect(refusal(orders)).toContain('different keys');
  expect(refusal(`[${each(jsonNewKeysMax, () => '{"7":1}')}]`)).toBe('not refused');
  expect(refusal(`[${each(jsonNewKeysMax + 1, () => '{"7":1}')}]`)).toContain('different keys');
  expect(refusal(`[${each(jsonNewKeysMax + 1, () => '{"2026-01-01":1}')}]`)).toBe('not refused');
});

test('a long key counts by its length', () => {
  const long = (characters: number) => `{"${'k'.repeat(characters)}":1}`;
  expect(refusal(long(64 * (jsonNewKeysMax - 1)))).toBe('not refused');
  expect(refusal(long(64 * jsonNewKeysMax))).toContain('different keys');
  expect(refusal(`{"${'\\u006b'.repeat(64 * jsonNewKeysMax)}":1}`)).toContain('different keys');
});

test('a duplicate key is found after a known prefix, and among many keys', () => {
  expect(refusal('[{"a":1,"b":1},{"a":1,"b":1,"a":1}]')).toStartWith('1.a: Duplicate key');
  const keys = each(20, (at) => `"k${at}":1`);
  expect(refusal(`[{${keys}},{${keys},"k3":1}]`)).toStartWith('1.k3: Duplicate key');
  expect(refusal(`[{${keys}},{${keys}},{${keys},"x":1,"x":1}]`)).toStartWith('2.x: Duplicate key');
  expect(refusal('[{"a\\u0062":1},{"ab":1,"a\\u0062":1}]')).toStartWith('1.ab: Duplicate key');
  expect(refusal('[{"a\\\\b":1},{"a\\b":1},{"a\\\\b":1,"a\\b":1}]')).toBe('not refused');
});

test('characters outside of strings are bounded, and those in strings are not', () => {
  const spaced = (characters: number) => `[${' '.repeat(characters - 2)}]`;
  expect(refusal(spaced(jsonBareCharactersMax))).toBe('not refused');
  expect(refusal(spaced(jsonBareCharactersMax + 1))).toContain(`more than ${jsonBareCharactersMax} characters outside`);
  expect(refusal(`{"n":${'1'.repeat(jsonBareCharactersMax)}}`)).toStartWith('n: ');
  expect(refusal(`["${' '.repeat(jsonBareCharactersMax)}"]`)).toBe('not refused');
});

test('strings with escapes are bounded in total, and those without are not', () => {
  const half = 'x'.repeat(jsonEscapedCharactersMax / 2 - 10);
  expect(refusal(`["${half}\\n","${half}\\""]`)).toBe('not refused');
  expect(refusal(`["${half}\\n","${half}\\"","${'x'.repeat(100)}\\n"]`)).toStartWith('2: ');
  expect(refusal(`["${half}","${half}","${half}"]`)).toBe('not refused');
  expect(refusal(`["${'\\"'.repeat(jsonEscapedCharactersMax)}"]`)).toStartWith('0: ');
});

test('numbers that no double can represent are bounded, and others are not', () => {
  const numbers = (count: number, digits: number) => `[${each(count, () => '7'.repeat(digits))},0]`;
  expect(refusal(numbers(jsonLongNumbersMax, 16))).toBe('not refused');
  expect(refusal(numbers(jsonLongNumbersMax + 1, 16))).toContain('more than 15 digits');
  expect(refusal(numbers(jsonLongNumbersMax + 1, 15))).toBe('not refused');
  const members = each(jsonLongNumbersMax + 1, () => '{"id":12345678901234567}');
  expect(refusal(`[${members},0]`)).toContain('more than 15 digits');
});

test('JSON texts in a body count toward its bounds, and the error has their path', () => {
  const weight = new JsonWeight();
  expect(refusal(`{${each(jsonNewKeysMax - 1, (at) => `"k${at}":1`)}}`, weight)).toBe('not refused');
  expect(weighJson('{"new":1}', 'arguments', weight)).toBe(true);
  expect(() => weighJson('{"newer":1}', 'arguments', weight)).toThrow('arguments: Input should not have more than');
  expect(weighJson('['.repeat(bounds.jsonDepthMax + 1), 'arguments', new JsonWeight())).toBe(false);
  expect(weighJson('{"a":1,"a":2}', 'arguments', new JsonWeight())).toBe(true);
});

test('ordinary long bodies are accepted: thousands of blocks, a hundred tools, files in base64', () => {
  const text = 'const name = "value";\n\tcall(name);\n'.repeat(12);
  const turns = Array.from({ length: 3_000 }, (_, at) => [
    {
      role: 'assistant',
      content: [{ type: 'tool_use', id: `toolu_${at}`, name: 'edit', input: { path: `/a/${at}`, old: 'x', at } }],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: `toolu_${at}`, content: [{ type: 'text', text }] }] },
  ]).flat();
  const property = (at: number) => [`p${at}`, { type: 'string', description: 'It is what it is.', enum: ['a', 'b'] }];
  const tools = Array.from({ length: 100 }, (_, tool) => ({
    name: `tool-${tool}`,
    input_schema: {
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: 80 }, (_, at) => property(tool * 80 + at))),
    },
  }));
  const file = {
    type: 'image',
    source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0K'.repeat(1_500_000) },
  };
  const body = { model: 'm', messages: [...turns, { role: 'user', content: [file, file] }], tools };
  expect(refusal(JSON.stringify(body))).toBe('not refused');
  expect(refusal(JSON.stringify({ messages: turns, tools }, null, 2))).toBe('not refused');
});
