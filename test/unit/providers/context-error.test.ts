// Errors of prompts that are too long have the words of Claude's API, by which agents shorten their conversation.

import { expect, test } from 'bun:test';
import { contextErrorOf } from '../../../src/providers/context-error.ts';

const TOO_LONG = 'prompt is too long: 5000 tokens > 4096 maximum';
const TOO_MUCH = 'input length and `max_tokens` exceed context limit: 4000 + 1000 > 4096';

test.each([
  "This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens. Please reduce the length of the messages.",
  "This model's maximum context length is 4,096 tokens. However, you requested 5,000 tokens. Please shorten it.",
  "This model's maximum prompt length is 4096 but the request contains 5000 tokens.",
  "This endpoint's maximum context length is 4096 tokens. However, you requested about 5000 tokens.",
  "This model's maximum context length is 4096 tokens. However, you requested 6000 tokens (5000 in the messages, 1000 in the completion). Please reduce the length.",
  "'max_tokens' or 'max_completion_tokens' is too large: 1000. This model's maximum context length is 4096 tokens and your request has 5000 input tokens (1000 > 4096 - 5000).",
  'The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller.',
  'request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it',
  'Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens',
  "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
  'Prompt contains 5000 tokens and 0 draft tokens, too large for model with 4096 maximum context length',
  'Input validation error: `inputs` must have less than 4096 tokens. Given: 5000',
  'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 100 `max_new_tokens`',
  'Invalid request: Your request exceeded model token limit: 4096 (requested: 5000)',
  'The input token count (5000) exceeds the maximum number of tokens allowed (4096).',
  'prompt token count of 5000 exceeds the limit of 4096',
  'The prompt is too long: 5000, model maximum context length: 4096',
  'Input tokens 5000 exceed the configured limit of 4096 tokens',
  "This model's maximum context length is 4096 tokens. However, you requested 0 output tokens and your prompt contains at least 5000 input tokens, for a total of at least 5000 tokens.",
  "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 6000 tokens: 5000 tokens from the input messages and 1000 tokens for the completion.",
  'Input tokens exceed the configured limit of 4096 tokens. Your messages resulted in 5000 tokens. Please reduce the length of the messages.',
  'Please reduce the length of the messages or completion. Current length is 5000 while limit is 4096',
  'Requested tokens (5000) exceed context window of 4096',
  'Input length (5000 tokens) exceeds the maximum allowed length (4096 tokens). Use a shorter input or enable --allow-auto-truncate.',
  "Input length (5000) exceeds model's maximum context length (4096).",
  'Prompt has 5,000 tokens, but the configured context size is 4,096 tokens',
])('a prompt that exceeds the context has its counts: %s', (message) => {
  expect(contextErrorOf(message)).toBe(TOO_LONG);
});

test.each([
  "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion). Please reduce the length.",
  "'max_tokens' or 'max_completion_tokens' is too large: 1000. This model's maximum context length is 4096 tokens and your request has 4000 input tokens (1000 > 4096 - 4000).",
  'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 1000 `max_new_tokens`',
  "This model's maximum context length is 4096 tokens. However, you requested 1000 output tokens and your prompt contains at least 4000 input tokens, for a total of at least 5000 tokens.",
  "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 5000 tokens: 4000 tokens from the input messages and 1000 tokens for the completion.",
])('a prompt that fits, but not with its output, says so: %s', (message) => {
  expect(contextErrorOf(message)).toBe(TOO_MUCH);
});

test.each([
  ['Your input exceeds the context window of this model. Please adjust your input and try again.', ''],
  ['Please reduce the length of the messages or completion.', 'invalid_request_error context_length_exceeded'],
  ['Input is too long for requested model.', ''],
  ['Prompt exceeds max length', '1261'],
  ['Range of input length should be [1, 129024]', 'invalid_parameter_error'],
  ['the input length exceeds the context length', ''],
  ['prompt too long; exceeded max context length by 904 tokens', ''],
  ['too many tokens: size limit exceeded by 904 tokens', ''],
  ['invalid params, context window exceeds limit (2013)', ''],
  ['Please reduce the length of the messages or completion', ''],
  ['The number of tokens to keep from the initial prompt is greater than the context length', ''],
  ['the request exceeds the available context size. try increasing it', 'exceed_context_size_error'],
  ['too big', 'model_max_prompt_tokens_exceeded'],
  ['input is longer than the maximum model length of 32768', ''],
  ['The request payload size has exceed context limit.', ''],
  [
    "This model's maximum context length is 4096 tokens. However, you requested 4000 output tokens and your prompt contains 12769 characters",
    '',
  ],
])('an error without both counts says what is wrong first: %s', (message, names) => {
  const said = /^prompt is too long/i.test(message) ? message : `prompt is too long: ${message}`;
  expect(contextErrorOf(message, names)).toBe(said);
});

test.each([
  'prompt is too long: 5000 tokens > 4096 maximum',
  'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again',
  'messages.0.content: Field required',
  'max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for this model',
  'image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes',
  'tools.0.name: String should match pattern',
  "Invalid value: 'context'. Supported values are: 'a'",
])('another error keeps its words: %s', (message) => {
  expect(contextErrorOf(message)).toBe(message);
});

test.each([
  'Invalid request: Your request exceeded model token limit: 8192',
  'Total tokens of image and text exceed max message tokens. Request id: x',
])('a prompt that exceeds the context without its counts: %s', (message) => {
  expect(contextErrorOf(message)).toBe(`prompt is too long: ${message}`);
});

test('a message as long as an event may be is read only at its beginning', () => {
  const digits = `maximum context length is 1 tokens requested 1 tokens (1 in the messages ${'1'.repeat(2_000_000)}`;
  expect(contextErrorOf(digits.repeat(2))).toBe('prompt is too long: 1 tokens > 1 maximum');
  expect(contextErrorOf(`${'x'.repeat(3_000)} maximum context length`)).not.toStartWith('prompt');
});
