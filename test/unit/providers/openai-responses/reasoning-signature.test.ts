// Signatures that a client has changed are not trusted.

import { expect, test } from 'bun:test';
import { decodeReasoning } from '../../../../src/providers/openai-responses/reasoning-signature.ts';

const signed = (parts: object[]) => {
  const head = JSON.stringify({ home: 'h', id: 'rs_0', parts });
  return `openai-responses.1.${Buffer.from(head).toString('base64url')}.sealed`;
};

test.each([-2, -1e308, 1e308, 0.5])(
  'a signature that claims parts of %p characters does not add text to the thinking',
  (characters) => {
    const thinking = 'x'.repeat(1_000_000);
    const item = decodeReasoning(thinking, signed(Array(5_000).fill({ characters })), 'h');
    const summary = item?.['summary'] as { text: string }[];
    expect(summary.map(({ text }) => text.length)).toEqual([thinking.length]);
  },
);
