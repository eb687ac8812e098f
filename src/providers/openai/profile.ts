// Families of Chat Completions providers, selected by host: parameter names, limits, formats.

import { createHash } from 'node:crypto';
import { AZURE_TIERS, GROQ_TIERS, OPENAI_TIERS, type TierWords } from '../../protocols/service-tiers.ts';
import { type ChatTraits, chatTraits, NINE_CHARACTERS } from '../models.ts';

export interface Profile extends ChatTraits {
  family: string;
  /** Path of the API if the base URL has none. */
  rootPath: string;
  keyHeader: 'authorization' | 'api-key';
  maxTokens: 'max_tokens' | 'max_completion_tokens';
  /** Whether system messages may stand in the middle; otherwise they become user text. */
  systemAnywhere: boolean;
  /** Content of an assistant message that only calls tools. */
  contentOfCalls: null | '';
  /** Whether stream usage must be requested with `stream_options`. */
  streamUsage: boolean;
  /** Further parameters that only requests in this protocol can have. */
  ownSampling: readonly ('frequency_penalty' | 'presence_penalty' | 'seed')[];
  /** Whether it respects `tool_choice`: a call can be required or forbidden. */
  demandsTools: boolean;
  strictTools: boolean;
  imageUrls: boolean;
  /** Format of PDFs, and whether it fetches them. */
  documents: { form: 'file' | 'document_url'; urls: boolean } | null;
  jsonSchema: boolean;
  /** Whether the last assistant message may be a prefix of the answer. */
  prefill: boolean;
  /** The member of a message in which thinking is sent back. */
  thinkingMember: 'reasoning_content' | 'reasoning';
  /** Whether calls may have the signatures of Gemini's thoughts beside them. */
  callSignatures: boolean;
  cacheControl: boolean;
  serviceTiers: TierWords;
  /** The field for a hash of `metadata.user_id`. */
  endUser: 'safety_identifier' | 'user' | null;
}

const NO_LIMIT = Number.POSITIVE_INFINITY;

/** The default profile: vLLM, llama.cpp, SGLang, LM Studio and others. */
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
  thinkingMember: 'reasoning_content',
  thinkTags: true,
  prefill: true,
  callSignatures: true, // Gemini at Google's own address, and routers before it
  cacheControl: false,
  serviceTiers: {},
  endUser: null,
};

/** Providers with their own models: thinking is never in the text, and an answer has no prefix. */
const hosted: Profile = { ...compatible, thinkTags: false, prefill: false, callSignatures: false };

const openai: Profile = {
  ...hosted,
  family: 'openai',
  maxTokens: 'max_completion_tokens',
  systemAnywhere: true,
  contentOfCalls: null,
  stopMax: 4,
  strictTools: true,
  toolIds: { form: /^.{1,40}$/, madeCharacters: 40 },
  documents: { form: 'file', urls: false },
  serviceTiers: OPENAI_TIERS,
  endUser: 'safety_identifier',
};

const azure: Profile = {
  ...openai,
  family: 'azure',
  rootPath: '/openai/v1',
  keyHeader: 'api-key',
  serviceTiers: AZURE_TIERS,
  endUser: null,
};

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
  thinkingBack: 'details',
  thinkTags: false,
  callSignatures: false,
  cacheControl: true,
  endUser: 'user',
};

const deepseek: Profile = {
  ...hosted,
  family: 'deepseek',
  stopMax: 16,
  parallelToolCalls: false,
  jsonSchema: false,
  imageUrls: false,
  thinking: 'thinking',
  efforts: ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
  thinkingBack: 'text',
};

const mistral: Profile = {
  ...hosted,
  family: 'mistral',
  ownSampling: ['frequency_penalty', 'presence_penalty'],
  userAfterTools: false,
  streamUsage: false, // always sent, and the option is refused
  strictTools: true,
  toolIds: NINE_CHARACTERS,
  documents: { form: 'document_url', urls: true },
};

