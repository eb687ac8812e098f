// Vocabularies of byte pair encoding, loaded when first used. The library merges the pairs of a piece of text in quadratic
// time, so pieces are bounded; those of ordinary text are shorter.

import { parseDigits } from '../base/checked-number.ts';
import { bounds } from '../config/config.ts';
import type { VocabularyName } from './families.ts';

export interface Vocabulary {
  /** In linear time. */
  countTokens(text: string): number;
}

/** In a process or thread, each is loaded once. */
const loaded = new Map<VocabularyName, Promise<Vocabulary>>();

export function loadVocabulary(name: VocabularyName): Promise<Vocabulary> {
  const known = loaded.get(name);
  if (known !== undefined) return known;
  const loading = load(name);
  loaded.set(name, loading);
  loading.catch(() => loaded.delete(name));
  return loading;
}

type Ranks = (string | readonly number[])[];

interface Encoding {
  bytePairRankDecoder: Readonly<Ranks>;
  tokenSplitRegex: RegExp;
  specialTokensEncoder?: Map<string, number>;
}

async function load(name: VocabularyName): Promise<Vocabulary> {
  const { BytePairEncodingCore } = await import('gpt-tokenizer/BytePairEncodingCore');
  const encoding = await loadEncoding(name);
  const core = new BytePairEncodingCore({
    ...encoding,
    tokenSplitRegex: boundPieces(encoding.tokenSplitRegex),
    mergeCacheSize: bounds.tokenizerCachedPiecesMax,
  });
  return { countTokens: (text) => core.countNative(text) };
}

async function loadEncoding(name: VocabularyName): Promise<Encoding> {
  if (name === 'claude') return readClaude();
  if (name === 'cl100k') {
    const { default: ranks } = await import('gpt-tokenizer/bpeRanks/cl100k_base');
    return (await import('gpt-tokenizer/encodingParams/cl100k_base')).Cl100KBase(ranks);
  }
  const { default: ranks } = await import('gpt-tokenizer/bpeRanks/o200k_base');
  return (await import('gpt-tokenizer/encodingParams/o200k_base')).O200KBase(ranks);
}

/** Anthropic publishes its vocabulary in the text format of tiktoken: lines of "! first-rank token token …". */
async function readClaude(): Promise<Encoding> {
  const { default: file } = await import('@anthropic-ai/tokenizer/claude.json');
  const ranks: Ranks = [];
  for (const line of file.bpe_ranks.split('\n')) {
    const [, first, ...tokens] = line.split(' ');
    const rank = parseDigits(first ?? '');
    for (const [at, token] of tokens.entries()) ranks[rank + at] = readToken(token);
  }
  const specialTokensEncoder = new Map(Object.entries(file.special_tokens));
  return { bytePairRankDecoder: ranks, tokenSplitRegex: new RegExp(file.pat_str, 'gu'), specialTokensEncoder };
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Text if the bytes are valid UTF-8, as the library expects. */
function readToken(base64: string): string | number[] {
  const bytes = Buffer.from(base64, 'base64');
  try {
    return decoder.decode(bytes);
  } catch {
    return [...bytes];
  }
}

/** The same expression with repetitions of at most `tokenizerPieceCharactersMax`. */
function boundPieces({ source, flags }: RegExp): RegExp {
  const most = bounds.tokenizerPieceCharactersMax;
  return new RegExp(source.replaceAll('+', `{1,${most}}`).replaceAll('*', `{0,${most}}`), flags);
}
