// The error of a prompt that exceeds the model's context, in the words of Claude's API whatever the provider's are: coding
// agents shorten the conversation when they read "prompt is too long: N tokens > M maximum".

interface Wording {
  /** Servers that use it. */
  of: string;
  /** A public report that quotes it; `PUBLIC_CODE`: several public clients test for it. */
  source: string;
  /** With the groups `prompt`, `max`, and `output` or `total` where it states them. */
  pattern: RegExp;
}

const PUBLIC_CODE = 'as quoted in public code of several clients';

/** Read 2026-11-29. The first match decides. */
export const WORDINGS: readonly Wording[] = [
  {
    of: 'OpenAI, vLLM, DeepSeek, OpenRouter: with the parts of the request',
    source: 'https://github.com/vllm-project/vllm/issues/20409',
    pattern:
      /maximum context length (?:is|of) (?<max>\d+) tokens.{0,80}?(?:requested|asked for)(?: a total of| about)? (?<total>\d+) tokens.{0,20}?\((?<prompt>\d+) (?:of text input|in the (?:messages|prompt)|in your prompt)[^)]*?(?<output>\d+) (?:in the|for the|of the) (?:completion|output)/is,
  },
  {
    of: 'vLLM, also at Bedrock, Cloudflare and DeepInfra: the output first',
    source: PUBLIC_CODE,
    pattern:
      /maximum context length is (?<max>\d+) tokens.{0,40}?requested (?<output>\d+) output tokens.{0,40}?contains (?:at least )?(?<prompt>\d+) input tokens/is,
  },
  {
    of: 'SGLang, and vLLM behind routers: a total',
    source: PUBLIC_CODE,
    pattern:
      /maximum context length of (?<max>\d+) tokens.{0,40}?a total of (?<total>[\d.]+) tokens: (?<prompt>\d+) tokens from the input messages and (?<output>\d+) tokens for the completion/is,
  },
  {
    of: 'vLLM: max_tokens',
    source: PUBLIC_CODE,
    pattern:
      /max(?:_completion)?_tokens\W{0,3} (?:is|are) too large: (?<output>\d+).{0,80}?maximum context length is (?<max>\d+) tokens.{0,40}?has (?<prompt>\d+) input tokens/is,
  },
  {
    of: 'OpenAI (https://github.com/ChatGPTNextWeb/NextChat/issues/625), xAI, vLLM',
    source: 'https://github.com/cline/cline/issues/3120',
    pattern:
      /maximum (?:context|prompt) length (?:is|of) (?<max>\d+)(?: tokens)?.{0,80}?(?:resulted in|requested|contains?|has|given:?)(?: a total of| about| at least)? (?<prompt>\d+)\b(?! output tokens| characters)/is,
  },
  {
    of: 'OpenAI Responses',
    source: PUBLIC_CODE,
    pattern:
      /input tokens exceed the configured limit of (?<max>\d+) tokens.{0,20}?messages resulted in (?<prompt>\d+) tokens/is,
  },
  {
    of: 'Cerebras',
    source: 'https://github.com/cline/cline/issues/5140',
    pattern:
      /reduce the length of the messages or completion\. Current length is (?<prompt>\d+) while limit is (?<max>\d+)/i,
  },
  {
    of: 'vLLM: the engine',
    source: PUBLIC_CODE,
    pattern: /prompt \(length (?<prompt>\d+)\) is longer than the maximum model length of (?<max>\d+)/i,
  },
  {
    of: 'llama.cpp (without counts: https://github.com/ggml-org/llama.cpp/pull/15780), LM Studio',
    source: PUBLIC_CODE,
    pattern:
      /(?:request|prompt)(?: size)? \((?:n_prompt_tokens ?= ?)?(?<prompt>\d+)(?: tokens)?\) exceeds the available context size \((?:n_ctx ?= ?)?(?<max>\d+)/i,
  },
  {
    of: 'LM Studio',
    source: 'https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/546',
    pattern: /keep the first (?<prompt>\d+) tokens.{0,80}?context length of only (?<max>\d+)/is,
  },
  {
    of: 'llama-cpp-python',
    source: 'https://github.com/abetlen/llama-cpp-python/issues/462',
    pattern: /requested tokens \((?<prompt>\d+)\) exceed context window of (?<max>\d+)/i,
  },
  {
    of: 'DS4 servers',
    source: PUBLIC_CODE,
    pattern: /prompt has (?<prompt>\d+) tokens?, but the configured context size is (?<max>\d+)/i,
  },
  {
    of: 'SGLang, Together',
    source: PUBLIC_CODE,
    pattern: /input \((?<prompt>\d+) tokens\) is longer than the model's context length \((?<max>\d+)/i,
  },
  {
    of: 'Mistral',
    source: PUBLIC_CODE,
    pattern: /prompt contains (?<prompt>\d+) tokens.{0,60}?model with (?<max>\d+) maximum context/is,
  },
  {
    of: 'Text Generation Inference',
    source: 'https://github.com/huggingface/chat-ui/issues/340',
    pattern:
      /must (?:be <=|have less than) (?<max>\d+)(?: tokens)?\. Given: (?<prompt>\d+)(?: `?inputs`? tokens and (?<output>\d+) `max_new_tokens`)?/i,
  },
  {
    of: 'Moonshot',
    source: 'https://github.com/MoonshotAI/kimi-cli/issues/2011',
    pattern: /exceeded model token limit: (?<max>\d+) \(requested: (?<prompt>\d+)\)/i,
  },
  {
    of: 'Gemini',
    source: 'https://github.com/google-gemini/gemini-cli/issues/6678',
    pattern: /input token count\D{0,20}(?<prompt>\d+)\D{0,80}maximum number of (?:input )?tokens\D{0,20}(?<max>\d+)/i,
  },
  {
    of: 'GitHub Models and Copilot',
    source: 'https://github.com/jjleng/copilot-more/issues/35',
    pattern: /prompt token count of (?<prompt>\d+) exceeds the limit of (?<max>\d+)/i,
  },
  {
    of: 'Ollama, Fireworks',
    source: PUBLIC_CODE,
    pattern: /prompt is too long: (?<prompt>\d+), model maximum context length: (?<max>\d+)/i,
  },
  {
    of: 'vLLM and SGLang: input length',
    source: PUBLIC_CODE,
    pattern:
      /input length \((?<prompt>\d+)(?: tokens)?\) exceeds (?:the |the model's |model's )?maximum (?:allowed |context )?length (?:of )?\(?(?<max>\d+)/i,
  },
  {
    of: 'Databricks',
    source: 'a report that was not found again',
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
  /\bgreater than the context length\b|\b(?:longer than|exceeds) the (?:model's )?(?:context|length|maximum model) (?:length|limit)\b/i,
  /\breduce the length of the (?:messages|input|prompt)\b|\btotal message size \d+ exceeds limit\b|\bexceed context limit\b/i,
  /\bprompt (?:is )?too long\b|\brange of input length should be\b|\bexceeded max context length\b/i,
  /\bmaximum context length\b/i,
  /\bexceeded model token limit\b|\bexceed max message tokens\b/i, // Moonshot, Volcengine
];

const NAMES =
  /context_length_exceeded|tokens_limit_reached|model_max_prompt_tokens_exceeded|context_window_exceeded|model_context_window_exceeded|exceed_context_size/i;
const AS_CLAUDE =
  /^(?:prompt is too long: \d+ tokens > \d+ maximum|input length and `max_tokens` exceed context limit)/;

/** Longer messages repeat what was sent; a pattern could take long to read them. */
const CHARACTERS_READ = 2_000;

/**
 * The message of a rejected request: a prompt that is too long in Claude's words, others unchanged. `names` are the error's type
 * and code. Source of the words: https://platform.claude.com/docs/en/api/errors (2026-11-29).
 */
export function contextErrorOf(message: string, names = ''): string {
  if (AS_CLAUDE.test(message)) return message;
  const read = message.slice(0, CHARACTERS_READ).replaceAll(/(?<=\d)[,_](?=\d{3}\b)/g, '');
  for (const { pattern } of WORDINGS) {
    const { prompt, max, output } = pattern.exec(read)?.groups ?? {};
    if (prompt === undefined || max === undefined) continue;
    // The prompt alone fits: agents ask for less output.
    if (output !== undefined && isBelow(prompt, max))
      return `input length and \`max_tokens\` exceed context limit: ${prompt} + ${output} > ${max}`;
    return `prompt is too long: ${prompt} tokens > ${max} maximum`;
  }
  const isMeant = NAMES.test(names) || WITHOUT_NUMBERS.some((pattern) => pattern.test(read));
  if (!isMeant) return message;
  return /^prompt is too long/i.test(message) ? message : `prompt is too long: ${message}`;
}
