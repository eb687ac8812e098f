// How many tokens the models of each vendor count for an image. The bound of an image is the most that its family counts,
// whatever its dimensions; the estimate is the family's formula.

import type { ImageSize } from '../wire/wire.ts';

// Sources, read 2026-11-28:
// OpenAI: https://developers.openai.com/api/docs/guides/images-vision
// Anthropic: https://platform.claude.com/docs/en/build-with-claude/vision
// Google: https://ai.google.dev/gemini-api/docs/media-resolution and …/docs/tokens
// Amazon Nova: https://docs.aws.amazon.com/nova/latest/userguide/modalities-image.html
// Mistral: https://docs.mistral.ai/capabilities/vision; xAI: https://docs.x.ai/docs/guides/image-understanding
// Llama and Qwen: the image processors of their published models

interface Family {
  model: RegExp;
  /** The most tokens of one image; null: the formula of its dimensions, which the vendor does not limit. */
  tokensMax: number | null;
  tokensOf(size: ImageSize): number;
}

const TILES_MAX = 8; // 2,048 × 768 pixels in tiles of 512
const PATCH = 32;

/** OpenAI's tiles: within 2,048 pixels, then the short side at most 768. */
function tiled(model: RegExp, base: number, perTile: number): Family {
  const tokensOf = ({ width, height }: ImageSize) => {
    const within = Math.min(1, 2_048 / Math.max(width, height));
    const scale = within * Math.min(1, 768 / (Math.min(width, height) * within));
    return base + Math.ceil((width * scale) / 512) * Math.ceil((height * scale) / 512) * perTile;
  };
  return { model, tokensMax: base + TILES_MAX * perTile, tokensOf };
}

/** OpenAI's patches of 32 × 32 pixels, of which there are at most `patchesMax`; tokens of a hundred patches. */
function patched(model: RegExp, perHundred: number, patchesMax: number | null): Family {
  const tokensOf = ({ width, height }: ImageSize) => {
    const patches = Math.ceil(width / PATCH) * Math.ceil(height / PATCH);
    return Math.ceil((Math.min(patches, patchesMax ?? patches) * perHundred) / 100);
  };
  return { model, tokensMax: patchesMax === null ? null : Math.ceil((patchesMax * perHundred) / 100), tokensOf };
}

/** Proportional to the area, up to a maximum. */
function byArea(model: RegExp, pixelsPerToken: number, tokensMax: number): Family {
  const tokensOf = ({ width, height }: ImageSize) => Math.min(tokensMax, Math.ceil((width * height) / pixelsPerToken));
  return { model, tokensMax, tokensOf };
}

/** By tiles of `side` pixels, up to a maximum. */
function byTiles(model: RegExp, side: number, perTile: number, tokensMax: number): Family {
  const tokensOf = ({ width, height }: ImageSize) =>
    Math.min(tokensMax, Math.ceil(width / side) * Math.ceil(height / side) * perTile);
  return { model, tokensMax, tokensOf };
}

/** The first match of a name in lower case applies. Where measured bills exceed a vendor's figures, the higher one stands. */
const FAMILIES: readonly Family[] = [
  tiled(/gpt-4o-mini/, 2_833, 5_667),
  tiled(/gpt-(?:4o|4\.5|4-turbo|4-vision)|chatgpt-4o/, 85, 170),
  patched(/gpt-4\.1-nano|gpt-5(?:\.\d+)?-nano/, 246, 2_500),
  patched(/gpt-4\.1-mini|gpt-5(?:\.\d+)?-mini/, 162, 2_500),
  patched(/o4-mini|codex-mini/, 172, 1_536),
  tiled(/gpt-4\.1/, 85, 170),
  patched(/gpt-5\.[23](?!\d)/, 120, 2_500),
  patched(/gpt-5\.[45](?!\d)/, 120, 10_000),
  tiled(/gpt-5\.1(?!\d)|gpt-5(?![.\d])/, 70, 140),
  patched(/gpt-(?:5\.\d|[6-9]|\d\d)/, 120, null),
  tiled(/(?:^|[./-])o[13](?!\d)|computer-use-preview/, 75, 150),
  byArea(/claude-(?:instant|[23]|4-|\D+-4(?:[-.][0-6](?!\d)|-20|@|$))/, 750, 1_600),
  byArea(/claude-/, 750, 4_784),
  byTiles(/gemini-(?:1|2)[.-]|gemini-pro|gemini-flash/, 768, 258, 6_450),
  byArea(/gemini-/, 1_024, 2_240),
  byArea(/nova-/, 650, 4_096),
  byTiles(/grok-/, 448, 256, 1_792),
  byArea(/pixtral-large/, 256, 4_160),
  byArea(/mistral|pixtral|magistral|ministral/, 256, 4_160),
  byTiles(/llama-?4/, 336, 144, 2_465),
  byArea(/llama/, 196, 6_516),
  byArea(/qwen|qvq/, 784, 16_384),
];

/** Models of no known family count like the costliest one. */
const OTHER_TOKENS_MAX = Math.max(...FAMILIES.map(({ tokensMax }) => tokensMax ?? 0));
const OTHER_TOKENS_TYPICAL = 1_600;
const UNKNOWN_SIZE: ImageSize = { width: 1_024, height: 1_024 };
const PAGE_TOKENS_MAX = 12_000; // of a family without a limit
const PAGE_SIZE: ImageSize = { width: 1_275, height: 1_650 }; // a letter at 150 dots per inch

export interface MediaTokens {
  /** null: the image may have any number of tokens. */
  most: number | null;
  typical: number;
}

/** Tokens of one image at the costliest of these models; `size` is null if it is not known. */
export function imageTokens(models: readonly string[], size: ImageSize | null): MediaTokens {
  const total: MediaTokens = { most: 0, typical: 0 };
  for (const model of models.length === 0 ? [''] : models) {
    const { most, typical } = tokensAt(model, size);
    total.most = total.most === null || most === null ? null : Math.max(total.most, most);
    total.typical = Math.max(total.typical, typical);
  }
  return total;
}

/** Tokens of the image that providers make of a page. They choose its size, so it is never without a limit. */
export function pageImageTokens(models: readonly string[]): { most: number; typical: number } {
  const { most } = imageTokens(models, null);
  return { most: most ?? PAGE_TOKENS_MAX, typical: imageTokens(models, PAGE_SIZE).typical };
}

function tokensAt(model: string, size: ImageSize | null): MediaTokens {
  const name = model.toLowerCase();
  const family = FAMILIES.find((one) => one.model.test(name));
  if (family === undefined) return { most: OTHER_TOKENS_MAX, typical: OTHER_TOKENS_TYPICAL };
  const most = family.tokensMax ?? (size === null ? null : family.tokensOf(size));
  return { most, typical: family.tokensOf(size ?? UNKNOWN_SIZE) };
}
