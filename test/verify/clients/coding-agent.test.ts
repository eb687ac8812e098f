// Requests of a coding agent: long, full of beta fields, and dependent on every byte, since one changed byte breaks a
// provider's prompt cache and signatures.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  type ScriptedUpstream,
  scripts,
  startScriptedUpstream,
  upstreamEvents,
} from '../../support/scripted-upstream.ts';
import { startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';

const BETAS = [
  'claude-code-20250219',
  'interleaved-thinking-2025-05-14',
  'context-management-2025-06-27',
  'per-turn-control-2026-07-01',
  'mid-conversation-tool-changes-2026-07-01',
  'advanced-tool-use-2025-11-20',
  'effort-2025-11-24',
].join(',');

let turnpike: Turnpike;
let upstream: ScriptedUpstream;
let secret: string;
beforeAll(async () => {
  upstream = await startScriptedUpstream(scripts.good());
  turnpike = await startTurnpike({
    providers: {
      scripted: { kind: 'anthropic', base_url: upstream.url, api_key: 'sk-of-the-provider', private_network: true },
    },
    models: {
      'claude-opus-9': {
        price: { input: '5', output: '25', cache_read: '0.5', cache_write_5m: '6.25', cache_write_1h: '10' },
        routes: [{ provider: 'scripted', model: 'claude-opus-9' }],
      },
    },
  });
  ({ secret } = await turnpike.makeKey({ credit: '100' }));
});
afterAll(async () => {
  expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
  await turnpike.stop();
  await upstream.close();
});

/** The second turn of a conversation with a tool call. Its text uses the oddest JSON escapes. */
function agentBody(model: string, members: Record<string, unknown> = {}): string {
  const body = {
    model,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: '<system-reminder>\nToday is Friday.\n</system-reminder>' },
          {
            type: 'text',
            text: 'Fix the bug — “quoted” \u2028 ✓ \u{1F600}',
            cache_control: { type: 'ephemeral', ttl: '1h' },
          },
        ],
      },
      { role: 'system', content: [{ type: 'text', text: 'Working directory: /home/someone/project' }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'I shall look.', signature: 'EqQBCkYIBxgCKkD/+==' },
          { type: 'tool_use', id: 'toolu_01A', name: 'mcp__files__Read', input: { path: 'a.ts', offset: '@@' } },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_01A',
            content: [{ type: 'text', text: 'export const a = 1;\n', cache_control: { type: 'ephemeral' } }],
          },
        ],
      },
    ],
    system: [
      { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.328.abc; cc_entrypoint=cli;' },
      { type: 'text', text: 'You are an agent.', cache_control: { type: 'ephemeral', ttl: '1h' } },
      { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } },
    ],
    tools: [
      {
        name: 'mcp__files__Read',
        description: 'Reads a file',
        input_schema: {
          $schema: 'https://json-schema.org/draft/2020-12/schema',
          type: 'object',
          required: ['path'],
          properties: { path: { type: 'string' }, offset: { type: 'integer', maximum: '@@' } },
          additionalProperties: false,
        },
      },
      { name: 'WebFetch', description: 'Later', defer_loading: true, input_schema: { type: 'object', properties: {} } },
    ],
    metadata: { user_id: JSON.stringify({ device_id: 'ab'.repeat(32), account_uuid: '', session_id: 'f0-0d' }) },
    max_tokens: 32_000,
    thinking: { type: 'adaptive', display: 'omitted' },
    context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    output_config: { effort: 'medium' },
    stream: true,
    ...members,
  };
  // A number beyond 2^53, a needless escape and spaces: parsing and serializing would change them.
  return JSON.stringify(body)
    .replaceAll('"@@"', '12345678901234567890')
    .replace('"Be brief."', '"Be\\u0020brief\\/."')
    .replaceAll(',"name"', ' ,\n\t"name"');
}

function post(body: string, path = '/v1/messages?beta=true'): Promise<Response> {
  return fetch(turnpike.url + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${secret}`,
      'anthropic-version': '2023-06-01',
      'anthropic-beta': BETAS,
      'anthropic-dangerous-direct-browser-access': 'true',
      'x-app': 'cli',
      'x-claude-code-session-id': 'f0-0d',
      'x-stainless-retry-count': '0',
      'user-agent': 'claude-cli/2.1.328 (external, cli)',
      cookie: 'session=mine',
    },
    body,
  });
}

describe('a coding agent', () => {
  test('has its request forwarded byte for byte, with its version and betas, and without its own headers', async () => {
    const body = agentBody('claude-opus-9');
    const response = await post(body);
    const events = upstreamEvents().filter((event) => !event.startsWith('event: ping')); // The service adds pings of its own.
    expect([response.status, await response.text()]).toEqual([200, events.join('')]);
    const { method, path, headers, body: arrived } = upstream.requests.at(-1) ?? expect.unreachable();
    expect([method, path]).toEqual(['POST', '/v1/messages']);
    expect(arrived).toBe(body);
    expect(headers).toMatchObject({
      'x-api-key': 'sk-of-the-provider',
      'anthropic-version': '2023-06-01',
      'anthropic-beta': BETAS,
      'content-type': 'application/json',
    });
    for (const name of ['authorization', 'cookie', 'x-claude-code-session-id', 'x-app', 'x-stainless-retry-count'])
      expect(headers).not.toHaveProperty(name);
    expect(JSON.stringify(headers)).not.toContain(secret);
  });

  test('has the same request forwarded without streaming', async () => {
    const body = agentBody('claude-opus-9', { stream: false, max_tokens: 512 });
    const response = await post(body);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ type: 'message', stop_reason: 'end_turn' });
    expect(upstream.requests.at(-1)?.body).toBe(body);
  });

  test('is served by sandbox models with all of its request fields', async () => {
    for (const model of ['sandbox-echo', 'sandbox-thinking', 'sandbox-tool', 'sandbox-lorem']) {
      const response = await post(agentBody(model, { max_tokens: 40 }));
      const text = await response.text();
      expect([response.status, text.endsWith('event: message_stop\ndata: {"type":"message_stop"}\n\n')]).toEqual([
        200,
        true,
      ]);
      if (model === 'sandbox-echo') expect(text).toContain('export const a = 1;');
    }
  });

  test('has its prompt counted with the same body', async () => {
    const response = await post(agentBody('sandbox-echo'), '/v1/messages/count_tokens?beta=true');
    expect([response.status, await response.json()]).toEqual([200, { input_tokens: expect.any(Number) }]);
  });

  test('gets a provider’s refusal in the provider’s words, so that it can recover', async () => {
    const words = "messages.1.role: Input should be 'user' or 'assistant'";
    upstream.play(scripts.refusedContent(words), scripts.good());
    const response = await post(agentBody('claude-opus-9'));
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error', message: words } });
  });

  test('can send its warm-up request and list models', async () => {
    expect((await fetch(`${turnpike.url}/api/hello`, { method: 'HEAD' })).status).toBe(200);
    const response = await fetch(`${turnpike.url}/v1/models?limit=1000`, {
      headers: { authorization: `Bearer ${secret}` },
    });
    const { data } = (await response.json()) as { data: { id: string }[] };
    expect(data.map(({ id }) => id)).toContain('claude-opus-9');
  });
});
