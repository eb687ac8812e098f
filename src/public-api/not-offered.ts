// Paths that clients of the vendors know and this server does not serve, and base URLs that are wrong. docs/clients.md has
// the same table.

import type { Protocol } from '../wire/wire.ts';

/** The API of a client, which decides the format of its errors. */
export type Vendor = 'messages' | 'openai' | 'gemini';

interface NotOffered {
  /** With its verb, as the beginning of a sentence. */
  feature: string;
  /** `shared`: paths of the Messages API and of OpenAI. */
  vendor: Vendor | 'shared';
  /** Each with everything below it, unless `isExact`; a name in braces is any segment. */
  paths: readonly string[];
  isExact?: boolean;
  /** Advice; absent: the message lists what is offered. */
  instead?: string;
}

const STORED = 'send the whole conversation with each request';

/** The first that matches a path decides. */
export const NOT_OFFERED: readonly NotOffered[] = [
  {
    feature: 'Touching a cache is',
    vendor: 'messages',
    paths: ['/v1/messages/cache_touch'],
    instead: 'a message with the same beginning keeps it',
  },
  {
    feature: 'Text completions of the older Messages API are',
    vendor: 'messages',
    paths: ['/v1/complete'],
    instead: 'use /v1/messages',
  },
  {
    feature: 'Mistral’s agents are',
    vendor: 'openai',
    paths: ['/v1/agents/completions'],
    instead: 'use /v1/chat/completions',
  },
  {
    feature: 'Managed agents are',
    vendor: 'messages',
    paths: ['/v1/agents', '/v1/environments', '/v1/sessions', '/v1/vaults'],
  },
  { feature: 'Prompt tools are', vendor: 'messages', paths: ['/v1/experimental'] },
  { feature: 'Uploads in parts are', vendor: 'openai', paths: ['/v1/uploads'], instead: 'use /v1/files' },
  { feature: 'Skills are', vendor: 'shared', paths: ['/v1/skills'] },
  {
    feature: 'The vendor’s administration is',
    vendor: 'shared',
    paths: ['/v1/organization', '/v1/organizations'],
    instead: 'see /v1/key and /v1/usage',
  },
  {
    feature: 'Variations of images are',
    vendor: 'openai',
    paths: ['/v1/images/variations'],
    instead: 'use /v1/images/edits',
  },
  { feature: 'A list of voices is', vendor: 'openai', paths: ['/v1/audio/voices'], instead: 'see the provider’s own' },
  { feature: 'Other use of sound is', vendor: 'openai', paths: ['/v1/audio'] },
  { feature: 'Video generation is', vendor: 'openai', paths: ['/v1/videos'] },
  { feature: 'Realtime is', vendor: 'openai', paths: ['/v1/realtime'] },
  {
    feature: 'Moderation of conversations is',
    vendor: 'openai',
    paths: ['/v1/chat/moderations'],
    instead: 'use /v1/moderations',
  },
  { feature: 'Fine-tuning is', vendor: 'openai', paths: ['/v1/fine_tuning', '/v1/fine-tunes'] },
  { feature: 'Evaluations are', vendor: 'openai', paths: ['/v1/evals'] },
  { feature: 'Vector stores are', vendor: 'openai', paths: ['/v1/vector_stores'] },
  { feature: 'Containers are', vendor: 'openai', paths: ['/v1/containers'] },
  {
    feature: 'Assistants are',
    vendor: 'openai',
    paths: ['/v1/assistants', '/v1/threads', '/v1/chatkit'],
    instead: 'use /v1/responses',
  },
  {
    feature: 'Stored conversations are',
    vendor: 'openai',
    paths: ['/v1/conversations', '/v1/chat/completions/{id}'],
    instead: STORED,
  },
  { feature: 'Stored responses are', vendor: 'openai', paths: ['/v1/responses/{id}'], instead: STORED },
  { feature: 'Edits are', vendor: 'openai', paths: ['/v1/edits'], instead: 'use /v1/chat/completions' },
  { feature: 'Engines are', vendor: 'openai', paths: ['/v1/engines'], instead: 'name the model in the request' },
  {
    feature: 'OpenAI’s dashboard is',
    vendor: 'openai',
    paths: ['/v1/dashboard'],
    instead: 'see /v1/key and /v1/usage',
  },
  {
    feature: 'Mistral’s fill-in-the-middle API is',
    vendor: 'openai',
    paths: ['/v1/fim'],
    instead: 'use /v1/completions with `suffix`',
  },
  { feature: 'OCR is', vendor: 'openai', paths: ['/v1/ocr'], instead: 'send the document in a message' },
  {
    feature: 'Ollama’s own API is',
    vendor: 'openai',
    paths: [
      '/api/chat',
      '/api/generate',
      '/api/tags',
      '/api/show',
      '/api/embed',
      '/api/embeddings',
      '/api/ps',
      '/api/version',
      '/api/pull',
      '/api/push',
      '/api/create',
      '/api/copy',
      '/api/delete',
      '/api/blobs/{id}',
    ],
    isExact: true,
    instead: 'use its OpenAI-compatible client',
  },
  {
    feature: 'The own APIs of vLLM, TGI, TEI and llama.cpp are',
    vendor: 'openai',
    paths: [
      '/generate',
      '/generate_stream',
      '/tokenize',
      '/detokenize',
      '/score',
      '/v1/score',
      '/pooling',
      '/classify',
      '/embed',
      '/completion',
      '/infill',
    ],
    isExact: true,
    instead: 'use their OpenAI-compatible client',
  },
  {
    feature: 'Cohere’s own API is',
    vendor: 'openai',
    paths: [
      '/v1/chat',
      '/v2/chat',
      '/v1/embed',
      '/v2/embed',
      '/v1/generate',
      '/v1/classify',
      '/v1/tokenize',
      '/v1/detokenize',
    ],
    isExact: true,
  },
  {
    feature: 'Bedrock’s own API is',
    vendor: 'messages',
    paths: [
      '/model/{id}/converse',
      '/model/{id}/converse-stream',
      '/model/{id}/invoke',
      '/model/{id}/invoke-with-response-stream',
      '/model/{id}/count-tokens',
    ],
    instead: 'use /v1/messages',
  },
  {
    feature: 'Older embeddings of Gemini’s API are',
    vendor: 'gemini',
    paths: [
      '/v1beta/models/{model}:asyncBatchEmbedContent',
      '/v1beta/models/{model}:embedText',
      '/v1beta/models/{model}:batchEmbedText',
    ],
    instead: 'use batchEmbedContents',
  },
  {
    feature: 'Video generation is',
    vendor: 'gemini',
    paths: ['/v1beta/models/{model}:predictLongRunning', '/v1beta/generatedFiles'],
  },
  {
    feature: 'Older methods of Gemini’s API are',
    vendor: 'gemini',
    paths: [
      '/v1beta/models/{model}:generateAnswer',
      '/v1beta/models/{model}:generateText',
      '/v1beta/models/{model}:generateMessage',
    ],
    instead: 'use generateContent',
  },
  {
    feature: 'Batches are',
    vendor: 'gemini',
    paths: ['/v1beta/models/{model}:batchGenerateContent', '/v1beta/batches', '/v1beta/operations'],
    instead: 'send each request by itself',
  },
  {
    feature: 'The Live API is',
    vendor: 'gemini',
    paths: ['/v1beta/models/{model}:bidiGenerateContent', '/ws', '/v1beta/auth_tokens'],
  },
  {
    feature: 'Files are',
    vendor: 'gemini',
    paths: ['/v1beta/files', '/upload'],
    instead: 'send the content as inlineData',
  },
  {
    feature: 'Stored contexts are',
    vendor: 'gemini',
    paths: ['/v1beta/cachedContents'],
    instead: 'a request with the same beginning is cached by the provider',
  },
  { feature: 'Tuned models are', vendor: 'gemini', paths: ['/v1beta/tunedModels'] },
  { feature: 'File search is', vendor: 'gemini', paths: ['/v1beta/corpora', '/v1beta/fileSearchStores'] },
  { feature: 'Interactions are', vendor: 'gemini', paths: ['/v1beta/interactions'], instead: 'use generateContent' },
];

