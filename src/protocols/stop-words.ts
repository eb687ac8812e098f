// How answers end: what each word of a vendor means, read by all kinds of providers and written by fronts. docs/providers.md
// lists the same table.

export type StopReason =
  | 'end_turn'
  | 'tool_use'
  | 'stop_sequence'
  | 'pause_turn'
  | 'max_tokens'
  | 'model_context_window_exceeded'
  | 'refusal';

/**
 * An answer with its stop reason; `unusable`: the model's own output leaves no usable result, and is billed as reported;
 * `unclear`: as a word that no vendor lists; otherwise a fault of the provider.
 */
export type Ending = StopReason | 'unusable' | 'unclear' | 'failed' | 'overloaded';

export type EndingProtocol = 'chat' | 'gemini' | 'converse' | 'responses' | 'messages';

interface Vendor {
  name: string;
  protocol: EndingProtocol;
  /** The vendor's list, or code that was generated from it. */
  source: string;
  /** When the source was read. */
  checked: string;
  words: Readonly<Record<string, Ending>>;
}

/**
 * The first vendor of a protocol with a word decides, then the first of any: routers pass on the words of others. A front writes the
 * first word of the first vendor of its protocol.
 */
export const VENDORS: readonly Vendor[] = [
  {
    name: 'OpenAI Chat Completions',
    protocol: 'chat',
    source: 'https://docs.rs/openai-struct/latest/openai_struct/models/finish_reason/',
    checked: '2026-11-28',
    words: {
      stop: 'end_turn',
      length: 'max_tokens',
      tool_calls: 'tool_use',
      function_call: 'tool_use',
      content_filter: 'refusal',
    },
  },
  {
    name: 'DeepSeek',
    protocol: 'chat',
    source: 'https://docs.rs/crate/ds-api/latest/source/src/raw/response/non_streaming/finish_reason.rs',
    checked: '2026-11-28',
    words: { insufficient_system_resource: 'overloaded' },
  },
  {
    name: 'Mistral',
    protocol: 'chat',
    source: 'https://docs.rs/crate/mistral-openapi-client/latest/source/src/models/chat_completion_choice.rs',
    checked: '2026-11-28',
    words: { model_length: 'max_tokens', error: 'failed' },
  },
  {
    name: 'Z.ai (Zhipu)',
    protocol: 'chat',
    source: 'https://github.com/mozilla-ai/any-llm/pull/1204',
    checked: '2026-11-28',
    words: { sensitive: 'refusal', network_error: 'failed', model_context_window_exceeded: 'max_tokens' },
  },
  {
    name: 'vLLM',
    protocol: 'chat',
    source: 'https://github.com/vllm-project/vllm/blob/main/vllm/v1/engine/__init__.py',
    checked: '2026-11-28',
    words: { abort: 'failed', repetition: 'max_tokens' },
  },
  {
    name: 'Text Generation Inference',
    protocol: 'chat',
    source: 'https://socket.dev/npm/package/@huggingface/inference/diff/2.6.7',
    checked: '2026-11-28',
    words: { eos_token: 'end_turn' },
  },
  {
    name: 'IBM watsonx',
    protocol: 'chat',
    source:
      'https://ibm.github.io/watsonx-ai-node-sdk/enums/1_7_x.WatsonXAI.TextChatResultChoice.Constants.FinishReason.html',
    checked: '2026-11-28',
    words: { time_limit: 'max_tokens', cancelled: 'failed' },
  },
  {
    name: 'IBM watsonx (text generation)',
    protocol: 'chat',
    source: 'https://ibm.github.io/watsonx-ai-node-sdk/interfaces/0_1_x.WatsonXAI.TextGenResult-1.html',
    checked: '2026-11-29',
    words: { token_limit: 'max_tokens' },
  },
  {
    name: 'Cohere',
    protocol: 'chat',
    source:
      'https://docs.oracle.com/en-us/iaas/tools/dotnet/latest/api/Oci.GenerativeaiinferenceService.Models.CohereChatResponse.FinishReasonEnum.html',
    checked: '2026-11-28',
    words: {
      complete: 'end_turn',
      tool_call: 'tool_use',
      error_limit: 'max_tokens',
      error_toxic: 'refusal',
      user_cancel: 'failed',
    },
  },
  {
    name: 'Cohere (v2)',
    protocol: 'chat',
    source: 'https://github.com/cohere-ai/cohere-python/blob/main/src/cohere/types/chat_finish_reason.py',
    checked: '2026-11-29',
    words: { timeout: 'failed' },
  },
  {
    name: 'Together',
    protocol: 'chat',
    source: 'https://github.com/togethercomputer/together-typescript/blob/main/src/resources/completions.ts',
    checked: '2026-11-29',
    words: { eos: 'end_turn' },
  },
  {
    name: 'Gemini, Vertex AI',
    protocol: 'gemini',
    source: 'https://ai.google.dev/api/generate-content#FinishReason',
    checked: '2026-11-28',
    words: {
      STOP: 'end_turn',
      MAX_TOKENS: 'max_tokens',
      CONTINUATION: 'max_tokens', // a hop of https://ai.google.dev/gemini-api/docs/generate-content/long-decode
      SAFETY: 'refusal',
      RECITATION: 'refusal',
      LANGUAGE: 'refusal',
      BLOCKLIST: 'refusal',
      PROHIBITED_CONTENT: 'refusal',
      SPII: 'refusal',
      MODEL_ARMOR: 'refusal',
      IMAGE_SAFETY: 'refusal',
      IMAGE_PROHIBITED_CONTENT: 'refusal',
      IMAGE_RECITATION: 'refusal',
      IMAGE_OTHER: 'refusal',
      NO_IMAGE: 'unusable',
      MALFORMED_FUNCTION_CALL: 'unusable',
      UNEXPECTED_TOOL_CALL: 'unusable',
      TOO_MANY_TOOL_CALLS: 'unusable',
      MISSING_THOUGHT_SIGNATURE: 'unusable',
      MALFORMED_RESPONSE: 'unusable',
      OTHER: 'unclear',
    },
  },
  {
    name: 'Bedrock Converse',
    protocol: 'converse',
    source: 'https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_MessageStopEvent.html',
    checked: '2026-11-28',
    words: {
      end_turn: 'end_turn',
      tool_use: 'tool_use',
      stop_sequence: 'stop_sequence',
      max_tokens: 'max_tokens',
      model_context_window_exceeded: 'model_context_window_exceeded',
      guardrail_intervened: 'refusal',
      content_filtered: 'refusal',
      malformed_model_output: 'unusable',
      malformed_tool_use: 'unusable',
    },
  },
  {
    name: 'OpenAI Responses (`incomplete_details.reason`)',
    protocol: 'responses',
    source: 'https://docs.rs/crate/openai-client-base/0.16.0/source/src/models/object0_21.rs',
    checked: '2026-11-28',
    words: { max_output_tokens: 'max_tokens', content_filter: 'refusal' },
  },
  {
    name: 'Messages',
    protocol: 'messages',
    source: 'https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons',
    checked: '2026-11-28',
    words: {
      end_turn: 'end_turn',
      tool_use: 'tool_use',
      stop_sequence: 'stop_sequence',
      pause_turn: 'pause_turn',
      max_tokens: 'max_tokens',
      model_context_window_exceeded: 'model_context_window_exceeded',
      refusal: 'refusal',
    },
  },
];

