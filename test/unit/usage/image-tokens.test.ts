// Tokens of images: by each vendor's formula, never above the family's maximum, and by the maximum for unknown models.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { imageTokens, pageImageTokens } from '../../../src/usage/image-tokens.ts';
import { readImageSize } from '../../../src/wire/wire.ts';

const square = { width: 1_024, height: 1_024 };

// Examples of the vendors' documentation, and maximums by their figures.
test.each([
  ['gpt-4o', square, 765, 1_445],
  ['gpt-4o', { width: 2_048, height: 4_096 }, 1_105, 1_445],
  ['gpt-4o-mini-2024-07-18', square, 25_501, 48_169],
  ['openai/gpt-4.1', square, 765, 1_445],
  ['gpt-4.1-mini', square, 1_659, 4_050],
  ['o4-mini', square, 1_762, 2_642],
  ['o3', square, 675, 1_275],
  ['gpt-5', square, 630, 1_190],
  ['gpt-5.4', square, 1_229, 12_000],
  ['claude-3-5-haiku-20241022', { width: 1_092, height: 1_092 }, 1_590, 1_600],
  ['us.anthropic.claude-sonnet-4-20250514-v1:0', square, 1_399, 1_600],
  ['claude-opus-4-6', square, 1_399, 1_600],
  ['claude-opus-4-7', { width: 1_920, height: 1_080 }, 2_765, 4_784],
  ['claude-sonnet-5', square, 1_399, 4_784],
  ['gemini-2.5-flash', square, 1_032, 6_450],
  ['gemini-3-pro-preview', square, 1_024, 2_240],
  ['us.amazon.nova-pro-v1:0', square, 1_614, 4_096],
  ['grok-4', square, 1_792, 1_792],
  ['pixtral-12b', square, 4_096, 4_160],
])('%s counts %o as %d tokens, and no image as more than %d', (model, size, typical, most) => {
  expect(imageTokens([model], size)).toEqual({ most, typical });
});

test('a model without a limit counts an image by its dimensions, and has none without them', () => {
  expect(imageTokens(['gpt-5.6'], { width: 6_400, height: 6_400 }).most).toBe(48_000);
  expect(imageTokens(['gpt-5.6'], null).most).toBe(null);
  expect(pageImageTokens(['gpt-5.6']).most).toBe(12_000);
});

test('an unknown model counts like the costliest family, and several models like the costliest of them', () => {
  expect(imageTokens(['some-model'], square).most).toBe(48_169);
  expect(imageTokens([], null).most).toBe(48_169);
  expect(imageTokens(['claude-3-haiku', 'gpt-4o'], square).most).toBe(1_600);
  expect(imageTokens(['claude-3-haiku', 'gpt-5.6'], null).most).toBe(null);
});

test('no formula exceeds its maximum', () => {
  const side = fc.integer({ min: 1, max: 60_000 });
  const model = fc.constantFrom(
    'gpt-4o',
    'gpt-4o-mini',
    'gpt-5-nano',
    'o1',
    'claude-3',
    'claude-opus-5',
    'gemini-2.0',
    'gemini-4',
    'nova-lite',
    'grok-4',
    'llama-4',
    'llama3.2',
    'qwen-vl-max',
    'pixtral-large',
  );
  fc.assert(
    fc.property(model, side, side, (name, width, height) => {
      const { most, typical } = imageTokens([name], { width, height });
      expect(typical).toBeWithin(1, (most as number) + 1);
    }),
  );
});

const [WIDTH, HEIGHT] = [640, 480];

test.each([
  ['PNG', '89504e470d0a1a0a0000000d49484452 00000280 000001e0 0806000000'],
  ['GIF', '474946383961 8002 e001 f70000'],
  ['JPEG', `ffd8 ffe1 0010 ${'00'.repeat(14)} ffdb 0004 0000 ffc2 0011 08 01e0 0280 03`],
  ['lossy WebP', `52494646 00000000 57454250 56503820 00000000 300100 9d012a 8002 e001 ${'00'.repeat(4)}`],
  ['lossless WebP', `52494646 00000000 57454250 5650384c 00000000 2f ${leBits()} ${'00'.repeat(8)}`],
  ['extended WebP', '52494646 00000000 57454250 56503858 0a000000 00000000 7f0200 df0100'],
])('the dimensions of a %s file are read', (_kind, hex) => {
  const file = Buffer.from(hex.replaceAll(' ', ''), 'hex');
  expect(readImageSize(file.toString('base64'))).toEqual({ width: WIDTH, height: HEIGHT });
});

/** Fourteen bits for each side, less one. */
function leBits(): string {
  const bits = Buffer.alloc(4);
  bits.writeUInt32LE((WIDTH - 1) | ((HEIGHT - 1) << 14));
  return bits.toString('hex');
}

test('what is no image has no dimensions', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 200 }),
      fc.constantFrom('', '\xff\xd8', 'GIF8', 'RIFF....WEBP'),
      (bytes, head) => {
        const size = readImageSize(Buffer.concat([Buffer.from(head, 'latin1'), bytes]).toString('base64'));
        if (size !== null) expect(Math.min(size.width, size.height)).toBeGreaterThan(0);
      },
    ),
  );
  expect(readImageSize('bm90IGFuIGltYWdl')).toBe(null);
});
