// Clients of Gemini's generateContent, with streams of server-sent events. It has no tests of its own.

import { candidateOf, chunksOf, textOf } from '../../../unit/fronts/gemini/chunks.ts';
import type { Answer, FrontDriver, Json, Prompt, Told, Turn } from '../front-driver.ts';

const INFO = 'type.googleapis.com/google.rpc.ErrorInfo';
const RETRY = 'type.googleapis.com/google.rpc.RetryInfo';

interface Part extends Json {
  text?: string;
  thought?: boolean;
  functionCall?: { id: string; name: string; args: Json };
}

const user = (...parts: Json[]): Json => ({ role: 'user', parts });

function contentsOf(turn: Turn): readonly Json[] {
  if ('user' in turn) return [user({ text: turn.user })];
  if ('image' in turn) return [user({ inlineData: { mimeType: 'image/png', data: turn.image } })];
  if ('own' in turn) return turn.own;
  const { id, name } = turn.of;
  return [user({ functionResponse: { id, name, response: { output: turn.result } } })];
}

function body({ maxTokens = 64, system, turns = [{ user: 'Good morning!' }], tools, thinking, members = {} }: Prompt) {
  const declared = tools?.map(({ schema, ...tool }) => ({ ...tool, parametersJsonSchema: schema }));
  return {
    contents: turns.flatMap(contentsOf),
    generationConfig: {
      maxOutputTokens: maxTokens,
      ...(thinking === true && { thinkingConfig: { includeThoughts: true } }),
    },
    ...(system !== undefined && { systemInstruction: { role: 'system', parts: [{ text: system }] } }),
    ...(declared !== undefined && { tools: [{ functionDeclarations: declared }] }),
    ...members,
  };
}

/** An answer from its chunks; one, if it is whole. */
function readChunks(chunks: readonly Json[]): Answer {
  const last = chunks.at(-1) as Json;
  const usage = last['usageMetadata'] as Record<string, number>;
  const parts = chunks.flatMap((chunk) => (candidateOf(chunk).content.parts ?? []) as Part[]);
  const thoughts = parts.flatMap(({ text, thought }) => (thought === true ? [text] : []));
  return {
    id: String(last['responseId']),
    model: String(last['modelVersion']),
    text: textOf(chunks),
    thinking: thoughts.join(''),
    calls: parts.flatMap(({ functionCall }) =>
      functionCall === undefined
        ? []
        : [{ id: functionCall.id, name: functionCall.name, input: JSON.stringify(functionCall.args) }],
    ),
    stop: String(candidateOf(last).finishReason),
    usage: {
      prompt: usage['promptTokenCount'] as number,
      cached: usage['cachedContentTokenCount'] ?? 0,
      output: (usage['candidatesTokenCount'] as number) + (usage['thoughtsTokenCount'] ?? 0),
      total: usage['totalTokenCount'] as number,
    },
    own: chunks.map((chunk) => ({ ...candidateOf(chunk).content })),
  };
}

function readStream(text: string) {
  if (!text.endsWith('\n\n') || /^(?!data: |$)/m.test(text)) throw new Error(`not whole events: ${text.slice(-500)}`);
  if (/[\u2028\u2029]/.test(text)) throw new Error('some clients end a line at a separator');
  const chunks = chunksOf(text);
  const last = chunks.at(-1);
  const error = last !== undefined && 'error' in last ? last : null;
  const ends = chunks.filter((chunk) => /"finishReason"|"candidatesTokenCount"/.test(JSON.stringify(chunk)));
  if (ends.length > 1 || (ends.length === 1 && ends[0] !== last)) throw new Error(`not one end: ${text.slice(-500)}`);
  const answered = error === null ? chunks : chunks.slice(0, -1);
  return {
    pieces: answered.flatMap((chunk) => textOf([chunk]) || []),
    answer: ends.length === 0 ? null : readChunks(chunks),
    error,
  };
}

const STATUSES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'UNIMPLEMENTED',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
};
const statusOf = ({ status, type }: Told) =>
  ({ billing_error: 'FAILED_PRECONDITION', not_found_error: 'NOT_FOUND' })[type] ??
  STATUSES[status] ??
  (status < 500 ? 'INVALID_ARGUMENT' : 'UNAVAILABLE');

function errorBody(told: Told): Json {
  const { status, message, type, code, requestId, retryAfter } = told;
  const metadata = { code, type, request_id: requestId };
  const info = { '@type': INFO, reason: code.toUpperCase(), domain: 'turnpike', metadata };
  const retry = retryAfter === null ? [] : [{ '@type': RETRY, retryDelay: `${retryAfter}s` }];
  return { error: { code: status, message, status: statusOf(told), details: [info, ...retry] } };
}

const file = (fileUri: string, mimeType = 'application/pdf') => ({
  contents: [user({ fileData: { mimeType, fileUri } })],
});
const FILE_PATH = 'contents.0.parts.0.fileData.fileUri';

export const generateContent: FrontDriver = {
  name: 'generateContent',
  isTextOnly: false,
  path: ({ model = 'plain', stream = false }) =>
    `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  body,
  keyHeaders: (secret) => [
    { 'x-goog-api-key': secret },
    { authorization: `Bearer ${secret}` },
    { 'x-api-key': secret },
  ],
  paths: [
    ...['/v1beta', '/v1', '//v1beta/', '/v1/v1beta', '/v1beta/v1beta', '/v1/v1'].map(
      (base) => `${base}/models/plain:generateContent`,
    ),
    ...['plain-latest', 'models/plain', 'models/plain-latest', 'models%2Fplain'].flatMap((name) =>
      ['/v1beta', '/v1'].map((base) => `${base}/models/${name}:generateContent`),
    ),
  ],
  unknownPaths: ['/v1beta/other', '/v1beta/models/m:embedText', '/v1/models/m:embedText'],
  hasOpenAiHeaders: false,
  read: (answer) => readChunks([answer]),
  readStream,
  pings: '\n\n\n\n',
  stops: { end_turn: 'STOP', tool_use: 'STOP', max_tokens: 'MAX_TOKENS', refusal: 'SAFETY' },
  errorBody,
  hasParam: false,
  invalid: [
    [{ contents: [user({ text: 7 })] }, 'contents.0.parts.0.text'],
    [{ generationConfig: { maxOutputTokens: -2 } }, 'generationConfig.maxOutputTokens'],
    [{ generationConfig: { temperature: 'hot' } }, 'generationConfig.temperature'],
    [{ generationConfig: { stopSequences: [1] } }, 'generationConfig.stopSequences'],
    [{ contents: [] }, 'contents'],
    [{ toolConfig: { functionCallingConfig: { mode: 'SOME' } } }, 'toolConfig.functionCallingConfig.mode'],
  ],
  notOffered: [
    [{ serviceTier: 'PRIORITY' }, 'feature_unavailable', 'serviceTier'],
    [{ tools: [{ googleSearch: {} }] }, 'feature_not_priced', 'tools.0.googleSearch'],
    [
      { generationConfig: { responseModalities: ['AUDIO'] } },
      'feature_not_priced',
      'generationConfig.responseModalities',
    ],
    [{ cachedContent: 'cachedContents/1' }, 'feature_unavailable', 'cachedContent'],
    [file('https://generativelanguage.googleapis.com/v1beta/files/1'), 'feature_unavailable', FILE_PATH],
    [file('gs://bucket/1', 'image/png'), 'feature_unavailable', FILE_PATH],
  ],
  imagePath: 'contents.0.parts.0.inlineData.data',
};
