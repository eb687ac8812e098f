// Providers of the Responses protocol, for its own clients. It has no tests of its own.

import type { Json } from '../front-driver.ts';
import { CREDENTIAL, type NativeDriver } from '../native-driver.ts';
import { responses } from './responses.ts';

const USAGE = { input_tokens: 25, output_tokens: 12, total_tokens: 37, output_tokens_details: { reasoning_tokens: 5 } };
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'Hello there, world!' }],
};
export const REASONING = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'gAAAAABo' };
const PATCH = { id: 'ctc_1', type: 'custom_tool_call', call_id: 'call_1', name: 'apply_patch', input: '*** "Begin"' };
const OUTPUT = [REASONING, MESSAGE, PATCH];
const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'gpt-5.5',
  output: OUTPUT,
  usage: USAGE,
};

function eventsOf(deltas: readonly string[]): Json[] {
  const events: Json[] = [
    { type: 'response.created', response: { id: 'resp_1', status: 'in_progress' } },
    { type: 'response.in_progress', response: { id: 'resp_1', status: 'in_progress' } },
    { type: 'response.output_item.added', output_index: 0, item: { id: 'rs_1', type: 'reasoning', summary: [] } },
    { type: 'response.output_item.done', output_index: 0, item: REASONING },
    { type: 'response.output_item.added', output_index: 1, item: { ...MESSAGE, content: [] } },
    { type: 'response.content_part.added', output_index: 1, content_index: 0, part: { type: 'output_text', text: '' } },
    ...deltas.map((delta) => ({ type: 'response.output_text.delta', output_index: 1, content_index: 0, delta })),
    { type: 'response.some_new_event', n: 1 },
    { type: 'response.output_item.done', output_index: 1, item: MESSAGE },
    { type: 'response.output_item.added', output_index: 2, item: { ...PATCH, input: '' } },
    { type: 'response.custom_tool_call_input.delta', output_index: 2, delta: '*** "Be' },
    { type: 'response.custom_tool_call_input.delta', output_index: 2, delta: 'gin"' },
    { type: 'response.custom_tool_call_input.done', output_index: 2, input: PATCH.input },
    { type: 'response.output_item.done', output_index: 2, item: PATCH },
    { type: 'response.completed', response: RESPONSE },
  ];
  return events.map((event, sequence_number) => ({ ...event, sequence_number }));
}

const eventText = (event: Json) => `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`;
const error = { type: 'tokens', code: 'rate_limit_exceeded', message: 'Limit reached for org-4711.' };

const user = (...content: Json[]) => ({ input: [{ role: 'user', content }] });
const say = (...items: Json[]) => ({ input: [{ role: 'user', content: 'Hi' }, ...items] });
const image = { type: 'input_image', image_url: 'data:image/png;base64,aGk=' };

const PRICED = [
  'file_search',
  'code_interpreter',
  'computer',
  'image_generation',
  'mcp',
  'shell',
  'local_shell',
  'new_one',
];
const REFUSED: NativeDriver['refused'] = [
  ['background', { background: true }],
  ['store', { store: true }],
  ['previous_response_id', { previous_response_id: 'resp_1' }],
  ['conversation', { conversation: 'conv_1' }],
  ['prompt', { prompt: { id: 'pmpt_1' } }],
  ['service_tier', { service_tier: 'flex' }],
  ['service_tier', { service_tier: 'priority' }],
  ['moderation', { moderation: {} }],
  ...PRICED.map((type): [string, Json] => ['tools.0.type', { tools: [{ type }] }]),
  ['tools.0.tools.0.type', { tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'mcp' }] }] }],
  ['input.1.tools.0.type', say({ type: 'additional_tools', tools: [{ type: 'mcp' }] })],
  ['tool_choice.type', { tool_choice: { type: 'file_search' } }],
  ['input.1.id', say({ type: 'item_reference', id: 'msg_1' })],
  ['input.1.type', say({ id: 'msg_1' })],
  ['input.1.type', say({ type: 'compaction_trigger' })],
  ['input.1.type', say({ type: 'mcp_call', id: 'x' })],
  ['input.0.content.0.file_id', user({ ...image, file_id: 'file-1' })],
  ['input.0.content.0.file_id', user({ type: 'input_file', file_id: 'file-1' })],
  [
    'input.0.content.0.file_id',
    user({ type: 'input_file', file_id: 'file-1', file_data: 'data:text/plain;base64,aGk=' }),
  ],
  [
    'input.1.output.0.file_id',
    say({ type: 'function_call_output', call_id: 'a', output: [{ ...image, file_id: 'file-1' }] }),
  ],
];

const fn = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } };
const tools = [{ ...fn, defer_loading: true, later: 1 }, { type: 'web_search' }, { type: 'tool_search' }];
const later = {
  metadata: { a: 'b' },
  client_metadata: {},
  prompt_cache_retention: '24h',
  later: 1,
  max_tool_calls: 1,
};
const input = [
  { role: 'user', content: [{ type: 'input_text', text: 'Hi', later: 1 }], later: 1 },
  { type: 'item_reference', id: 'rs_1' },
  { type: 'web_search_call', id: 'ws_1' },
  { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}', later: 1 },
  { type: 'function_call_output', call_id: 'a', output: 'ok' },
];
const include = ['reasoning.encrypted_content', 'web_search_call.action.sources'];
const reasoning = { effort: 'low', later: 1 };

export const nativeResponses: NativeDriver = {
  front: responses,
  kind: 'openai-responses',
  model: 'gpt-5.5',
  path: '/v1/responses',
  streamPath: '/v1/responses',
  credential: { authorization: `Bearer ${CREDENTIAL}` },
  bodies: [
    [
      'its own limit',
      '{ "model": "openai-responses-own",  "input":"a\\u0020b", "temperature":1.00, "store" : false, "stream":false, "max_output_tokens":64 }',
      '{ "model": "gpt-5.5",  "input":"a\\u0020b", "temperature":1.00, "store" : false, "stream":false, "max_output_tokens":50 }',
    ],
    [
      'no limit',
      '{"model":"openai-responses-own","input":[{"role":"user","content":"a"}]}',
      '{"model":"gpt-5.5","input":[{"role":"user","content":"a"}],"max_output_tokens":50,"store":false,"stream":false}',
    ],
  ],
  answer: { ...RESPONSE, extra: 1 },
  events: (texts) => {
    const events = eventsOf(texts).map(eventText);
    return { begun: events.slice(0, -1), end: events.slice(-1) };
  },
  limited: {
    body: JSON.stringify({ error }),
    event: eventText({ type: 'response.failed', response: { ...RESPONSE, status: 'failed', error } }),
  },
  refused: REFUSED,
  leftOut: {
    received: { ...later, tools, input, include, reasoning },
    sent: {
      ...responses.body({ model: 'gpt-5.5', maxTokens: 50, members: { store: false, stream: false } }),
      tools: [fn],
      include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'low' },
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
        { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: 'ok' },
      ],
    },
  },
  unread: { include: ['reasoning.encrypted_content'] },
};