/**
 * Words that servers of Chat Completions are reported to send, without a list of a vendor to verify them: `normal` of Baidu Qianfan,
 * `max_output` of MiniMax, and other words for the same.
 */
export const UNLISTED: Readonly<Record<string, Ending>> = {
  normal: 'end_turn',
  completed: 'end_turn',
  finished: 'end_turn',
  max_output: 'max_tokens',
  max_length: 'max_tokens',
  canceled: 'failed',
};

/** The word as the table is searched for it: "MAX_TOKENS", "max-tokens" and "maxTokens" are one word. */
function plainWord(word: string): string {
  return word.toLowerCase().replaceAll(/[^a-z0-9]+/g, '');
}

const found = new Map<EndingProtocol | 'any', Map<string, Ending>>();
for (const { protocol, words } of [...VENDORS, { protocol: 'chat' as const, words: UNLISTED }])
  for (const place of [protocol, 'any'] as const) {
    const known = found.get(place) ?? new Map<string, Ending>();
    for (const [word, ending] of Object.entries(words))
      if (!known.has(plainWord(word))) known.set(plainWord(word), ending);
    found.set(place, known);
  }

/** The last part with a known word decides, as in "FinishReason.MAX_TOKENS" and Gemini's "content_filter: SAFETY". */
export function endingOf(word: string, protocol: EndingProtocol): Ending {
  for (const part of word.split(/[.:]/).reverse()) {
    const plain = plainWord(part);
    const ending = found.get(protocol)?.get(plain) ?? found.get('any')?.get(plain);
    if (ending !== undefined) return ending;
  }
  return 'unclear';
}

/** The word of a protocol for a stop reason; null: it has none, as for a turn that ended in another way. */
export function wordOf(stopReason: unknown, protocol: EndingProtocol): string | null {
  const known = wordsOf('messages').find(([reason]) => reason === stopReason)?.[1];
  const wordFor = (ending?: Ending) => wordsOf(protocol).find(([, meaning]) => meaning === ending)?.[0] ?? null;
  return wordFor(known) ?? (known === 'model_context_window_exceeded' ? wordFor('max_tokens') : null);
}

function wordsOf(protocol: EndingProtocol): [word: string, ending: Ending][] {
  return Object.entries(VENDORS.find((vendor) => vendor.protocol === protocol)?.words ?? {});
}
