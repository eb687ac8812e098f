// The official TypeScript SDK in both of its generations.

import Anthropic from '@anthropic-ai/sdk';
import Anthropic0 from 'anthropic-sdk-0';

export type { Anthropic };

/** One request that an SDK sent. */
export interface Sent {
  url: string;
  headers: Headers;
  body: Record<string, unknown>;
}

export interface Sdk {
  name: string;
  /** Header of its key. */
  keyHeader: 'x-api-key' | 'authorization';
  version: string;
  Anthropic: typeof Anthropic;
}

/** The used parts of both have the same shape, but unrelated types. */
export const sdks: Sdk[] = [
  { name: '1.x', keyHeader: 'authorization', version: '2026-10-21', Anthropic },
  {
    name: '0.x',
    keyHeader: 'x-api-key',
    version: '2023-06-01',
    Anthropic: Anthropic0 as unknown as typeof Anthropic,
  },
];

/** A client of an SDK as in normal use; its requests are recorded in `sent`. */
export function makeClient(
  sdk: Sdk,
  baseURL: string,
  apiKey: string,
  maxRetries = 0,
): { client: Anthropic; sent: Sent[] } {
  const sent: Sent[] = [];
  const client = new sdk.Anthropic({
    baseURL,
    apiKey,
    maxRetries,
    async fetch(url, init) {
      const body = typeof init?.body === 'string' ? (JSON.parse(init.body) as Sent['body']) : {};
      sent.push({ url: String(url), headers: new Headers(init?.headers as HeadersInit), body });
      return fetch(url as string, init as RequestInit);
    },
  });
  return { client, sent };
}
