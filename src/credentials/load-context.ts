// The context of loaders, and faults explained to operators.

import type { AuthHolder } from '../catalog/catalog.ts';
import { bounds, type CredentialSettings } from '../config/config.ts';

export interface LoadContext {
  holder: AuthHolder;
  settings: CredentialSettings;
  nowMs(): number;
  /** Sends what libraries and loaders request at Google and Azure; absent: the runtime's own. Tests replace it. */
  fetch?: typeof globalThis.fetch;
}

/** A fault whose message is written for operators and has no secret. */
export class CredentialFault extends Error {
  override name = 'CredentialFault';
}

/**
 * The fault of a library or a server: `what` failed, with the first line of the reason, without the texts in `secrets` and
 * without anything that looks like a token.
 */
export function explainFault(what: string, thrown: unknown, secrets: readonly string[] = []): CredentialFault {
  if (thrown instanceof CredentialFault) return thrown;
  const reason = hideTokens(reasonOf(thrown), secrets);
  return new CredentialFault(reason === '' ? what : `${what}: ${reason}`);
}

export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : '';
}

/** One line of bounded length. */
export function hideTokens(text: string, secrets: readonly string[]): string {
  const known = secrets.filter((secret) => secret.length >= SECRET_CHARACTERS_LEAST);
  return known
    .reduce((hidden, secret) => hidden.replaceAll(secret, HIDDEN), firstLine(text))
    .replaceAll(TOKEN, HIDDEN)
    .replaceAll(/\p{Cc}+/gu, ' ')
    .slice(0, bounds.credentialCauseCharactersMax)
    .trim();
}

/** Rejects with a CredentialFault if the promise is not settled when the signal is aborted. */
export async function answerBy<Value>(promise: Promise<Value>, signal: AbortSignal, fault: string): Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(new CredentialFault(fault));
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    if (signal.aborted) onAbort();
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

const HIDDEN = '[redacted]';
const SECRET_CHARACTERS_LEAST = 4;
/** JSON web tokens, tokens of Google and Vault, and long texts in base64 or hexadecimal digits. */
const TOKEN = /\beyJ[\w.=-]+|\bya29\.[\w.-]+|\bhv[sb]\.[\w.-]+|[A-Za-z0-9+=_]{40,}/g;

function firstLine(text: string): string {
  return text.trim().split('\n')[0] ?? '';
}

function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const code = 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : '';
  const name = /^(?:Error|TypeError|AggregateError|GaxiosError|CredentialsProviderError)$/.test(thrown.name)
    ? ''
    : thrown.name;
  const label = [name, code].find((part) => part !== '' && !thrown.message.includes(part)) ?? '';
  return label === '' ? thrown.message : `${label}: ${thrown.message}`;
}
