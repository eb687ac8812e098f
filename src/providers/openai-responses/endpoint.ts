// Where the provider's API stands and how it is told the credential: by the address alone, so that it is the same for
// every request. Nothing is asked.

import { type Attempt, type ProviderEndpoint, ProviderFault } from '../provider.ts';

const AZURE_HOST = /\.azure\.com$/;
const OPENAI_HOST = /(^|\.)api\.openai\.com$/;

/**
 * The address of a path such as "/responses"; the base may be given with or without its version. One with a query, as
 * Azure's older addresses have (?api-version=…), names its version there.
 */
export function convertUrl(baseUrl: string, path: string): string {
  const [address = '', query] = baseUrl.split('?');
  const base = address.replace(/\/+$/, '');
  if (query !== undefined) return `${/^https?:\/\/[^/]*$/.test(base) ? `${base}/openai` : base}${path}?${query}`;
  if (/\/v\d+$/.test(base)) return base + path;
  const isBareAzure = AZURE_HOST.test(hostOf(baseUrl)) && URL.parse(base)?.pathname === '/';
  return `${base}${isBareAzure ? '/openai' : ''}/v1${path}`;
}

/** Whether it is OpenAI itself, which takes an identifier of the end user; others refuse what they do not know. */
export function takesEndUser({ baseUrl }: Pick<ProviderEndpoint, 'baseUrl'>): boolean {
  return OPENAI_HOST.test(hostOf(baseUrl));
}

/** The headers of a request. Of a caller's own only the trace travels on. Throws ProviderFault (credentials). */
export function convertHeaders(
  { baseUrl, credential }: Pick<ProviderEndpoint, 'baseUrl' | 'credential'>,
  accept: string,
  trace: Attempt['trace'] = null,
): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': 'application/json', accept, 'user-agent': 'turnpike' };
  if (trace) {
    headers['traceparent'] = trace.traceparent;
    if (trace.tracestate !== null) headers['tracestate'] = trace.tracestate;
  }
  if (credential === null) return headers;
  const secret = credential.reveal().trim();
  if (!/^[\x21-\x7e]+$/.test(secret))
    throw new ProviderFault('credentials', "the provider's credential is empty or has characters no header can carry");
  if (AZURE_HOST.test(hostOf(baseUrl))) headers['api-key'] = secret;
  else headers['authorization'] = `Bearer ${secret}`;
  return headers;
}

function hostOf(baseUrl: string): string {
  return URL.parse(baseUrl)?.hostname ?? '';
}
