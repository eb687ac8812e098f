// Which fields beyond the protocols a provider gets: parameters of self-hosted servers and routers, by the operator's word.
// A client never decides what a message can cost, or what the server does for other clients.

import { z } from 'zod';
import { bounds } from '../config/config.ts';
import { isJsonObject, type JsonValue } from '../wire/wire.ts';

/** Every field but those that are never passed on, and those that must be named. */
export const PASS_ALL = 'all';

const PENALTIES = ['frequency_penalty', 'presence_penalty'];
const SAMPLING = ['seed', 'top_k', 'min_p', 'logit_bias', ...PENALTIES];

/** Names for the fields of a server, each read in November 2026 in the server's source or its pages. */
export const PASS_PRESETS: Readonly<Record<string, readonly string[]>> = {
  // https://github.com/ollama/ollama/blob/main/openai/openai.go, ChatCompletionRequest (of August 2026), which has no
  // others, not even `top_k`. The last three are for routers in front of Ollama's own API: ChatRequest of api/types.go.
  ollama: ['seed', ...PENALTIES, 'reasoning', 'reasoning_effort', 'options', 'keep_alive', 'think'],
  // https://github.com/vllm-project/vllm/blob/main/vllm/entrypoints/openai/chat_completion/protocol.py,
  // ChatCompletionRequest. Fields that begin with "guided_" are of versions before 0.12
  // (https://docs.vllm.ai/en/latest/features/structured_outputs/).
  vllm: [
    ...SAMPLING,
    ...['repetition_penalty', 'repetition_detection', 'min_tokens', 'stop_token_ids', 'bad_words', 'allowed_token_ids'],
    ...['ignore_eos', 'skip_special_tokens', 'spaces_between_special_tokens', 'include_stop_str_in_output'],
    ...['guided_json', 'guided_regex', 'guided_choice', 'guided_grammar', 'guided_whitespace_pattern'],
    ...['structured_outputs', 'chat_template_kwargs', 'reasoning_effort', 'include_reasoning'],
    ...['add_generation_prompt', 'continue_final_message', 'add_special_tokens'],
    ...['truncate_prompt_tokens', 'truncation_side', 'thinking_token_budget'],
  ],
  // https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md, "/completion" and "/v1/chat/completions",
  // which takes the options of the first, too; the budget and the two of "adaptive": server-task.cpp beside it.
  'llama.cpp': [
    ...SAMPLING,
    ...['typical_p', 'top_n_sigma', 'xtc_probability', 'xtc_threshold', 'dynatemp_range', 'dynatemp_exponent'],
    ...['repeat_penalty', 'repeat_last_n', 'mirostat', 'mirostat_tau', 'mirostat_eta', 'samplers', 'min_keep'],
    ...['adaptive_target', 'adaptive_decay'],
    ...['dry_multiplier', 'dry_base', 'dry_allowed_length', 'dry_penalty_last_n', 'dry_sequence_breakers'],
    ...['grammar', 'json_schema', 'ignore_eos', 'n_indent', 'n_keep', 'cache_prompt', 't_max_predict_ms'],
    ...['chat_template_kwargs', 'reasoning_format', 'reasoning_effort', 'reasoning_budget_tokens'],
  ],
  // https://openrouter.ai/docs/api_reference/parameters; `reasoning_effort`:
  // https://openrouter.ai/docs/client-sdks/typescript/models/chatrequestreasoningeffort.md; `include_reasoning` is among the
  // `supported_parameters` of https://openrouter.ai/api/v1/models. `transforms` became a plugin
  // (https://openrouter.ai/docs/guides/features/message-transforms.md).
  openrouter: [
    ...SAMPLING,
    ...['top_a', 'repetition_penalty', 'reasoning', 'reasoning_effort', 'include_reasoning', 'structured_outputs'],
    'verbosity',
  ],
  // https://lmstudio.ai/docs/developer/openai-compat/chat-completions, "Supported payload parameters";
  // https://lmstudio.ai/docs/api/ttl-and-auto-evict; `reasoning` at /v1/responses: https://lmstudio.ai/docs/developer/api-changelog.
  'lm-studio': ['seed', 'top_k', 'logit_bias', ...PENALTIES, 'repeat_penalty', 'ttl', 'reasoning'],
  // https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/entrypoints/openai/protocol.py,
  // ChatCompletionRequest; `json_schema` is of its CompletionRequest.
  sglang: [
    ...SAMPLING,
    ...['repetition_penalty', 'min_tokens', 'stop_token_ids', 'stop_regex', 'no_stop_trim', 'ignore_eos'],
    ...['skip_special_tokens', 'continue_final_message', 'regex', 'ebnf', 'json_schema'],
    ...['chat_template_kwargs', 'separate_reasoning', 'stream_reasoning', 'reasoning', 'reasoning_effort'],
  ],
};

