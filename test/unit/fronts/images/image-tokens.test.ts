// The most tokens of an image: OpenAI's table and calculator, the dearest where the model chooses, and none for other sizes.

import { expect, test } from 'bun:test';
import { imageTokensMost } from '../../../../src/fronts/images/image-tokens.ts';

test.each([
  // Where both have the size, the larger of the table and the calculator.
  ['1024x1024', 'low', 272],
  ['1024x1024', 'medium', 1_756],
  ['1024x1024', 'high', 7_024],
  ['1024x1536', 'low', 408],
  ['1024x1536', 'high', 6_240],
  ['1536x1024', 'medium', 1_568],
  ['1792x1024', 'high', 5_063],
  ['3584x2048', 'high', 12_329],
  // Any size, and any quality.
  [null, 'low', 659],
  [null, null, 23_719],
  // An edge, of models that know no quality.
  ['1K', 'low', 6_240],
  ['2K', 'low', 23_719],
  ['4K', null, 23_719],
  ['3840x2160', 'auto', 13_342],
  ['1024x1024', 'hd', 7_024],
])('%p %p has at most %d', (size, quality, tokens) => {
  expect(imageTokensMost({ size, quality })).toBe(tokens);
});

test.each(['99999x99999', '3840x3840', '3856x16', '0x1024', 'x', '1024x1024x2'])('%s has no known most', (size) => {
  expect(imageTokensMost({ size, quality: 'low' })).toBeNull();
});

test('no size that is made has more tokens than the model may choose', () => {
  const most = imageTokensMost({ size: null, quality: 'high' }) as number;
  for (let width = 16; width <= 3_840; width += 16)
    for (let height = 16; height <= 3_840; height += 16)
      expect(imageTokensMost({ size: `${width}x${height}`, quality: 'high' }) ?? 0).toBeLessThanOrEqual(most);
});
