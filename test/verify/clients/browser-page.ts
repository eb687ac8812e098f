// Runs inside the browser: the official SDK and plain fetches from another origin than the service's. Posts the
// results to the page's own server.

import Anthropic from '@anthropic-ai/sdk';

export interface Seen {
  text: string;
  streamed: string[];
  refused: { name: string; status: number; code: string; requestId: string };
  vendor: { status: number; requestId: string | null; remaining: string | null };
  wrongKey: { status: number; shouldRetry: string | null; code: string };
  own: { prefix: string; cost: string };
  admin: string;
}

const { url, key } = (window as unknown as { settings: { url: string; key: string } }).settings;
const client = new Anthropic({ apiKey: key, baseURL: url, dangerouslyAllowBrowser: true, maxRetries: 0 });
const ask = (model: string, content: string) => ({
  model,
  max_tokens: 50,
  messages: [{ role: 'user' as const, content }],
});

const seen = await look().catch((failure) => ({ failure: String(failure) }));
await fetch('/seen', { method: 'POST', body: JSON.stringify(seen) });

async function look(): Promise<Seen> {
  const whole = await client.messages.create({ ...ask('sandbox-echo', 'whole'), stream: false });
  const stream = await client.messages.stream(ask('sandbox-thinking', 'streamed')).finalMessage();
  return {
    text: textOf(whole.content[0]),
    streamed: stream.content.map((block) => `${block.type} ${textOf(block)}`),
    refused: await client.messages
      .create({ ...ask('no-such-model', 'x'), stream: false })
      .then(() => never(), describe),
    vendor: await fetchAsVendor(),
    wrongKey: await fetchWithWrongKey(),
    own: await fetchOwnView(),
    admin: await fetch(`${url}/api/v1/accounts`, { headers: { authorization: 'Bearer x' } }).then(
      () => 'readable',
      () => 'blocked',
    ),
  };
}

function textOf(block: object | undefined): string {
  return block !== undefined && 'text' in block ? String(block.text) : '';
}

function never(): never {
  throw new Error('what should be refused was answered');
}

function describe(error: {
  status: number;
  requestID: string;
  error: { error: { code: string } };
  constructor: { name: string };
}) {
  return {
    name: error.constructor.name,
    status: error.status,
    code: error.error.error.code,
    requestId: error.requestID,
  };
}

async function fetchAsVendor(): Promise<Seen['vendor']> {
  const headers = { 'content-type': 'application/json', 'x-api-key': key, 'vendor-version': '2023-06-01' };
  const response = await fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers,
    body: JSON.stringify(ask('sandbox-echo', 'x')),
  });
  const read = (name: string) => response.headers.get(name);
  return {
    status: response.status,
    requestId: read('request-id'),
    remaining: read('vendor-ratelimit-requests-remaining'),
  };
}

async function fetchWithWrongKey(): Promise<Seen['wrongKey']> {
  const headers = { 'content-type': 'application/json', authorization: 'Bearer sk-tp-wrong' };
  const response = await fetch(`${url}/v1/messages`, { method: 'POST', headers, body: '{}' });
  const { error } = (await response.json()) as { error: { code: string } };
  return { status: response.status, shouldRetry: response.headers.get('x-should-retry'), code: error.code };
}

/** Shows the cost of an answer to its user, as a page would. */
async function fetchOwnView(): Promise<Seen['own']> {
  const headers = { 'content-type': 'application/json', 'x-api-key': key };
  const body = JSON.stringify(ask('sandbox-echo', 'x'));
  const message = await fetch(`${url}/v1/messages`, { method: 'POST', headers, body });
  const look = async (path: string) => (await (await fetch(url + path, { headers })).json()) as Record<string, string>;
  const { prefix = '' } = await look('/v1/key');
  const { cost = '' } = await look(`/v1/usage/${message.headers.get('request-id')}`);
  return { prefix, cost };
}