/** Never passed on, in any spelling and at any depth. */
const NEVER: readonly string[] = [
  // decided by this service: the request itself, and who sends it
  ...['model', 'messages', 'input', 'prompt', 'system', 'instructions', 'stream', 'stream_options', 'tools'],
  ...['tool_choice', 'functions', 'function_call', 'user', 'safety_identifier', 'prompt_cache_key', 'store'],
  ...['extra_body', 'extra_headers', 'extra_query'],
  // more output than is returned to the client
  ...[
    'n',
    'n_cmpl',
    'best_of',
    'use_beam_search',
    'beam_width',
    'num_beams',
    'num_return_sequences',
    'num_generations',
  ],
  ...['num_completions', 'candidate_count', 'prediction', 'logprobs', 'top_logprobs', 'prompt_logprobs', 'n_probs'],
  ...['echo', 'background', 'deferred'],
  ...['n_predict', 'num_predict', 'max_gen_len', 'max_length'],
  'stream_interval', // output in few large pieces, each of which the hold would have to cover at once
  // other prices, models and charged tools
  ...['service_tier', 'speed', 'inference_geo', 'models', 'route', 'preset', 'fallbacks', 'plugins', 'modalities'],
  ...['audio', 'image_config', 'mcp_servers', 'container', 'code_execution', 'prompt_cache_retention', 'draft_model'],
  ...['prompt_cache_options', 'cache_control', 'previous_response_id', 'conversation', 'max_tool_calls', 'include'],
  // more prompt than is counted here
  ...['documents', 'mm_processor_kwargs', 'media_io_kwargs', 'input_ids', 'input_embeds', 'prompt_embeds'],
  ...['prompt_token_ids', 'images', 'audios', 'videos', 'images_config', 'use_audio_in_video'],
  ...['max_dynamic_patch', 'min_dynamic_patch'],
  // templates and code, other requests, and addresses that the server calls
  ...['chat_template', 'chat_parser', 'tokenize', 'tokenizer_kwargs', 'logits_processors', 'custom_logit_processor'],
  ...['custom_params', 'ngram_corpus_id'],
  ...['lora', 'lora_path', 'lora_id', 'adapter_id', 'adapter_source', 'kv_transfer_params', 'ec_transfer_params'],
  'bootstrap_host',
  ...['bootstrap_port', 'bootstrap_room', 'session_params', 'id_slot', 'slot_id', 'request_id', 'rid', 'priority'],
  ...['data_parallel_rank', 'routed_dp_rank', 'disagg_prefill_dp_rank', 'return_hidden_states', 'vllm_xargs'],
];
const NEVER_PLAIN: ReadonlySet<string> = new Set(NEVER.map(plainName));
/** Limits of output under other names, and web search. */
const NEVER_PATTERN = /max.*tokens|max.*length|^(?:num|n)predict|search/;

/** Passed on only where they are named: OpenRouter's `provider` may choose hosts at a higher price. */
const ONLY_NAMED: readonly string[] = ['provider'];

/** Not looked into. Most are of the server's own languages, with names of the client's: a schema may have a property "model". */
const OPAQUE: readonly string[] = [
  ...['guided_json', 'guided_regex', 'guided_choice', 'guided_grammar', 'guided_decoding', 'structured_outputs'],
  ...['response_format', 'json_schema', 'grammar', 'format', 'logit_bias'],
  ...['reasoning', 'provider'], // a budget, which the message has, too; limits of prices
];

