// The error of a prompt that exceeds the model's context, in the words of Claude's API whatever the provider's are: coding
// agents shorten the conversation when they read "prompt is too long: N tokens > M maximum".

interface Wording {
  /** Servers that use it. */
  of: string;
  source: string;
  /** With the groups `prompt`, `max`, and `output` or `total` where it states them. */
  pattern: RegExp;
}

/** Read 2026-11-29. The first match decides. */
export const WORDINGS: readonly Wording[] = [
  {
    of: 'OpenAI, vLLM, OpenRouter: with the parts of the request',
    source: 'https://github.com/vllm-project/vllm/blob/main/vllm/entrypoints/openai/serving_engine.py',
    pattern:
      /maximum context length (?:is|of) (?<max>\d+) tokens.{0,80}?(?:requested|asked for)(?: a total of| about)? (?<total>\d+) tokens.{0,20}?\((?<prompt>\d+) (?:of text input|in the (?:messages|prompt)|in your prompt)[^)]*?(?<output>\d+) (?:in the|for the|of the) (?:completion|output)/is,
  },
  {
    of: 'vLLM: max_tokens',
    source: 'https://github.com/vllm-project/vllm/blob/main/vllm/entrypoints/utils.py',
    pattern:
      /max(?:_completion)?_tokens\W{0,3} (?:is|are) too large: (?<output>\d+).{0,80}?maximum context length is (?<max>\d+) tokens.{0,40}?has (?<prompt>\d+) input tokens/is,
  },
  {
    of: 'OpenAI, DeepSeek, vLLM, Groq',
    source: 'https://github.com/openai/openai-python/issues/1116',
    pattern:
      /maximum (?:context|prompt) length (?:is|of) (?<max>\d+)(?: tokens)?.{0,80}?(?:resulted in|requested|contains?|has|given:?)(?: a total of| about| at least)? (?<prompt>\d+)(?: (?:input |prompt )?tokens)?/is,
  },
  {
    of: 'vLLM: the engine',
    source: 'https://github.com/vllm-project/vllm/blob/main/vllm/v1/engine/processor.py',
    pattern: /prompt \(length (?<prompt>\d+)\) is longer than the maximum model length of (?<max>\d+)/i,
  },
  {
    of: 'llama.cpp, LM Studio',
    source: 'https://github.com/ggml-org/llama.cpp/blob/master/tools/server/server-context.cpp',
    pattern:
      /(?:request|prompt)(?: size)? \((?:n_prompt_tokens ?= ?)?(?<prompt>\d+)(?: tokens)?\) exceeds the available context size \((?:n_ctx ?= ?)?(?<max>\d+)/i,
  },
  {
    of: 'LM Studio',
    source: 'https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/237',
    pattern: /keep the first (?<prompt>\d+) tokens.{0,80}?context length of only (?<max>\d+)/is,
  },
  {
    of: 'SGLang',
    source: 'https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/managers/tokenizer_manager.py',
    pattern: /input \((?<prompt>\d+) tokens\) is longer than the model's context length \((?<max>\d+)/i,
  },
  {
    of: 'Mistral',
    source: 'https://github.com/mistralai/mistral-vibe/issues/218',
    pattern: /prompt contains (?<prompt>\d+) tokens.{0,60}?model with (?<max>\d+) maximum context/is,
  },
  {
    of: 'Text Generation Inference, Together',
    source: 'https://github.com/huggingface/text-generation-inference/blob/main/router/src/validation.rs',
    pattern:
      /must (?:be <=|have less than) (?<max>\d+)(?: tokens)?\. Given: (?<prompt>\d+)(?: `?inputs`? tokens and (?<output>\d+) `max_new_tokens`)?/i,
  },
  {
    of: 'Moonshot',
    source: 'https://github.com/MoonshotAI/kimi-cli/issues/1018',
    pattern: /exceeded model token limit: (?<max>\d+) \(requested: (?<prompt>\d+)\)/i,
  },
  {
    of: 'Gemini',
    source: 'https://github.com/google-gemini/gemini-cli/issues/2104',
    pattern: /input token count\D{0,20}(?<prompt>\d+)\D{0,80}maximum number of (?:input )?tokens\D{0,20}(?<max>\d+)/i,
  },
  {
    of: 'GitHub Models and Copilot',
    source: 'https://github.com/anomalyco/opencode/issues/2604',
    pattern: /prompt token count of (?<prompt>\d+) exceeds the limit of (?<max>\d+)/i,
  },
  {
    of: 'Fireworks',
    source: 'https://github.com/cline/cline/issues/4389',
    pattern: /prompt is too long: (?<prompt>\d+), model maximum context length: (?<max>\d+)/i,
  },
  {
    of: 'Databricks',
    source: 'https://github.com/BerriAI/litellm/issues/9583',
    pattern: /input tokens? \(?(?<prompt>\d+)\)? exceeds? the (?:configured )?(?:limit|maximum) of (?<max>\d+)/i,
  },
];

/** Compares digits, also beyond what a number holds. */
function isBelow(one: string, other: string): boolean {
  return BigInt(one) < BigInt(other);
}

/** Words of a prompt that is too long, without both numbers: OpenAI, Bedrock, MiniMax, Z.ai, Qwen, Ollama, Cohere and others. */
const WITHOUT_NUMBERS: readonly RegExp[] = [
  /^input (?:is too long|tokens exceeded|length exceeds)\b|^too many input tokens\b|^too many tokens\b/i,
  /\b(?:input|prompt|request|messages?)\b.{0,40}\bexceed(?:s|ed)?\b.{0,60}\b(?:context|max(?:imum)? (?:input )?(?:length|tokens?))\b/is,
  /\bcontext (?:window|length|size)(?: limit)? (?:exceeded|exceeds? (?:the )?limit)\b/i,
  /\bprompt (?:is )?too long\b|\brange of input length should be\b|\bexceeded max context length\b/i,
  /\bmaximum context length\b/i,
];

const NAMES = /context_length_exceeded|context_window_exceeded|model_context_window_exceeded|exceed_context_size/i;
const AS_CLAUDE =
  /^(?:prompt is too long: \d+ tokens > \d+ maximum|input length and `max_tokens` exceed context limit)/;

/**
 * The message of a rejected request: a prompt that is too long in Claude's words, others unchanged. `names` are the error's type
 * and code. Source of the words: https://platform.claude.com/docs/en/api/errors (2026-11-29).
 */
export function contextErrorOf(message: string, names = ''): string {
  if (AS_CLAUDE.test(message)) return message;
  for (const { pattern } of WORDINGS) {
    const { prompt, max, output } = pattern.exec(message.replaceAll(/(?<=\d)[,_](?=\d{3}\b)/g, ''))?.groups ?? {};
    if (prompt === undefined || max === undefined) continue;
    // The prompt alone fits: agents ask for less output.
    if (output !== undefined && isBelow(prompt, max))
      return `input length and \`max_tokens\` exceed context limit: ${prompt} + ${output} > ${max}`;
    return `prompt is too long: ${prompt} tokens > ${max} maximum`;
  }
  const isMeant = NAMES.test(names) || WITHOUT_NUMBERS.some((pattern) => pattern.test(message));
  if (!isMeant) return message;
  return /^prompt is too long/i.test(message) ? message : `prompt is too long: ${message}`;
}
