// The most output tokens that an image of OpenAI's models can have. Pure.

import { type ImageSize, parseImageSize } from '../../wire/wire.ts';

interface ImageRequest {
  /** Such as "1024x1024"; null: chosen by the model. */
  size: string | null;
  quality: string | null;
}

/**
 * Tokens of gpt-image-1, gpt-image-1-mini and gpt-image-1.5 (https://platform.openai.com/docs/guides/image-generation, "Cost and latency",
 * 30 November 2026).
 */
const TABLE: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  low: { '1024x1024': 272, '1024x1536': 408, '1536x1024': 400 },
  medium: { '1024x1024': 1_056, '1024x1536': 1_584, '1536x1024': 1_568 },
  high: { '1024x1024': 4_160, '1024x1536': 6_240, '1536x1024': 6_208 },
};

/** Patches along the longer edge of an image of gpt-image-2, by its quality. */
const PATCHES: Readonly<Record<string, number>> = { low: 16, medium: 48, high: 96 };
const DEAREST = 'high';
/** Its largest images: 3,840 pixels along an edge, and as many in all as 3840x2160. */
const EDGE_PIXELS_MAX = 3_840;
const PIXELS_MAX = EDGE_PIXELS_MAX * 2_160;
/** The size with the most tokens: a square of as many pixels. */
const LARGEST: ImageSize = { width: 2_880, height: 2_880 };

/** Sizes by their edge, as Gemini has them. Its images have fewer tokens than those of OpenAI's models, which are sent pixels instead. */
const BY_EDGE = /^\dK$/;
const LARGEST_OF_1K = '1024x1536';

/** null: the size has no bound. Each partial image has 100 tokens more, by the same page. */
export function imageTokensMost({ size, quality }: ImageRequest): number | null {
  if (size !== null && BY_EDGE.test(size))
    return imageTokensMost({ size: size === '1K' ? LARGEST_OF_1K : null, quality: null });
  const level = quality !== null && Object.hasOwn(PATCHES, quality) ? quality : DEAREST;
  const patches = PATCHES[level] as number;
  const pixels = size === null ? LARGEST : readSize(size);
  if (pixels === null) return null;
  const listed = size === null ? 0 : (TABLE[level]?.[size] ?? 0);
  return Math.max(listed, patchTokens(patches, pixels));
}

export const PARTIAL_IMAGE_TOKENS = 100;

/** null: not a size that OpenAI's models make. */
function readSize(text: string): ImageSize | null {
  const size = parseImageSize(text);
  if (size === null || Math.max(size.width, size.height) > EDGE_PIXELS_MAX) return null;
  return size.width * size.height <= PIXELS_MAX ? size : null;
}

/** By the calculator for gpt-image-2 on the same page (https://community.openai.com/t/1382699, 5 June 2026). */
function patchTokens(patches: number, { width, height }: ImageSize): number {
  const [short, long] = [Math.min(width, height), Math.max(width, height)];
  const across = Math.floor((2 * patches * short + long) / (2 * long));
  return Math.ceil((patches * across * (2_000_000 + width * height)) / 4_000_000);
}
