// Which vocabulary counts the text of which model. Only those of OpenAI's models are public and exact; for the others,
// the nearest one and a factor, which is at the low end of what was measured.

export type VocabularyName = 'o200k' | 'cl100k' | 'claude';

export const SCRIPTS = [
  'Arabic',
  'Cyrillic',
  'Devanagari',
  'Greek',
  'Han',
  'Hangul',
  'Hebrew',
  'Hiragana',
  'Katakana',
  'Thai',
] as const;
export type ScriptFactors = Partial<Record<(typeof SCRIPTS)[number], number>>;

export interface Family {
  readonly vocabulary: VocabularyName;
  /** The vocabulary is the model's own. */
  readonly isExact: boolean;
  /** Tokens of the model per token of the vocabulary. */
  readonly factor: number;
  /** Each digit is a token; the vocabulary has one for up to three. */
  readonly hasSingleDigits: boolean;
  /** Tokens of the model per token of the vocabulary, for text in scripts that the model divides otherwise. */
  readonly scripts: Readonly<ScriptFactors>;
  /** Tokens that a provider adds to a prompt, to each message, to a prompt with tools, to each tool and property. */
  readonly added: AddedTokens;
}

export interface AddedTokens {
  readonly prompt: number;
  readonly message: number;
  readonly tools: number;
  readonly tool: number;
  readonly property: number;
}

// Sources, read on 28 November 2026:
// OpenAI: "How to count tokens with tiktoken" in its cookbook.
// Claude: the vocabulary of Anthropic's package `@anthropic-ai/tokenizer`, which is of Claude 2. The package
// `ai-tokenizer` 1.0.6 publishes 1.1 and the added tokens, within 0.4 % of the API's counts for Claude 3 to 4.5 at 50,000
// tokens. "Token counting" in Anthropic's documentation: from Opus 4.7 on, about 30 % more tokens.
// Gemini, Qwen: measured with the vocabularies of Gemma 3 and Qwen 3 over the texts of test/unit/tokenizer/kinds.ts.
// docs/decisions/0025-tokenizer.md has the figures.
const OPENAI_ADDED: AddedTokens = { prompt: 3, message: 3, tools: 0, tool: 19, property: 3 };
const CLAUDE_ADDED: AddedTokens = { prompt: 6, message: 2, tools: 317, tool: 53, property: 12 };
const GEMINI_ADDED: AddedTokens = { prompt: 0, message: 0, tools: 0, tool: 0, property: 2 };

const CLAUDE_FACTOR = 1.1;
const CLAUDE_LATER_FACTOR = CLAUDE_FACTOR * 1.3;
const GEMINI_FACTOR = 1.03;

const OPENAI = { isExact: true, factor: 1, hasSingleDigits: false, scripts: {}, added: OPENAI_ADDED };
const NEAREST = { ...OPENAI, isExact: false };
const CLAUDE = {
  vocabulary: 'claude',
  isExact: false,
  hasSingleDigits: false,
  scripts: {},
  added: CLAUDE_ADDED,
} as const;

// Measured with the vocabularies of Qwen 3, DeepSeek 3 and Llama 3 over news and questions in each language: 1.00 in English, 0.99 to 1.06
// for code and JSON.
const QWEN_SCRIPTS: ScriptFactors = {
  Arabic: 1.22,
  Cyrillic: 1.32,
  Devanagari: 3.13,
  Greek: 2.91,
  Han: 0.81,
  Hangul: 1.17,
  Hebrew: 0.91,
  Hiragana: 0.82,
  Katakana: 0.82,
  Thai: 1.19,
};
const DEEPSEEK_SCRIPTS: ScriptFactors = {
  Arabic: 1.22,
  Cyrillic: 1.23,
  Devanagari: 1.93,
  Greek: 1.53,
  Han: 0.8,
  Hangul: 1.19,
  Hebrew: 1.26,
  Hiragana: 0.82,
  Katakana: 0.82,
  Thai: 0.95,
};
const LLAMA_SCRIPTS: ScriptFactors = {
  Arabic: 1.31,
  Cyrillic: 1.3,
  Devanagari: 1.73,
  Greek: 1.24,
  Han: 1.06,
  Hangul: 1.07,
  Hebrew: 2.69,
  Hiragana: 0.88,
  Katakana: 0.88,
  Thai: 1.07,
};

/** By the provider's name of the model; the first that matches. */
const families: readonly (readonly [models: RegExp, family: Family])[] = [
  [
    /claude-(?:opus-4[-.](?:[7-9]|\d\d)(?!\d)|(?:opus|sonnet|haiku)-(?:[5-9]|\d\d)(?!\d)|fable|mythos)/,
    { ...CLAUDE, factor: CLAUDE_LATER_FACTOR },
  ],
  [/claude/, { ...CLAUDE, factor: CLAUDE_FACTOR }],
  [/gpt-4(?![o.\d])|gpt-3\.?5|text-embedding-(?:3|ada)/, { ...OPENAI, vocabulary: 'cl100k' }],
  [/gpt-|(?:^|[/.])o[1-9](?:$|-)/, { ...OPENAI, vocabulary: 'o200k' }],
  [
    /gemini|gemma/,
    { ...NEAREST, vocabulary: 'o200k', factor: GEMINI_FACTOR, hasSingleDigits: true, added: GEMINI_ADDED },
  ],
  [/qwen|qwq/, { ...NEAREST, vocabulary: 'o200k', hasSingleDigits: true, scripts: QWEN_SCRIPTS }],
  [/deepseek/, { ...NEAREST, vocabulary: 'o200k', scripts: DEEPSEEK_SCRIPTS }],
  [/llama/, { ...NEAREST, vocabulary: 'o200k', scripts: LLAMA_SCRIPTS }],
];

const OTHERS: Family = { ...NEAREST, vocabulary: 'o200k' };

export function familyOf(model: string): Family {
  const name = model.toLowerCase();
  return families.find(([models]) => models.test(name))?.[1] ?? OTHERS;
}
