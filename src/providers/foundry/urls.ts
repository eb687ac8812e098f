// Addresses of a Foundry resource. Operators copy the address of either API from the portal; both lead to the resource.

/** The base of OpenAI's API, which may have Azure's older API version as a query. */
export function openAiBase(baseUrl: string): string {
  const [address = '', query] = baseUrl.split('?');
  const root = address.replace(/\/+$/, '').replace(CLAUDE_PATH, '').replace(OPENAI_PATH, '');
  if (query !== undefined) return `${root}?${query}`;
  return `${root}/openai/v1`;
}

/** The address of a path of the Messages protocol, such as "/v1/messages". */
export function claudeUrl(baseUrl: string, path: string): string {
  const [address = ''] = baseUrl.split('?');
  return `${address.replace(/\/+$/, '').replace(OPENAI_PATH, '').replace(CLAUDE_PATH, '')}/anthropic${path}`;
}

const CLAUDE_PATH = /\/anthropic(?:\/v1(?:\/messages)?)?$/;
const OPENAI_PATH = /\/openai(?:\/v1)?$/;