/** Templates write its values into the prompt, uncounted: only switches and short words are passed on. */
const TEMPLATE_VALUES = 'chat_template_kwargs';
const TEMPLATE_CHARACTERS_MAX = 64;

/** Letters of ASCII first, so that no server folds another character to one of a known name (Go: "ſ" to "s"). */
const NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;
const NAMES_MAX = 256;

/** The same for every spelling that a server may read as one name: Go's JSON ignores case, others have aliases. */
function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

function isNever(name: string): boolean {
  const plain = plainName(name);
  return !NAME.test(name) || NEVER_PLAIN.has(plain) || NEVER_PATTERN.test(plain);
}

const NEVER_WORDS =
  'is never passed on: it decides what a message costs, is set by this service, or concerns more than the message';

const passName = z
  .string()
  .refine((name) => NAME.test(name), 'must be the name of a field, of at most 64 letters, digits, ".", "_" and "-"')
  .refine(
    (name) => !NAME.test(name) || name === PASS_ALL || Object.hasOwn(PASS_PRESETS, name) || !isNever(name),
    NEVER_WORDS,
  );
const passNames = z
  .array(passName)
  .min(1, 'must not be empty: omit it if nothing is passed on')
  .max(NAMES_MAX)
  .refine((names) => new Set(names).size === names.length, 'must not contain a name twice');

/** `all`, a preset, or a list of presets and fields. Stored as a list. */
export const passthroughInput = z.preprocess(
  (given) => (typeof given === 'string' ? [given] : given),
  passNames,
) as unknown as typeof passNames;

/** The fields that a provider gets. */
export interface Passthrough {
  /** As configured. */
  given: readonly string[];
  isAll: boolean;
  names: ReadonlySet<string>;
}

/** `names` as stored. A preset has the fields of this version. */
export function passthroughFrom(names: readonly string[]): Passthrough {
  const fieldsOf = (name: string) => (Object.hasOwn(PASS_PRESETS, name) ? (PASS_PRESETS[name] ?? []) : [name]);
  const named = names.filter((name) => name !== PASS_ALL).flatMap(fieldsOf);
  return { given: names, isAll: names.includes(PASS_ALL), names: new Set(named) };
}

/** Whether the provider gets a field of this name. */
export function passes(name: string, { isAll, names }: Pick<Passthrough, 'isAll' | 'names'>): boolean {
  if (isNever(name)) return false;
  return names.has(name) || (isAll && !ONLY_NAMED.includes(plainName(name)));
}

/** The value without members that are never passed on; `leftOut` gets the paths of the first ones, cut. */
export function cleanPassed(name: string, value: JsonValue, leftOut: string[]): JsonValue {
  return OPAQUE.includes(name)
    ? value
    : cleanInside(value, { path: name, isOfTemplate: name === TEMPLATE_VALUES }, leftOut);
}

interface Place {
  path: string;
  isOfTemplate: boolean;
}

function cleanInside(value: JsonValue, place: Place, leftOut: string[]): JsonValue {
  if (Array.isArray(value)) return value.map((one) => cleanInside(one, place, leftOut));
  if (!isJsonObject(value) || Object.getPrototypeOf(value) === null) return value; // an exact number
  const kept = Object.entries(value).flatMap(([name, inside]): [string, JsonValue][] => {
    const path = `${place.path}.${name}`.slice(0, bounds.leftOutCharactersMax);
    if (!isNever(name) && (!place.isOfTemplate || isShort(inside))) {
      const below = { path, isOfTemplate: name === TEMPLATE_VALUES };
      return [[name, OPAQUE.includes(name) ? inside : cleanInside(inside, below, leftOut)]];
    }
    if (leftOut.length < bounds.leftOutFieldsMax) leftOut.push(path);
    return [];
  });
  return Object.fromEntries(kept);
}

function isShort(value: JsonValue): boolean {
  if (typeof value === 'string') return value.length <= TEMPLATE_CHARACTERS_MAX;
  return typeof value !== 'object' || value === null;
}
