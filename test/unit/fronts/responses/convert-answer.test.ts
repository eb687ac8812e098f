// Conversion of a message, whole or streamed: both have the same result.

import { describe, expect, test } from 'bun:test';
import { bounds } from '../../../../src/config/config.ts';
import { AnswerStream } from '../../../../src/fronts/answer-stream.ts';
import { type JsonObject, makeEvent, PING, type StreamEvent, unfoldMessage } from '../../../../src/wire/wire.ts';
import { eventsOf, type Json, lastResponse, messagesOf, translate } from './read-response.ts';

const fn = (name: string) => ({ type: 'function', name, parameters: { type: 'object', properties: {} } });
const request = {
  model: 'm',
  input: 'Hi',
  stream: true,
  reasoning: { summary: 'auto' },
  tools: [
    fn('weather'),
    { type: 'namespace', name: 'agents', tools: [fn('wait')] },
    { type: 'custom', name: 'apply_patch' },
    { type: 'tool_search', execution: 'client', parameters: { type: 'object', properties: {} } },
  ],
};
const call = (id: string, name: string, input: JsonObject) => ({ type: 'tool_use', id, name, input });
const message = {
  id: 'msg_01abc',
  type: 'message',
  role: 'assistant',
  model: 'upstream-model',
  content: [
    { type: 'thinking', thinking: 'Hm. Let me see.', signature: 'c2lnbmVk' },
    { type: 'redacted_thinking', data: 'c2VhbGVk' },
    { type: 'text', text: 'I shall ask ' },
    { type: 'text', text: 'twice.' },
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'Köln' } },
    { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
    call('toolu_1', 'weather', { city: 'Köln', days: 3 }),
    call('toolu_2', 'agents__wait', {}),
    call('toolu_3', 'apply_patch', { input: '*** "Begin"\n' }),
    call('toolu_4', 'tool_search', { query: 'mail' }),
  ],
  stop_reason: 'tool_use',
  stop_sequence: null,
  usage: {
    input_tokens: 10,
    cache_creation_input_tokens: 20,
    cache_read_input_tokens: 300,
    output_tokens: 40,
    output_tokens_details: { thinking_tokens: 15 },
  },
} as unknown as JsonObject;

const answerOf = (members: Json = {}, of: Json = request) =>
  JSON.parse(translate(of).answer.message({ ...message, ...members } as JsonObject)) as Json & { output: Json[] };
const streamOf = (members: Json = {}) => unfoldMessage({ ...message, ...members } as JsonObject);
const write = (events: readonly StreamEvent[], of: Json = request) =>
  new AnswerStream(translate(of).answer).take(events);

test('a message becomes a response with reasoning, text, calls as the client named them, and usage', () => {
  const { output, ...rest } = answerOf();
  expect(rest).toMatchObject({
    id: 'resp_01abc',
    object: 'response',
    status: 'completed',
    model: 'upstream-model',
    error: null,
    incomplete_details: null,
    usage: {
      input_tokens: 330,
      input_tokens_details: { cached_tokens: 300, cache_write_tokens: 20 },
      output_tokens: 40,
      output_tokens_details: { reasoning_tokens: 15 },
      total_tokens: 370,
    },
  });
  const ids = output.map(({ id }) => id);
  expect(ids).toEqual(['rs', 'rs', 'msg', 'ws', 'fc', 'fc', 'ctc', 'tsc'].map((kind, at) => `${kind}_01abc_${at}`));
  const status = 'completed';
  expect(output.map(({ id: _, encrypted_content: __, ...item }) => item)).toEqual([
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm. Let me see.' }] },
    { type: 'reasoning', summary: [] },
    {
      type: 'message',
      status,
      role: 'assistant',
      content: [{ type: 'output_text', text: 'I shall ask twice.', annotations: [], logprobs: [] }],
    },
    { type: 'web_search_call', status, action: { type: 'search', query: 'Köln' } },
    { type: 'function_call', status, call_id: 'toolu_1', name: 'weather', arguments: '{"city":"Köln","days":3}' },
    { type: 'function_call', status, call_id: 'toolu_2', namespace: 'agents', name: 'wait', arguments: '{}' },
    { type: 'custom_tool_call', status, call_id: 'toolu_3', name: 'apply_patch', input: '*** "Begin"\n' },
    { type: 'tool_search_call', status, call_id: 'toolu_4', execution: 'client', arguments: { query: 'mail' } },
  ]);
});

test('a stream has every item as it grows, and the same response at its end', () => {
  const events = eventsOf(write(streamOf()));
  const whole = answerOf();
  expect(events.at(-1)).toMatchObject({
    type: 'response.completed',
    response: { ...whole, created_at: expect.anything() },
  });
  expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['response.created', 'response.in_progress']);
  const done = events.filter(({ type }) => type === 'response.output_item.done');
  expect(done.map(({ item }) => item)).toEqual(whole.output);
  expect(done.map(({ output_index }) => output_index)).toEqual(whole.output.map((_, place) => place));
  const added = events.filter(({ type }) => type === 'response.output_item.added');
  expect(added.map(({ item }) => (item as Json)['id'])).toEqual(whole.output.map(({ id }) => id));
  const joined = (type: string) =>
    events
      .filter((one) => one.type === type)
      .map(({ delta }) => delta)
      .join('');
  expect(joined('response.output_text.delta')).toBe('I shall ask twice.');
  expect(joined('response.reasoning_summary_text.delta')).toBe('Hm. Let me see.');
  expect(joined('response.function_call_arguments.delta')).toBe('{"city":"Köln","days":3}{}');
  expect(joined('response.custom_tool_call_input.delta')).toBe('*** "Begin"\n');
});

