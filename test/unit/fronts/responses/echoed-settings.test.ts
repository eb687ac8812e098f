// A response repeats the settings of its request, in each of its forms: whole, at the beginning of a stream, and at each end.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { bounds } from '../../../../src/config/config.ts';
import { AnswerStream } from '../../../../src/fronts/answer-stream.ts';
import { type JsonObject, makeEvent, type StreamEvent, unfoldMessage } from '../../../../src/wire/wire.ts';
import { eventsOf, type Json, refusalOf, translate } from './read-response.ts';

/** Without settings; the shape of `ResponseResource`, https://www.openresponses.org/reference (29 November 2026). */
const USUAL: Json = {
  background: false,
  frequency_penalty: 0,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  presence_penalty: 0,
  previous_response_id: null,
  prompt_cache_key: null,
  reasoning: { effort: null, summary: null },
  safety_identifier: null,
  service_tier: 'default',
  store: false,
  temperature: 1,
  text: { format: { type: 'text' }, verbosity: 'medium' },
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
  user: null,
};
/** Members about the answer. */
const OWN = [
  'id',
  'object',
  'created_at',
  'completed_at',
  'status',
  'error',
  'incomplete_details',
  'model',
  'output',
  'usage',
];

const message = (stop_reason: string) =>
  ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'answered',
    content: [{ type: 'text', text: 'Hi.' }],
    stop_reason,
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  }) as unknown as JsonObject;
const error = { type: 'api_error', code: 'upstream_failed', message: 'It failed.' };
const FAILURE = makeEvent({ type: 'error', error });

/** Every response for a request, by where it is. */
function responsesOf(settings: Json): [place: string, response: Json][] {
  const request = { model: 'm', input: 'Hi', ...settings };
  const streamOf = (events: StreamEvent[]) =>
    eventsOf(new AnswerStream(translate(request).answer).take(events))
      .filter((event) => 'response' in event)
      .map(({ type, response }): [string, Json] => [type, response as Json]);
  const whole = ['end_turn', 'max_tokens'].map((stop): [string, Json] => [
    stop,
    JSON.parse(translate(request).answer.message(message(stop))),
  ]);
  const events = unfoldMessage(message('end_turn'));
  return [
    ...whole,
    ...streamOf(events),
    ...streamOf(unfoldMessage(message('max_tokens'))),
    ...streamOf([...events.slice(0, 3), FAILURE]),
    ...streamOf([FAILURE]),
  ];
}

const settingsIn = (response: Json) =>
  Object.fromEntries(Object.entries(response).filter(([name]) => !OWN.includes(name)));
const PLACES = [
  'end_turn',
  'max_tokens',
  ...['response.created', 'response.in_progress', 'response.completed'],
  ...['response.created', 'response.in_progress', 'response.incomplete'],
  ...['response.created', 'response.in_progress', 'response.failed'],
  'response.failed',
];

function expectEchoes(settings: Json, echoed: Json): void {
  const found = responsesOf(settings);
  expect(found.map(([place]) => place)).toEqual(PLACES);
  for (const [, response] of found) expect(settingsIn(response)).toEqual({ ...USUAL, ...echoed });
}

const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false };
const tool = { type: 'function', name: 'f', description: 'It does f.', parameters: schema, strict: true };
const bare = { type: 'function', name: 'g' };
const custom = { type: 'custom', name: 'patch' };
const namespace = { type: 'namespace', name: 'n', description: '', tools: [tool] };
const format = { type: 'json_schema', name: 'joke', schema };
const said = (format: Json) => ({ text: { format, verbosity: 'medium' } });