const OFFERED: Readonly<Record<Vendor, string>> = {
  messages: 'POST /v1/messages and /v1/messages/count_tokens, and GET /v1/models',
  openai:
    'POST /v1/chat/completions, /v1/responses, /v1/completions, /v1/embeddings, /v1/rerank, /v1/moderations, /v1/images/generations, /v1/audio/speech and /v1/audio/transcriptions, and GET /v1/models',
  gemini:
    'generateContent, streamGenerateContent, countTokens, embedContent and batchEmbedContents of /v1beta/models/{model}, and GET /v1beta/models',
};

const patterns = NOT_OFFERED.flatMap((row) =>
  row.paths.map((path) => ({ row, pattern: compile(path, row.isExact === true) })),
);

/** A model's name may have slashes, and its path is that of a stable or a preview version. */
function compile(path: string, isExact: boolean): RegExp {
  const segments = path.replaceAll('.', '\\.').replace(/\{(\w+)\}/, (_, name) => (name === 'model' ? '.+' : '[^/]+'));
  const beginning = path.includes('{model}') ? segments.replace('/v1beta/', '/v1(?:beta)?/') : segments;
  return new RegExp(`^${beginning}${isExact ? '$' : '(?:/|$)'}`);
}

/** Ends of paths of clients whose base URL is wrong, and the right one. Without a protocol, the sender decides. */
const BASE_URLS: readonly [end: RegExp, protocol: Protocol | null, advice: string][] = [
  [/\/chat\/completions$/, 'chat-completions', withVersion('/chat/completions')],
  [/\/completions$/, 'completions', withVersion('/completions')],
  [/\/responses$/, 'responses', withVersion('/responses')],
  [/\/embeddings$/, 'embeddings', withVersion('/embeddings')],
  [/\/images\/(?:generations|edits)$/, 'images', withVersion('/images/generations')],
  [/\/audio\/speech$/, 'speech', withVersion('/audio/speech')],
  [/\/audio\/(?:transcriptions|translations)$/, 'transcription', withVersion('/audio/transcriptions')],
  [
    /:(?:generateContent|streamGenerateContent|countTokens)$/,
    'gemini',
    withoutVersion('/v1beta/models/{model}:generateContent'),
  ],
  [/\/messages(?:\/count_tokens)?$/, 'messages', withoutVersion('/v1/messages')],
  [/\/v1beta\/models(?:\/[^/]+)?$/, 'gemini', withoutVersion('/v1beta/models')],
  [
    /\/models(?:\/[^/]+)?$/,
    null,
    "Set the client's base URL to this server's address, with /v1 if the client adds only /models: the list is at /v1/models.",
  ],
  [/^\/v1$/, 'messages', 'This is a base URL: clients add the rest, such as /v1/messages or /v1/chat/completions.'],
];

