// An error about the Messages request names the fields of the client's own request.

import { expect, test } from 'bun:test';
import { TurnpikeError } from '../../../../src/errors.ts';
import { chatCompletions } from '../../../../src/fronts/chat-completions/chat-completions.ts';
import { withClientPaths } from '../../../../src/fronts/origins.ts';
import { termsOf, user } from './read-as-messages.ts';

const { origins } = termsOf({
  messages: [
    { role: 'system', content: 'One.' },
    { role: 'developer', content: [{ type: 'text', text: 'Two.' }] },
    user('Look:'),
    user([
      { type: 'text', text: 'this' },
      { type: 'image_url', image_url: { url: 'https://example.org/a.png' } },
    ]),
    {
      role: 'assistant',
      content: 'Hm.',
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    user('Quick!'),
    { role: 'tool', tool_call_id: 'a', content: 'ok' },
    { role: 'system', content: 'Be brief.' },
  ],
  tools: ['g', 'f'].map((name) => ({ type: 'function', function: { name } })),
  tool_choice: {
    type: 'allowed_tools',
    allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'f' } }] },
  },
  max_completion_tokens: 7,
  stop: 'END',
  reasoning_effort: 'high',
  response_format: { type: 'json_schema', json_schema: { name: 'x', schema: {} } },
  user: 'u',
});

const paths: [theirs: string, own: string][] = [
  ['system.1.text', 'messages.1.content.0.text'],
  ['messages', 'messages'],
  ['messages.0.content', 'messages.2.content'],
  ['messages.0.content.2.image.source.url', 'messages.3.content.1.image_url.url'],
  ['messages.1', 'messages.4'],
  ['messages.1.content.1.tool_use.id', 'messages.4.tool_calls.0'],
  ['messages.2.content.0.tool_result.content.0', 'messages.6'],
  ['messages.2.content.1', 'messages.5.content'],
  ['messages.3.role', 'messages.7.content'],
  ['messages.99', 'messages.99'],
  ['tools.0.custom.input_schema.type', 'tools.1.function.parameters.type'],
  ['tools.0.custom.name', 'tools.1.function.name'],
  ['tools.0.strict', 'tools.1.function'],
  ['max_tokens', 'max_completion_tokens'],
  ['stop_sequences.0', 'stop'],
  ['output_config.effort', 'reasoning_effort'],
  ['output_config.format.schema', 'response_format'],
  ['thinking.enabled.budget_tokens', 'reasoning_effort'],
  ['metadata.user_id', 'user'],
  ['temperature', 'temperature'],
  ['model', 'model'],
];

test.each(paths)('%s is reported as the client’s %s', (theirs, own) => {
  const error = withClientPaths(new TurnpikeError('upstream_rejected', `${theirs}: is wrong: very`), origins);
  expect(error.message).toBe(`${own}: is wrong: very`);
  expect(JSON.parse(chatCompletions.errorBody(error, 'req_1')).error).toMatchObject({
    message: `${own}: is wrong: very`,
    param: own,
  });
});

test('an error keeps its status, type, cause and headers', () => {
  const cause = new Error('why');
  const details = { status: 413, type: 'request_too_large', cause, retryAfterMs: 3_000, headers: { a: 'b' } };
  const error = withClientPaths(new TurnpikeError('upstream_rejected', 'max_tokens: too large', details), origins);
  expect(error).toMatchObject({ code: 'upstream_rejected', status: 413, type: 'request_too_large', cause });
  expect(error.headers()).toMatchObject({ a: 'b', 'retry-after': '3' });
});

test('an error that begins with no path is unchanged, and has no field', () => {
  for (const message of [
    'The provider of this model failed.',
    'error: it failed',
    'prompt is too long: 9 tokens > 8 maximum',
  ]) {
    const error = new TurnpikeError('upstream_failed', message);
    expect(withClientPaths(error, origins)).toBe(error);
    expect(JSON.parse(chatCompletions.errorBody(error, 'req_1'))).toEqual({
      error: { message, type: 'api_error', param: null, code: 'upstream_failed' },
    });
  }
});

test('a message as long as an error of a provider may be is read once', () => {
  const long = 'x'.repeat(500_000);
  expect(withClientPaths(new TurnpikeError('upstream_rejected', long), origins).message).toBe(long);
});
