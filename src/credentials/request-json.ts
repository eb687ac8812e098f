// Requests to secret managers: bounded, without redirects, answered with JSON.

import { collectBytes } from '../base/collect-bytes.ts';
import { bounds } from '../config/config.ts';
import { parseObject } from './interpret-text.ts';
import { CredentialFault, explainFault, hideTokens, type LoadContext } from './load-context.ts';

interface SecretRequest {
  /** Who answers, for faults: "Secrets Manager". */
  who: string;
  url: string;
  headers: Record<string, string>;
  /** null sends a GET. */
  body: string | null;
  signal: AbortSignal;
}

/** Texts that faults must not repeat are in `secrets`. Throws CredentialFault. */
export async function requestJson(
  { who, url, headers, body, signal }: SecretRequest,
  { fetch: send = fetch }: Pick<LoadContext, 'fetch'>,
  secrets: readonly string[],
): Promise<Record<string, unknown>> {
  const { credentialBytesMax: bytesMax } = bounds;
  const tooLarge = () => new CredentialFault(`${who} answered with more than ${bytesMax} bytes`);
  let response: Response;
  let text: string;
  try {
    response = await send(url, { method: body === null ? 'GET' : 'POST', headers, body, signal, redirect: 'manual' });
    text = new TextDecoder().decode(await collectBytes(response.body, bytesMax, tooLarge)); // without a byte order mark
  } catch (thrown) {
    throw explainFault(`${who} cannot be reached at ${new URL(url).origin}`, thrown, secrets);
  }
  const answer = parseObject(text.trim());
  if (response.ok && answer !== null) return answer;
  if (response.ok) throw new CredentialFault(`${who} answered with something other than JSON`);
  const reason = hideTokens(answer === null ? '' : reasonIn(answer), secrets);
  throw new CredentialFault(`${who} answered ${response.status}${reason === '' ? '' : `: ${reason}`}`);
}

/** The forms of AWS, of Google and Azure, and of Vault. */
function reasonIn(answer: Record<string, unknown>): string {
  const { __type: type, message, Message: awsMessage, error, errors } = answer;
  const of = typeof error === 'object' && error !== null ? (error as Record<string, unknown>) : {};
  const texts = [type, message, awsMessage, of['code'], of['status'], of['message'], ...asList(errors)];
  const found = texts.filter((one) => typeof one === 'string' && one !== '') as string[];
  return found.map((one) => one.replace(/^.*#/, '')).join(': ');
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
