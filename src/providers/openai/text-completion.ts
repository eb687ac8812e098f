// Text completions where a provider has an endpoint for them. Its answer is read as that of Chat Completions. Pure.

import { isJsonObject, type JsonObject, parseExactly, textOf, tierOf } from '../../wire/wire.ts';
import { nativeFor } from '../keep-native.ts';
import { type Attempt, ProviderFault } from '../provider.ts';
import { convertSampling, convertStops } from './convert-request.ts';
import type { Profile } from './profile.ts';

interface Endpoint {
  /** Below the API's root. */
  path: string;
  /** It takes the text after the completion. */
  hasSuffix: boolean;
  outputTokensMax?: number;
}

const PLAIN: Endpoint = { path: '/completions', hasSuffix: false };
const INSTRUCT = /^(?:gpt-3\.5-turbo-instruct|davinci-002|babbage-002)/;

/**
 * By family; null: it has none for the model. vLLM takes no suffix (docs.vllm.ai, 29 November 2026), nor do others of its
 * kind for certain. Ollama, DeepSeek and Mistral by public clients of theirs, 29 November 2026.
 */
const ENDPOINTS: Readonly<Record<string, (model: string) => Endpoint | null>> = {
  compatible: () => PLAIN,
  ollama: () => ({ ...PLAIN, hasSuffix: true }),
  openai: (model) => (INSTRUCT.test(model) ? { ...PLAIN, hasSuffix: model.startsWith('gpt-') } : null),
  mistral: (model) => (model.includes('codestral') ? { path: '/fim/completions', hasSuffix: true } : null),
  deepseek: (model) =>
    model.includes('reasoner') ? null : { path: '/beta/completions', hasSuffix: true, outputTokensMax: 4_096 },
};

/** Path and body for such an endpoint; null: the provider gets the message. Throws ProviderFault (rejected). */
export function convertCompletion(attempt: Attempt, profile: Profile): { path: string; body: JsonObject } | null {
  const { request, upstreamModel, maxTokens } = attempt;
  const own = nativeFor(request, 'completions');
  const endpoint = own === null ? null : (ENDPOINTS[profile.family]?.(upstreamModel) ?? null);
  const given = own === null ? null : parseExactly(own.text);
  if (endpoint === null || !isJsonObject(given) || tierOf(request.body) !== 'standard') return null;
  const suffix = textOf(given['suffix']);
  if ((suffix !== '' && !endpoint.hasSuffix) || maxTokens < 1) return null;
  const body = {
    model: upstreamModel,
    prompt: textOf(given['prompt']),
    ...(suffix !== '' && { suffix }),
    max_tokens: Math.min(maxTokens, endpoint.outputTokensMax ?? maxTokens),
    ...convertSampling(request, profile),
    ...convertStops(request.body['stop_sequences'], profile),
    ...(request.stream && { stream: true }),
    ...(request.stream && profile.streamUsage && { stream_options: { include_usage: true } }),
    ...attempt.extra,
  };
  return { path: endpoint.path, body };
}

/** The address for a path; that of DeepSeek's beta stands beside its version. */
export function completionUrl(url: string): string {
  return url.replace(/\/(?:v1|beta)(?=\/beta\/completions$)/, '');
}

/** Whether the server has no such endpoint, so that it gets the message. */
export function isMissing(thrown: unknown): boolean {
  return thrown instanceof ProviderFault && [404, 405, 501].includes(thrown.status ?? 0);
}
