// Interprets the text of a reference: an API key, or JSON that the provider's kind knows as an identity.

import { isWholeNumber } from '../base/checked-number.ts';
import { bounds } from '../config/config.ts';
import type { Loaded } from './live-secret.ts';
import { CredentialFault, type LoadContext } from './load-context.ts';

type JsonRecord = Record<string, unknown>;

/** Reads the text of a reference. `isFresh`: not the text of an earlier reading. Throws CredentialFault. */
export type ReadText = (signal: AbortSignal, isFresh: boolean) => Promise<string>;

/**
 * A load of `readText`. A token that was made of the same text is used until shortly before it expires, because texts are
 * read much more often.
 */
export function loadText(readText: ReadText, field: string | undefined, rereadMs: number | null, context: LoadContext) {
  let last: { text: string; loaded: Loaded } | null = null;
  return async (signal: AbortSignal, isFresh: boolean): Promise<Loaded> => {
    const text = pickField((await readText(signal, isFresh)).trim(), field);
    const dueMs = context.nowMs() + bounds.credentialAheadMs;
    const isCurrent = last !== null && (last.loaded.expiresAtMs === null || dueMs < last.loaded.expiresAtMs);
    if (last !== null && last.text === text && isCurrent && !isFresh) return last.loaded;
    const loaded = { ...(await interpret(text, context, signal)), rereadMs };
    last = { text, loaded };
    return loaded;
  };
}

/** The member of a JSON object; the text itself without a `field`. Faults repeat nothing of the text. */
export function pickField(text: string, field: string | undefined): string {
  if (field === undefined) return text;
  const object = parseObject(text);
  if (object === null) throw new CredentialFault('the secret is not a JSON object');
  if (!Object.hasOwn(object, field)) throw new CredentialFault(`the secret has no member "${field}"`);
  const value = object[field];
  if (typeof value === 'string') return value.trim();
  if (typeof value === 'object' && value !== null) return JSON.stringify(value);
  throw new CredentialFault(`the member "${field}" of the secret is neither a text nor an object`);
}

/** null for anything else. */
export function parseObject(text: string): JsonRecord | null {
  if (!text.startsWith('{')) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as JsonRecord) : null;
  } catch {
    return null; // the parser's message repeats parts of the text
  }
}

async function interpret(text: string, context: LoadContext, signal: AbortSignal): Promise<Loaded> {
  if (text === '') throw new CredentialFault('the secret is empty');
  if (!text.startsWith('{')) return plainKey(text);
  const object = parseObject(text);
  if (object === null) throw new CredentialFault('the secret begins with "{", but is not JSON');
  switch (context.holder.kind) {
    case 'bedrock':
      return awsKeys(object, text);
    case 'vertex':
      return (await import('./google-identity.ts')).loadGoogleKey(text, context, signal);
    case 'foundry': {
      const { loadAzureClient } = await import('./azure-identity.ts');
      const [tenantId, clientId, secret] = textsOf(object, ['tenant_id', 'client_id', 'client_secret']);
      const loaded = await loadAzureClient({ tenantId, clientId, secret }, context, signal);
      return { ...loaded, parts: [...(loaded.parts ?? []), text] };
    }
    default:
      throw new CredentialFault('the secret is a JSON object: name its member with the key in "field"');
  }
}

function plainKey(text: string): Loaded {
  if (!/^[\x21-\x7e]+$/.test(text))
    throw new CredentialFault('the secret has spaces, line breaks or other characters that a key cannot contain');
  return { text, use: 'key', expiresAtMs: null, rereadMs: null };
}

function awsKeys(object: JsonRecord, text: string): Loaded {
  const [accessKeyId, secretAccessKey] = textsOf(object, ['access_key_id', 'secret_access_key']);
  const sessionToken = object['session_token'];
  const keys = { accessKeyId, secretAccessKey, ...(typeof sessionToken === 'string' && { sessionToken }) };
  return awsLoaded(keys, null, [text]);
}

/** Keys that sign requests. */
export function awsLoaded(
  { accessKeyId, secretAccessKey, sessionToken }: { [Name in AwsKeyName]?: string | undefined },
  expiresAtMs: number | null,
  inputs: readonly string[],
): Loaded {
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw new CredentialFault('the source gave no keys of AWS');
  const keys = { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
  const text = JSON.stringify(keys);
  const parts = [text, secretAccessKey, ...(sessionToken === undefined ? [] : [sessionToken]), ...inputs];
  return { text, use: 'aws', parts, expiresAtMs, rereadMs: bounds.credentialRereadMs };
}

/** A token that requests carry. `expiresAtMs` is what a library says of it. */
export function bearerLoaded(token: string, expiresAtMs: number | null | undefined, inputs: readonly string[]): Loaded {
  const isKnown = isWholeNumber(expiresAtMs);
  return {
    text: token,
    use: 'bearer',
    parts: [token, ...inputs],
    expiresAtMs: isKnown ? expiresAtMs : null,
    rereadMs: isKnown ? null : bounds.credentialRereadMs,
  };
}

type AwsKeyName = 'accessKeyId' | 'secretAccessKey' | 'sessionToken';

/** Members that must be texts without control characters. */
function textsOf<const Names extends readonly string[]>(object: JsonRecord, names: Names) {
  return names.map((name) => {
    const value = object[name];
    if (typeof value === 'string' && /^[^\p{Cc}]+$/u.test(value)) return value;
    throw new CredentialFault(`the secret has no member "${name}", or it is not a text`);
  }) as { [Place in keyof Names]: string };
}
