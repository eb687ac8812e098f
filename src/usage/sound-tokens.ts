// How many tokens the models of each vendor count for sound, by its length.

import { measureSound } from '../sound/sound.ts';

// Sources, read 2026-11-30:
// OpenAI: https://developers.openai.com/api/docs/guides/realtime-costs (a token for 100 ms of a user)
// Google: https://ai.google.dev/gemini-api/docs/audio (32 tokens a second)

interface Family {
  model: RegExp;
  tokensPerSecond: number;
}

const FAMILIES: readonly Family[] = [
  { model: /gpt|openai/i, tokensPerSecond: 10 },
  { model: /gemini/i, tokensPerSecond: 32 },
];
/** Encoders of published models have at most 25 tokens a second. */
const OTHERS: Family = { model: /./, tokensPerSecond: 40 };
/** The bound is a quarter more, for frames at the ends and marks around the sound. */
const MARGIN = 1.25;
const MARKS_TOKENS = 32;
const TYPICAL_BYTES_PER_SECOND = 16_000; // 128 kbit/s

function tokensPerSecond(models: readonly string[]): number {
  const found = models.map((model) => (FAMILIES.find((family) => family.model.test(model)) ?? OTHERS).tokensPerSecond);
  return Math.max(...(found.length === 0 ? [OTHERS.tokensPerSecond] : found));
}

/**
 * The tokens of files of sound in base64, for the models that may get them. A file whose length cannot be told has at most a token for
 * each byte.
 */
export async function soundTokens(
  files: readonly string[],
  models: readonly string[],
): Promise<{ most: number; typical: number }> {
  const perSecond = tokensPerSecond(models);
  let [most, typical] = [0, 0];
  for (const base64 of files) {
    const file = Buffer.from(base64, 'base64');
    const seconds = await measureSound(onePiece(file));
    most += seconds === null ? file.length : Math.ceil(seconds * perSecond * MARGIN) + MARKS_TOKENS;
    typical += Math.ceil((seconds ?? file.length / TYPICAL_BYTES_PER_SECOND) * perSecond);
  }
  return { most, typical };
}

/**
 * Streamed sound is PCM of 48,000 bytes a second, with 20 tokens (https://developers.openai.com/api/docs/guides/realtime-costs, 30 November
 * 2026). Whole sound may be compressed to a sixth.
 */
export const SOUND_CHARACTERS_PER_TOKEN = 3_200; // base64 characters
export const COMPRESSED_WEIGHT = 6;
export const SOUND_COVER = 1.5;

/** The most tokens of a spoken answer, by the characters of its base64. */
export function spokenTokensMost(characters: number, isWhole: boolean): number {
  return Math.ceil((SOUND_COVER * characters * (isWhole ? COMPRESSED_WEIGHT : 1)) / SOUND_CHARACTERS_PER_TOKEN);
}

/** The most tokens that a spoken answer has as part of a prompt, by those that it had as output. */
export function recalledTokensMost(tokens: number): number {
  return Math.ceil(tokens * MARGIN) + MARKS_TOKENS;
}

async function* onePiece(file: Uint8Array): AsyncGenerator<Uint8Array, undefined> {
  yield file;
}