/** Settings with what the response has; null: the same. */
const CASES: readonly [settings: Json, echoed: Json | null][] = [
  [{}, {}],
  [{ temperature: 0, top_p: 0.5, presence_penalty: -1.5, frequency_penalty: 2 }, null],
  [{ temperature: 0.30000000000000004 }, null],
  [{ max_output_tokens: 99, max_tool_calls: 3 }, null],
  [{ parallel_tool_calls: false, tools: [tool] }, null],
  [{ truncation: 'auto', metadata: { a: 'b', '': '' } }, null],
  [{ prompt_cache_key: 'k', safety_identifier: 's', user: 'u' }, null],
  [{ instructions: 'Be brief. „Ja“ \u2028' }, null],
  [{ reasoning: { effort: 'high' } }, { reasoning: { effort: 'high', summary: null } }],
  [{ reasoning: { effort: null, summary: 'auto' } }, null],
  [{ reasoning: { generate_summary: 'concise' } }, { reasoning: { effort: null, summary: 'concise' } }],
  [said(format), said({ ...format, description: null, strict: false })],
  [said({ ...format, description: 'A joke.', strict: true }), null],
  [{ text: { format } }, said({ ...format, description: null, strict: false })],
  [said({ type: 'json_object' }), null],
  [{ text: { verbosity: 'low' } }, { text: { format: { type: 'text' }, verbosity: 'low' } }],
  [{ tools: [tool, custom, namespace, { type: 'web_search' }] }, null],
  [{ tools: [bare] }, { tools: [{ ...bare, description: null, parameters: null, strict: null }] }],
  ...['none', 'auto', 'required', { type: 'function', name: 'f' }].map((tool_choice): [Json, null] => [
    { tools: [tool], tool_choice },
    null,
  ]),
  [
    { tools: [tool], tool_choice: 'any' },
    { tools: [tool], tool_choice: 'required' },
  ],
  [
    { tools: [tool], tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] } },
    null,
  ],
  [
    { service_tier: 'auto', store: false, background: false, top_logprobs: 0, previous_response_id: null },
    { service_tier: 'default' },
  ],
];

describe('settings are repeated', () => {
  test.each(CASES)('%j', (settings, echoed) => {
    expectEchoes(settings, echoed ?? settings);
  });

  test('in any combination', () => {
    const plain = CASES.filter(([settings]) => !('tool_choice' in settings));
    fc.assert(
      fc.property(fc.subarray([...plain]), (chosen) => {
        const settings = Object.assign({}, ...chosen.map(([one]) => one));
        expectEchoes(settings, Object.assign({}, ...chosen.map(([one, echoed]) => echoed ?? one)));
      }),
      { numRuns: 100, seed: 20_261_129 },
    );
  });

  test('as defaults where they are null', () => {
    const { parallel_tool_calls: _, ...others } = USUAL;
    expectEchoes(Object.fromEntries(Object.keys(others).map((name) => [name, null])), {});
  });

  test('beside the members about the answer', () => {
    for (const [, response] of responsesOf({})) {
      expect(Object.keys(response).sort()).toEqual([...OWN, ...Object.keys(USUAL)].sort());
      expect(response['completed_at']).toBe(response['status'] === 'completed' ? 0 : null);
    }
    expect(responsesOf({}).at(-1)?.[1]).toMatchObject({ status: 'failed', model: 'm' });
  });
});

test.each([
  [{ metadata: 'x' }, 'metadata: Input should be a valid dictionary'],
  [{ metadata: { a: 1 } }, 'metadata.a: Input should be a valid string'],
  [{ metadata: { a: 'x'.repeat(513) } }, 'metadata.a: String should have at most 512 characters'],
  [{ metadata: { ['x'.repeat(65)]: '' } }, 'metadata: names of members should have at most 64 characters'],
  [
    { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, place) => [place, ''])) },
    'metadata: Input should have at most 16 members',
  ],
  [{ truncation: 'middle' }, "truncation: Input should be 'auto' or 'disabled'"],
  [{ max_tool_calls: 0 }, 'max_tool_calls: Input should be a positive integer'],
  [{ max_tool_calls: 1.5 }, 'max_tool_calls: Input should be a positive integer'],
  [{ text: { verbosity: 1 } }, 'text.verbosity: Input should be a valid string'],
  [{ reasoning: { summary: true } }, 'reasoning.summary: Input should be a valid string'],
  [{ user: 7, prompt_cache_key: 'k' }, 'user: Input should be a valid string'],
])('a setting that could not be repeated is refused: %p', (settings, message) => {
  expect(refusalOf(settings)).toEqual({ code: 'invalid_request', message });
});

test('settings that are too long are repeated as if they had not been sent, and the format of the text is kept', () => {
  const instructions = 'x'.repeat(bounds.responseSettingsCharactersMax);
  const long = { ...tool, description: instructions };
  expectEchoes(
    { ...said({ ...format, description: '', strict: true }), tools: [tool], instructions },
    {
      ...said({ ...format, description: '', strict: true }),
      tools: [tool],
    },
  );
  expectEchoes({ tools: [long], instructions: 'Be brief.' }, { instructions: 'Be brief.' });
});
