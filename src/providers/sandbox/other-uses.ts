// Deterministic embeddings, rankings and moderation of the sandbox.

import { createHash } from 'node:crypto';
import { textOf } from '../../wire/wire.ts';
import { embeddingJson, embeddingsJson, embeddingsReply, readEmbeddingsRequest } from '../embeddings.ts';
import { refuseField } from '../lost-fields.ts';
import { moderationResult, readModerationInput } from '../moderations.ts';
import { otherReply, usageOf } from '../other-reply.ts';
import type { Attempt, OtherUses, WholeReply } from '../provider.ts';
import { asBase64 } from '../read-vectors.ts';
import { readRerankRequest, rerankReply } from '../rerank.ts';
import { bytesOf, tokensOf } from './count-tokens.ts';
import { drawImages, speak } from './media.ts';
import { transcribe } from './transcribe.ts';

const DIMENSIONS = 256;
const FORBIDDEN = 'forbidden';

/** The names of the models that are made for them. */
export const otherModelNames: readonly string[] = [
  'sandbox-embedding',
  'sandbox-rerank',
  'sandbox-moderation',
  'sandbox-image',
  'sandbox-speech',
  'sandbox-transcription',
];

export const sandboxUses: OtherUses = {
  embeddings: embed,
  rerank,
  moderation: moderate,
  images: (attempt) => drawImages(attempt, requestIdOf(attempt)),
  speech: (attempt) => speak(attempt, requestIdOf(attempt)),
  transcription: (attempt) => transcribe(attempt, requestIdOf(attempt)),
};

async function embed(attempt: Attempt): Promise<WholeReply> {
  const asked = readEmbeddingsRequest(attempt);
  const { inputs, dimensions, isBase64 } = asked;
  if ((dimensions ?? 1) > DIMENSIONS) refuseField('dimensions', `Input should be at most ${DIMENSIONS}`);
  const texts = inputs.map((input) => (typeof input === 'string' ? input : JSON.stringify(input)));
  const vectors = texts.map((text, index) => {
    const vector = vectorOf(text).slice(0, dimensions ?? DIMENSIONS);
    return embeddingJson(asked, index, isBase64 ? asBase64(vector) : vector);
  });
  const tokens = inputs.reduce<number>(
    (sum, input) => sum + (Array.isArray(input) ? input.length : tokensOf(bytesOf(input))),
    0,
  );
  return embeddingsReply(
    attempt,
    embeddingsJson(asked, attempt.upstreamModel, vectors, tokens),
    tokens,
    requestIdOf(attempt),
  );
}

/** A vector of length 1 from hashes of the text. */
function vectorOf(text: string): number[] {
  const numbers: number[] = [];
  for (let block = 0; numbers.length < DIMENSIONS; block++)
    for (const byte of createHash('sha256').update(`${block} ${text}`).digest()) numbers.push(byte - 127.5);
  const length = Math.hypot(...numbers);
  return numbers.map((number) => number / length);
}

/** By the share of the query's words that a document has. */
async function rerank(attempt: Attempt): Promise<WholeReply> {
  const { query, documents } = readRerankRequest(attempt);
  const asked = new Set(wordsOf(query));
  const results = documents
    .map((text, index) => {
      const shared = new Set(wordsOf(text)).intersection(asked).size;
      return { index, score: asked.size === 0 ? 0 : shared / asked.size };
    })
    .sort((one, other) => other.score - one.score || one.index - other.index);
  const tokens = tokensOf(bytesOf(query) + documents.reduce((sum, text) => sum + bytesOf(text), 0));
  return rerankReply(attempt, results, { tokens, searches: null }, requestIdOf(attempt));
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

async function moderate(attempt: Attempt): Promise<WholeReply> {
  const input = readModerationInput(attempt);
  const inputs = Array.isArray(input) ? input : [input];
  const isOfParts = inputs.some((one) => typeof one !== 'string');
  const texts = inputs.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
  const results = (isOfParts ? [texts.join('\n')] : texts).map((text) =>
    moderationResult(text.includes(FORBIDDEN) ? ['illicit'] : []),
  );
  const answer = { id: `modr-${textOf(attempt.requestId)}`, model: attempt.upstreamModel, results };
  const tokens = tokensOf(texts.reduce((sum, text) => sum + bytesOf(text), 0));
  return otherReply(attempt, JSON.stringify(answer), usageOf(tokens), requestIdOf(attempt));
}

function requestIdOf({ requestId }: Attempt): string {
  return `req_sandbox${requestId.slice(requestId.indexOf('_') + 1)}`;
}