const groq: Profile = {
  ...compatible,
  family: 'groq',
  serviceTiers: GROQ_TIERS,
  rootPath: '/openai/v1',
  maxTokens: 'max_completion_tokens',
  stopMax: 4,
  prefill: false,
  callSignatures: false,
};

const xai: Profile = {
  ...hosted,
  family: 'xai',
  ownSampling: ['seed'],
  maxTokens: 'max_completion_tokens',
  systemAnywhere: true,
  stopMax: 4,
};

const moonshot: Profile = {
  ...hosted,
  family: 'moonshot',
  stopMax: 5,
  parallelToolCalls: false,
  imageUrls: false,
  thinkingBack: 'text',
};

/** Refuses members that it does not know (https://github.com/Kilo-Org/kilocode/issues/10375, 2026-11-29). */
const cerebras: Profile = {
  ...compatible,
  family: 'cerebras',
  thinkingMember: 'reasoning',
  callSignatures: false,
};

const ollama: Profile = {
  ...compatible,
  family: 'ollama',
  thinkingMember: 'reasoning', // as in its openai/openai.go
  demandsTools: false,
  parallelToolCalls: false,
  imageUrls: false,
  callSignatures: false,
};

/** Hosts of each family; a leading dot includes all subdomains. */
const HOSTS: readonly [host: string, profile: Profile][] = [
  ['api.openai.com', openai],
  ['.api.openai.com', openai], // regional
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
  ['api.cerebras.ai', cerebras],
  ['ollama.com', ollama],
];
const OLLAMA_PORT = '11434'; // Ollama's default port: its host may be any

export type ChooseProfile = (baseUrl: string, model: string) => Profile;

/** The profile of a model at Azure, whatever the host is. */
export function azureProfile(_baseUrl: string, model: string): Profile {
  return { ...azure, ...chatTraits(azure.family, model) };
}

/** The profile of a model at a URL. Depends on nothing else, so it is the same for every request. */
export function chooseProfile(baseUrl: string, model: string): Profile {
  const url = URL.parse(baseUrl);
  const known = HOSTS.find(([host]) => (host.startsWith('.') ? url?.hostname.endsWith(host) : url?.hostname === host));
  const family = known?.[1] ?? (url?.port === OLLAMA_PORT ? ollama : compatible);
  return { ...family, ...chatTraits(family.family, model) };
}

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const OWN_ID = /^toolu_tp([A-Za-z0-9]{8})_([A-Za-z0-9_-]*)$/;
const UNIQUE_ID = /^[a-zA-Z0-9_-]{4,128}$/;
const COUNTED_ID = /^(?:.*[_-])?\d{1,4}$/; // "call_0": the next answer will repeat it

/**
 * The id of a call as a client gets it: the provider's own; or, if that is absent, is only a number or has characters that
 * clients do not accept, an id that contains it. `messageId` and `place` make it unique.
 */
export function shownCallId(id: string, messageId: string, place: number): string {
  if (UNIQUE_ID.test(id) && !COUNTED_ID.test(id)) return id;
  return `toolu_tp${hashText(`${messageId} ${place}`, 8)}_${Buffer.from(id).toString('base64url')}`;
}

/** The call id for the provider: its own, or a replacement in its format. */
export function sentCallId(id: string, { toolIds }: Profile): string {
  const held = OWN_ID.exec(id)?.[2];
  const known = held ? Buffer.from(held, 'base64url').toString('utf8') : id;
  // If the provider counts its calls, ids repeat in a conversation: they are distinguished by turn.
  const own = COUNTED_ID.test(known) ? id : known;
  return toolIds.form.test(own) ? own : hashText(own, Math.min(toolIds.madeCharacters, 24));
}

function hashText(text: string, characters: number): string {
  const bytes = createHash('sha256').update(text).digest();
  return Array.from(bytes.subarray(0, characters), (byte) => BASE62[byte % BASE62.length]).join('');
}
