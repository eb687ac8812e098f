// What the families that speak Chat Completions know, as data: names of parameters, limits, forms. A family is
// known by the host of its address; where models of one family differ, by the model's name. Nothing is asked.

import type { Effort } from '../effort.ts';

export interface Profile {
  family: string;
  /** Where the API stands when the address of the provider has no path of its own. */
  rootPath: string;
  keyHeader: 'authorization' | 'api-key';
  maxTokens: 'max_tokens' | 'max_completion_tokens';
  systemRole: 'system' | 'developer';
  /** Whether a system message may stand in the middle; else it becomes text of the user. */
  systemAnywhere: boolean;
  /** Whether a user's message may follow the results of tools; else it becomes part of the last of them. */
  userAfterTools: boolean;
  /** What an assistant's message has as content when it only calls tools. */
  contentOfCalls: null | '';
  /** Whether the usage of a stream has to be asked for, by `stream_options`. */
  streamUsage: boolean;
  /** What may be sent of sampling; the rest is a hint that is left out. */
  sampling: readonly ('temperature' | 'top_p' | 'top_k')[];
  /** What it takes besides, where it takes any, that only a request which came in this very protocol can name. */
  ownSampling: readonly ('frequency_penalty' | 'presence_penalty' | 'seed')[];
  /** How many stop sequences it takes. */
  stopMax: number;
  /** Whether it listens to `tool_choice`: a call can be demanded, or forbidden. */
  demandsTools: boolean;
  parallelToolCalls: boolean;
  strictTools: boolean;
  /** What an id of a call must look like, and how long an id of ours is made for it. */
  toolIds: { form: RegExp; madeCharacters: number };
  /** Whether it fetches images itself. */
  imageUrls: boolean;
  /** How a PDF is carried, and whether it fetches one itself. */
  documents: { form: 'file' | 'document_url'; urls: boolean } | null;
  jsonSchema: boolean;
  /** Which parameter asks for thinking; null: the model thinks or does not. */
  thinking: 'reasoning_effort' | 'thinking' | 'reasoning' | null;
  /** The efforts that it knows. */
  efforts: readonly Effort[];
  /** What becomes of the effort where tools are given: some models refuse the two together. */
  effortWithTools: 'sent' | 'left out' | 'none';
  /** How thinking goes back to it; null: it is left out. */
  thinkingBack: 'reasoning_content' | 'reasoning_details' | null;
  /** Thinking may stand at the beginning of the text, between <think> and </think>. */
  thinkTags: boolean;
  /** Whether an answer may be begun for the model, by a last message of the assistant. */
  prefill: boolean;
  /** Whether cache breakpoints travel on. */
  cacheControl: boolean;
  /** Where a hash of `metadata.user_id` goes. */
  endUser: 'safety_identifier' | 'user' | null;
}

const NO_LIMIT = Number.POSITIVE_INFINITY;

/** What every server of this protocol is believed to take: vLLM, llama.cpp, SGLang, LM Studio and the like. */
const compatible: Profile = {
  family: 'compatible',
  rootPath: '/v1',
  keyHeader: 'authorization',
  maxTokens: 'max_tokens',
  systemRole: 'system',
  systemAnywhere: false,
  userAfterTools: true,
  contentOfCalls: '',
  streamUsage: true,
  sampling: ['temperature', 'top_p'],
  ownSampling: ['frequency_penalty', 'presence_penalty', 'seed'],
  stopMax: NO_LIMIT,
  demandsTools: true,
  parallelToolCalls: true,
  strictTools: false,
  toolIds: { form: /^.{1,64}$/, madeCharacters: 40 },
  imageUrls: true,
  documents: null,
  jsonSchema: true,
  thinking: null,
  efforts: [],
  effortWithTools: 'sent',
  thinkingBack: null,
  thinkTags: true,
  prefill: true,
  cacheControl: false,
  endUser: null,
};

const openai: Profile = {
  ...compatible,
  family: 'openai',
  maxTokens: 'max_completion_tokens',
  systemAnywhere: true,
  contentOfCalls: null,
  stopMax: 4,
  strictTools: true,
  toolIds: { form: /^.{1,40}$/, madeCharacters: 40 },
  documents: { form: 'file', urls: false },
  thinkTags: false,
  prefill: false,
  endUser: 'safety_identifier',
};

const azure: Profile = { ...openai, family: 'azure', rootPath: '/openai/v1', keyHeader: 'api-key', endUser: null };

const openrouter: Profile = {
  ...compatible,
  family: 'openrouter',
  rootPath: '/api/v1',
  systemAnywhere: true,
  contentOfCalls: null,
  sampling: ['temperature', 'top_p', 'top_k'],
  strictTools: true,
  documents: { form: 'file', urls: true },
  thinking: 'reasoning',
  efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
  thinkingBack: 'reasoning_details',
  thinkTags: false,
  cacheControl: true,
  endUser: 'user',
};

const deepseek: Profile = {
  ...compatible,
  family: 'deepseek',
  stopMax: 16,
  parallelToolCalls: false,
  jsonSchema: false,
  imageUrls: false,
  thinking: 'thinking',
  efforts: ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
  thinkingBack: 'reasoning_content',
  thinkTags: false,
  prefill: false,
};

