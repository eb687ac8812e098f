// Sampling parameters outside of the ranges of the client's protocol are refused before the request is sent.

import { describe, expect, test } from 'bun:test';
import { TurnpikeError } from '../../../src/errors.ts';
import { chatCompletions } from '../../../src/fronts/chat-completions/chat-completions.ts';
import { gemini } from '../../../src/fronts/gemini/gemini.ts';
import { responses } from '../../../src/fronts/responses/responses.ts';
import { translateBytes } from './translate-bytes.ts';

type Json = Record<string, unknown>;

const hi = [{ role: 'user', content: 'Hi' }];
const FRONTS = [
  [chatCompletions, '', (members: Json) => ({ messages: hi, ...members })],
  [responses, '', (members: Json) => ({ input: hi, ...members })],
  [
    gemini,
    'generationConfig.',
    (members: Json) => ({
      contents: [{ parts: [{ text: 'Hi' }] }],
      generationConfig: Object.fromEntries(
        Object.entries(members).map(([name, value]) => [
          name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
          value,
        ]),
      ),
    }),
  ],
] as const;
const RANGES: readonly [name: string, least: number, most: number][] = [
  ['temperature', 0, 2],
  ['top_p', 0, 1],
  ['frequency_penalty', -2, 2],
  ['presence_penalty', -2, 2],
];

describe.each(FRONTS.map((one) => [one[0].protocol, ...one] as const))('%s', (_, front, parent, bodyOf) => {
  const read = (members: Json) => {
    const bytes = new TextEncoder().encode(JSON.stringify({ model: 'm', ...bodyOf(members) }));
    try {
      return translateBytes(front, bytes, { operation: { asks: 'message', model: 'm', stream: false } }).message;
    } catch (thrown) {
      if (thrown instanceof TurnpikeError) return `${thrown.code} ${thrown.message}`;
      throw thrown;
    }
  };

  test.each([...RANGES])('%s from %d to %d', (name, least, most) => {
    const path = `${parent}${parent === '' ? name : name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())}`;
    expect(read({ [name]: least - 0.01 })).toBe(
      `invalid_request ${path}: Input should be greater than or equal to ${least}`,
    );
    expect(read({ [name]: most + 0.01 })).toBe(
      `invalid_request ${path}: Input should be less than or equal to ${most}`,
    );
    for (const wrong of ['1', true, [1], { a: 1 }])
      expect(read({ [name]: wrong })).toBe(`invalid_request ${path}: Input should be a valid number`);
    for (const value of [least, most, (least + most) / 2 + 0.25])
      expect(read({ [name]: value })).toMatchObject(value === 0 && name.endsWith('_penalty') ? {} : { [name]: value });
    expect(read({ [name]: null })).not.toHaveProperty(name);
  });
});
