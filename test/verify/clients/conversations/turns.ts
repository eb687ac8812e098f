// Conversations of several turns: calls of tools at once, their results with pictures and errors, and thoughts that are
// worth nothing without their signatures. No tests of its own.

import { expect } from 'bun:test';
import { type Block, sayMessage } from '../upstreams/speak-messages.ts';
import { blocksOf, type Conversation, expectRecord, picture, USUAL, user } from './conversation.ts';

const WEATHER = {
  name: 'weather',
  description: 'The weather of a city',
  input_schema: {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer' } },
    required: ['city'],
  },
};
const MAP = {
  name: 'map',
  description: 'A map',
  input_schema: { type: 'object', properties: { of: { type: 'string' } } },
};
const weatherInput = '{"city": "Zürich \\"Nord\\" \\u2713 😀", "days": 3 }';
const mapInput = '{"of":"C:\\\\maps\\n\\t"}';
const calls: Block[] = [
  { type: 'text', text: 'I look.' },
  { type: 'tool_use', id: 'toolu_0001', name: 'map', input: mapInput },
  { type: 'tool_use', id: 'toolu_0002', name: 'weather', input: weatherInput },
];
const results = {
  map: { content: [{ type: 'text', text: 'A map.' }, picture] },
  weather: { content: 'There is no such city.', is_error: true },
};

export const tools: Conversation = {
  name: 'tools',
  body: { max_tokens: 500, messages: [user('Where is it warm?')], tools: [WEATHER, MAP] },
  results,
  upstream: [sayMessage({ content: calls }), sayMessage({ content: [{ type: 'text', text: 'Nowhere.' }] })],
  check(held) {
    const { got, sent, records } = held;
    expect(got.text).toBe('Nowhere.');
    expect(sent).toHaveLength(2);
    expect(sent[0]?.json['tools']).toMatchObject([
      { name: 'weather', description: 'The weather of a city' },
      { name: 'map' },
    ]);
    const used = blocksOf(sent[1], 'tool_use').map(({ id, name, input }) => [id, name, input]);
    expect(used).toEqual([
      ['toolu_0001', 'map', JSON.parse(mapInput)],
      ['toolu_0002', 'weather', JSON.parse(weatherInput)],
    ]);
    const answered = blocksOf(sent[1], 'tool_result');
    expect(answered.map(({ tool_use_id }) => tool_use_id)).toEqual(['toolu_0001', 'toolu_0002']);
    expect(JSON.stringify(answered[1]?.['content'])).toContain('There is no such city.');
    expectRecord(records, 2, USUAL);
  },
};

/** The same, streamed: an input comes in pieces, which the client puts together. */
export const streamedTools: Conversation = { ...tools, name: 'streamed-tools', isStreamed: true };

/** That a picture and an error come as such is said by who has words for them. */
export const toolResults: Conversation = {
  ...tools,
  name: 'tool-results',
  check(held) {
    tools.check(held);
    const [map, weather] = blocksOf(held.sent[1], 'tool_result');
    expect(map?.['content']).toMatchObject(results.map.content);
    expect(weather).toMatchObject({ is_error: true });
  },
};

const SIGNATURE = 'EqQBCkYIBxgCKkD/+abc==';
const thoughts: Block[] = [
  { type: 'thinking', thinking: 'I must look — “there”.', signature: SIGNATURE },
  { type: 'redacted_thinking', data: 'EmwKAhgBEgy/+hidden==' },
  { type: 'tool_use', id: 'toolu_0003', name: 'weather', input: weatherInput },
];
const after: Block[] = [
  { type: 'thinking', thinking: 'Now I know.', signature: `${SIGNATURE}2` },
  { type: 'text', text: 'It is cold.' },
];

export const thinking: Conversation = {
  name: 'thinking',
  body: {
    max_tokens: 3_000,
    thinking: { type: 'enabled', budget_tokens: 1_024 },
    messages: [user('Is it warm there?')],
    tools: [WEATHER],
  },
  isStreamed: true,
  results,
  next: ['And tomorrow?'],
  upstream: [
    sayMessage({ content: thoughts }),
    sayMessage({ content: after }),
    sayMessage({ content: [{ type: 'text', text: 'As well.' }] }),
  ],
  check({ got, sent, records }) {
    expect(got.text).toBe('As well.');
    expect(sent.map(({ json }) => json['thinking'])).toEqual(Array(3).fill({ type: 'enabled', budget_tokens: 1_024 }));
    for (const request of sent.slice(1)) {
      expect(blocksOf(request, 'thinking')[0]).toMatchObject(thoughts[0] as object);
      expect(blocksOf(request, 'redacted_thinking')).toEqual([thoughts[1] as never]);
    }
    expect(blocksOf(sent[2], 'thinking')[1]).toMatchObject(after[0] as object);
    expectRecord(records, 3, USUAL);
  },
};