const mistral: Profile = {
  ...compatible,
  family: 'mistral',
  ownSampling: ['frequency_penalty', 'presence_penalty'],
  userAfterTools: false,
  streamUsage: false, // it is always sent, and the option is refused
  strictTools: true,
  toolIds: { form: /^[A-Za-z0-9]{9}$/, madeCharacters: 9 },
  documents: { form: 'document_url', urls: true },
  thinkTags: false,
  prefill: false,
};

const groq: Profile = {
  ...compatible,
  family: 'groq',
  rootPath: '/openai/v1',
  maxTokens: 'max_completion_tokens',
  stopMax: 4,
  prefill: false,
};

const xai: Profile = {
  ...compatible,
  family: 'xai',
  ownSampling: ['seed'],
  maxTokens: 'max_completion_tokens',
  systemAnywhere: true,
  stopMax: 4,
  thinkTags: false,
  prefill: false,
};

const moonshot: Profile = {
  ...compatible,
  family: 'moonshot',
  stopMax: 5,
  parallelToolCalls: false,
  imageUrls: false,
  thinkingBack: 'reasoning_content',
  thinkTags: false,
  prefill: false,
};

const ollama: Profile = {
  ...compatible,
  family: 'ollama',
  demandsTools: false,
  parallelToolCalls: false,
  imageUrls: false,
};

/** Hosts of each family; one that begins with a dot stands for all below it. */
const HOSTS: readonly [host: string, profile: Profile][] = [
  ['api.openai.com', openai],
  ['.api.openai.com', openai], // of a region
  ['.openai.azure.com', azure],
  ['.services.ai.azure.com', azure],
  ['.cognitiveservices.azure.com', azure],
  ['openrouter.ai', openrouter],
  ['api.deepseek.com', deepseek],
  ['api.mistral.ai', mistral],
  ['api.groq.com', groq],
  ['api.x.ai', xai],
  ['.api.x.ai', xai],
  ['api.moonshot.ai', moonshot],
  ['api.moonshot.cn', moonshot],
  ['ollama.com', ollama],
];
const OLLAMA_PORT = '11434'; // of every Ollama that nobody has told otherwise: its host may be any

/** Where models of a family differ from it, one after the other: what comes later wins. */
const MODELS: readonly { families: readonly string[]; model: RegExp; differs: Partial<Profile> }[] = [
  {
    families: ['openai', 'azure'],
    model: /^(?:o\d|codex-|gpt-(?:[5-9]|\d\d)(?!.*-chat))/,
    differs: {
      systemRole: 'developer',
      sampling: [],
      stopMax: 0,
      thinking: 'reasoning_effort',
      efforts: ['low', 'medium', 'high'],
    },
  },
  { families: ['openai', 'azure'], model: /^o\d/, differs: { parallelToolCalls: false } },
  {
    families: ['openai', 'azure'],
    model: /^gpt-5(?![.\d])(?!.*-chat)/,
    differs: { efforts: ['minimal', 'low', 'medium', 'high'] },
  },
  {
    families: ['openai', 'azure'],
    model: /^gpt-5\.1(?!.*-chat)/,
    differs: { efforts: ['none', 'low', 'medium', 'high'] },
  },
  {
    families: ['openai', 'azure'],
    model: /^gpt-5\.[2-5](?!.*-chat)/,
    differs: { efforts: ['none', 'low', 'medium', 'high', 'xhigh'], effortWithTools: 'left out' },
  },
  {
    families: ['openai', 'azure'],
    model: /^gpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|\d\d)(?!.*-chat)/,
    differs: { efforts: ['none', 'low', 'medium', 'high', 'xhigh'], effortWithTools: 'none' },
  },
  { families: ['xai'], model: /^grok-(?:3-mini|[4-9]|code)/, differs: { stopMax: 0 } },
  {
    families: ['xai'],
    model: /^grok-3-mini/,
    differs: { thinking: 'reasoning_effort', efforts: ['low', 'high'] },
  },
  {
    families: ['moonshot'],
    model: /^kimi-k(?:2\.[5-9]|[3-9])/,
    differs: { sampling: [], thinking: 'thinking' },
  },
  { families: ['deepseek'], model: /reasoner/, differs: { thinking: null } }, // it is its name that makes it think
  {
    families: ['groq', 'ollama', 'compatible'],
    model: /gpt-oss/,
    differs: { thinking: 'reasoning_effort', efforts: ['low', 'medium', 'high'], thinkTags: false },
  },
  { families: ['compatible'], model: /deepseek|kimi/, differs: { thinkingBack: 'reasoning_content' } },
  {
    families: ['compatible'],
    model: /mistral|mixtral|ministral|magistral|devstral|codestral|pixtral/,
    differs: { userAfterTools: false, toolIds: mistral.toolIds },
  },
];

/** The profile of a model at an address. Nothing but the two decides, so that it is the same for every request. */
export function chooseProfile(baseUrl: string, model: string): Profile {
  const url = URL.parse(baseUrl);
  const known = HOSTS.find(([host]) => (host.startsWith('.') ? url?.hostname.endsWith(host) : url?.hostname === host));
  const family = known?.[1] ?? (url?.port === OLLAMA_PORT ? ollama : compatible);
  const name = model.toLowerCase().replace(/^ft:/, '');
  const differences = MODELS.filter(({ families, model }) => families.includes(family.family) && model.test(name));
  return Object.assign({}, family, ...differences.map(({ differs }) => differs));
}