test('thinking that was not asked for is not shown, but returned for the next turn', () => {
  const hidden = { ...request, reasoning: { effort: 'high' } };
  const [reasoning] = answerOf({}, hidden).output;
  expect(reasoning).toMatchObject({ type: 'reasoning', summary: [] });
  expect(write(streamOf(), hidden)).not.toContain('reasoning_summary');
  expect(answerOf({}, hidden).output).toEqual(lastResponse(write(streamOf(), hidden))['output'] as Json[]);
});

test('reasoning comes back as the thinking that it was, and reasoning of a provider is left out', () => {
  const { output } = answerOf();
  const changed = output.map((item) => ('summary' in item ? { ...item, summary: [] } : item));
  const foreign = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAAABo' };
  const [, assistant] = messagesOf([{ role: 'user', content: 'Hi' }, foreign, ...changed], request);
  const kept = (message['content'] as JsonObject[]).filter(({ type }) => !String(type).includes('_tool_'));
  const said = kept.filter(({ type }) => type !== 'server_tool_use' && type !== 'text');
  const text = { type: 'text', text: 'I shall ask twice.' };
  expect(assistant?.['content']).toEqual([...said.slice(0, 2), text, ...said.slice(2)]);
});

describe('the end', () => {
  test.each([
    ['end_turn', 'completed', null],
    ['stop_sequence', 'completed', null],
    ['max_tokens', 'incomplete', { reason: 'max_output_tokens' }],
    ['model_context_window_exceeded', 'incomplete', { reason: 'max_output_tokens' }],
    ['refusal', 'incomplete', { reason: 'content_filter' }],
  ])('%s is %s', (stop_reason, status, incomplete_details) => {
    const content = [{ type: 'text', text: 'Hm' }];
    expect(answerOf({ stop_reason, content })).toMatchObject({ status, incomplete_details, output: [{ status }] });
    const last = eventsOf(write(streamOf({ stop_reason, content }))).at(-1);
    expect(last).toMatchObject({ type: `response.${status}`, response: { status, incomplete_details } });
  });

  test('a call that was cut is incomplete', () => {
    const start = { index: 0, content_block: { type: 'tool_use', id: 'a', name: 'weather', input: {} } };
    const delta = { type: 'input_json_delta', partial_json: '{"ci' };
    const written = write([
      makeEvent({ type: 'message_start', message: { id: 'msg_1', model: 'm', usage: {} } }),
      makeEvent({ type: 'content_block_start', ...start }),
      makeEvent({ type: 'content_block_delta', index: 0, delta }),
      makeEvent({ type: 'content_block_stop', index: 0 }),
      makeEvent({ type: 'message_delta', delta: { stop_reason: 'max_tokens' }, usage: {} }),
      makeEvent({ type: 'message_stop' }),
    ]);
    expect(lastResponse(written)).toMatchObject({ status: 'incomplete', output: [{ arguments: '{"ci' }] });
  });
});

describe('an error in a stream', () => {
  const failure = (error: JsonObject) => makeEvent({ type: 'error', error });

  test.each([
    ['insufficient_user_quota', 'billing_error', 'insufficient_quota', 'insufficient_quota'],
    ['output_tokens_rate_exceeded', 'rate_limit_error', 'rate_limit_exceeded', 'rate_limit_exceeded'],
    ['upstream_failed', 'api_error', 'upstream_failed', 'server_error'],
    ['upstream_rejected', 'invalid_request_error', 'upstream_rejected', 'invalid_prompt'],
  ])('%s is sent twice, for clients that read only one of them', (code, type, own, failed) => {
    const events = eventsOf(write([...streamOf().slice(0, 2), failure({ type, code, message: 'No.' })]));
    expect(events.at(-2)).toMatchObject({
      type: 'error',
      error: { type, code: own, message: 'No.', param: null, details: { error_code: code } },
    });
    expect(events.at(-1)).toMatchObject({
      type: 'response.failed',
      response: { id: 'resp_01abc', status: 'failed', error: { code: failed, message: 'No.' }, usage: null },
    });
  });

  test('a prompt that is too long has the code by which agents shorten it', () => {
    const text = failure({
      type: 'invalid_request_error',
      code: 'upstream_rejected',
      message: 'prompt is too long: 3 > 2',
    });
    expect(eventsOf(write([text])).at(-1)).toMatchObject({ response: { error: { code: 'context_length_exceeded' } } });
  });

  test('nothing follows it', () => {
    expect(write([failure({ type: 'api_error', code: 'internal', message: '' }), ...streamOf()])).not.toContain(
      'response.created',
    );
  });
});

test('a stream ends with [DONE], which nothing follows, however it ends', () => {
  const failure = { type: 'error', error: { type: 'api_error', code: 'upstream_failed', message: 'No.' } };
  const failed = makeEvent(failure);
  const streams = [streamOf(), streamOf({ stop_reason: 'max_tokens' }), [failed], [...streamOf().slice(0, 8), failed]];
  for (const events of streams) {
    const written = write([...events, ...streamOf()]);
    expect(written.split('data: [DONE]\n\n')).toEqual([expect.stringMatching(/\n\n$/), '']);
  }
});

test('a ping is a comment', () => {
  expect(write([PING])).toBe(': ping\n\n');
});

test('output that is too long to be repeated ends the stream', () => {
  const long = 'x'.repeat(bounds.responseOutputCharactersMax + 1);
  const written = write(streamOf({ content: [{ type: 'text', text: long }] }));
  expect(eventsOf(written).at(-1)).toMatchObject({ type: 'response.failed' });
  expect(answerOf({ content: [{ type: 'text', text: long }] })['status']).toBe('completed');
});
