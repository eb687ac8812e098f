// Numbers that no double can represent are written as they were read, and digits in strings are left alone.

import { expect, test } from 'bun:test';
import { parseExactly } from '../../../src/wire/wire.ts';

test.each([
  '{"id":12345678901234567890}',
  '[1234567890123456.5,-12345678901234567]',
  '{"a":"\\"","b":1e400,"c":1E-400}',
  '["x\\\\",0.12345678901234567]',
  '{"a":{"b":[{"c":98765432109876543210}]}}',
])('%s is written as it was read', (text) => {
  expect(JSON.stringify(parseExactly(text))).toBe(text);
});

test.each(['"12345678901234567890"', '["1e400",1]', '[1.5,true,null,"\\"1e400"]', '1e5', '[false,1e+2]'])(
  '%s is parsed as by JSON.parse',
  (text) => {
    expect(parseExactly(text)).toEqual(JSON.parse(text));
  },
);