function withVersion(rest: string): string {
  return `Set the client's base URL to this server's address with /v1: the client adds ${rest}.`;
}

function withoutVersion(rest: string): string {
  return `Set the client's base URL to this server's address without a path: the client adds ${rest}.`;
}

/** Additions of clients to a base URL that is the whole address of an operation. */
const ADDED = 'chat/completions|completions|responses|embeddings|messages(?:/count_tokens)?|models';
const AFTER_OPERATION = new RegExp(
  `^/v1/(?:chat/completions|completions|responses|embeddings|messages)(?:/v1)?/(?:${ADDED})$`,
);
const SHOWN_PATH_CHARACTERS_MAX = 200;

export function shortenPath(path: string): string {
  return path.slice(0, SHOWN_PATH_CHARACTERS_MAX);
}

interface Refusal {
  message: string;
  /** The protocol of its format. */
  protocol: Protocol;
}

const PROTOCOLS: Readonly<Record<Vendor, Protocol>> = {
  messages: 'messages',
  openai: 'chat-completions',
  gemini: 'gemini',
};

/** The refusal of a path without a route, in canonical form. `sender` decides where the path does not. */
export function describeMissing(path: string, sender: () => Vendor): Refusal {
  const row = AFTER_OPERATION.test(path)
    ? undefined
    : patterns.find(({ pattern }) => pattern.test(path) || pattern.test(`/v1${path}`))?.row;
  if (row !== undefined) {
    const vendor = row.vendor !== 'shared' ? row.vendor : sender() === 'openai' ? 'openai' : 'messages';
    const rest = row.instead === undefined ? `; it offers ${OFFERED[vendor]}` : `: ${row.instead}`;
    return { message: `${row.feature} not offered by this server${rest}.`, protocol: PROTOCOLS[vendor] };
  }
  const missing = `The path ${shortenPath(path)} does not exist.`;
  const [, protocol, advice] = BASE_URLS.find(([end]) => end.test(path)) ?? [];
  return {
    message: advice === undefined ? missing : `${missing} ${advice}`,
    protocol: protocol ?? PROTOCOLS[sender()],
  };
}
