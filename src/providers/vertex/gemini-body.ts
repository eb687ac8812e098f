// Bodies for Gemini at Vertex AI where they differ from those of the Gemini API.

import { exactBody, isJsonObject, type NativeBody, parseExactly, rewriteRequest, scanJson } from '../../wire/wire.ts';
import { convertPrompt } from '../gemini/gemini.ts';
import type { Attempt } from '../provider.ts';
import { plainModel } from './urls.ts';

/** The client's own body, in which every content has a role, which only the Gemini API can do without. */
export function withRoles(own: NativeBody): NativeBody {
  const span = own.members.get('contents');
  const contents = span === undefined ? null : parseExactly(own.text.slice(span.start, span.end));
  if (!Array.isArray(contents) || contents.every((content) => !isJsonObject(content) || 'role' in content)) return own;
  const complete = contents.map((content) => (isJsonObject(content) ? { role: 'user', ...content } : content));
  const text = rewriteRequest(own, { contents: complete });
  return { ...own, text, members: scanJson(text) };
}

/** The members of the message itself, without the wrapper of the Gemini API. Throws ProviderFault (rejected). */
export function convertCountBody(attempt: Attempt, own: NativeBody | null): string {
  if (own !== null) return rewriteRequest(own, withoutUncounted(own.members.keys()));
  const named = { ...attempt, upstreamModel: plainModel(attempt.upstreamModel) };
  const prompt = convertPrompt(exactBody(attempt.request), named, false);
  return JSON.stringify({ ...prompt, ...withoutUncounted(Object.keys(prompt)) });
}

/** The only members that countTokens takes at Vertex AI. Google accepts both names of a field. */
const COUNTED: readonly string[] = [
  'contents',
  'systemInstruction',
  'system_instruction',
  'tools',
  'generationConfig',
  'generation_config',
];

/** The changes that remove all other members. */
function withoutUncounted(members: Iterable<string>): Record<string, undefined> {
  const others = [...members].filter((member) => !COUNTED.includes(member));
  return Object.fromEntries(others.map((member) => [member, undefined]));
}
