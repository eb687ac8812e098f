// A request of a coding agent, in its second turn: full of fields that only its vendor has. It has no tests of its own.

const CACHED = { cache_control: { type: 'ephemeral' } };

/** The integer in the input has more digits than a double. */
export const agentRequest = (model: string): string =>
  JSON.stringify({
    model,
    max_tokens: 32_000,
    stream: true,
    system: [
      { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1; cc_entrypoint=cli;' },
      { type: 'text', text: 'You are an agent.', ...CACHED },
    ],
    tools: [
      {
        name: 'mcp__files__Read',
        input_schema: {
          type: 'object',
          properties: { path: { type: 'string' } },
          $schema: 'https://json-schema.org/draft/2020-12/schema',
        },
        eager_input_streaming: true,
        ...CACHED,
      },
      { name: 'WebFetch', description: 'Later', defer_loading: true, input_schema: { type: 'object', properties: {} } },
    ],
    thinking: { type: 'adaptive', display: 'omitted' },
    output_config: { effort: 'medium' },
    context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    metadata: { user_id: '{"device_id":"0","session_id":"1"}' },
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: '<system-reminder>Friday.</system-reminder>' },
          { type: 'text', text: 'Fix it.', ...CACHED },
        ],
      },
      { role: 'system', content: [{ type: 'text', text: 'Working directory: /' }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Of another provider.', signature: 'EqQBCgIYAhIM' },
          { type: 'text', text: 'I look.' },
          {
            type: 'tool_use',
            id: 'toolu_1',
            name: 'mcp__files__Read',
            input: { path: 'a.ts', offset: '@@' },
            ...CACHED,
          },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            content: [{ type: 'tool_reference', tool_name: 'WebFetch' }],
            ...CACHED,
          },
        ],
      },
    ],
  }).replace('"@@"', '12345678901234567890');

export const AGENT_BETAS = 'claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27';

/** Members that only the vendor of the agent reads. */
export const VENDOR_MEMBERS = [
  ...['billing-header', 'cache_control', 'defer_loading', 'eager_input_streaming', 'context_management', 'device_id'],
];
