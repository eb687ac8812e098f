// Texts of a prompt: what a model reads, and nothing that it does not.

import { describe, expect, test } from 'bun:test';
import { promptTexts } from '../../../src/tokenizer/prompt-texts.ts';
import { countPromptLocally, familyOf } from '../../../src/tokenizer/tokenizer.ts';
import type { JsonObject } from '../../../src/wire/wire.ts';
import { inPlaceTokenizer } from '../../support/in-place-tokenizer.ts';

const added = { prompt: 1, message: 10, tools: 100, tool: 1_000, property: 10_000 };

const textsOf = (body: JsonObject) => promptTexts({ body }, added).texts;
const blocks = (...content: JsonObject[]): JsonObject => ({ messages: [{ role: 'user', content }] });

describe('the texts of a prompt', () => {
  test('are those of the system prompt and of messages, in any form', () => {
    expect(textsOf({ system: 'Be brief.', messages: [{ role: 'user', content: 'Hello' }] })).toEqual([
      'Be brief.',
      'Hello',
    ]);
    const system = [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } }];
    expect(textsOf({ system, ...blocks({ type: 'text', text: 'Hello' }) })).toEqual(['Be brief.', 'Hello']);
  });

  test.each<[string, JsonObject, string[]]>([
    ['thinking', { type: 'thinking', thinking: 'First, …', signature: 'EqoB' }, ['First, …']],
    ['redacted thinking', { type: 'redacted_thinking', data: 'EqoB' }, []],
    [
      'a tool call',
      { type: 'tool_use', id: 'toolu_1', name: 'find', input: { at: [1, 'x'] } },
      ['find', '{"at":[1,"x"]}'],
    ],
    [
      'a result of a tool',
      { type: 'tool_result', tool_use_id: 'toolu_1', is_error: false, content: [{ type: 'text', text: 'found' }] },
      ['found'],
    ],
    ['a result of a tool as text', { type: 'tool_result', tool_use_id: 'toolu_1', content: 'found' }, ['found']],
    ['an image', { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } }, []],
    ['an image elsewhere', { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }, []],
    [
      'a PDF file',
      { type: 'document', title: 'Report', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' } },
      ['Report'],
    ],
    [
      'a document of text',
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'All of it' } },
      ['All of it'],
    ],
    [
      'a document of blocks',
      { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'Part' }] } },
      ['Part'],
    ],
    [
      'a search result',
      {
        type: 'search_result',
        source: 'https://example.com',
        title: 'Page',
        content: [{ type: 'text', text: 'Part' }],
      },
      ['https://example.com', 'Page', 'Part'],
    ],
    [
      'a result of a web search',
      {
        type: 'web_search_tool_result',
        tool_use_id: 'srvtoolu_1',
        content: [{ type: 'web_search_result', title: 'Page', url: 'https://example.com', encrypted_content: 'EqoB' }],
      },
      ['Page', 'https://example.com'],
    ],
    ['a block of an unknown kind', { type: 'later', later: { words: ['one', 'two'] }, count: 3 }, ['one', 'two']],
  ])('of %s', (_, block, expected) => expect(textsOf(blocks(block))).toEqual(expected));

  test('have tools with everything that they define', () => {
    const tool = {
      name: 'find',
      description: 'Finds a place',
      input_schema: {
        type: 'object',
        properties: {
          place: { type: 'string', description: 'Its name', enum: ['here', 'there'] },
          near: { type: 'number' },
        },
        required: ['place'],
      },
      cache_control: { type: 'ephemeral' },
    };
    const { texts, addedTokens } = promptTexts({ body: { messages: [], tools: [tool] } }, added);
    expect(texts).toEqual(['find\nFinds a place\nobject\nplace\nnear\nstring\nIts name\nhere\nthere\nnumber\nplace']);
    expect(addedTokens).toBe(1 + 100 + 1_000 + 2 * 10_000);
  });

  test('have the schema of the answer, and nothing of a body that has no messages', () => {
    const output_config = { format: { type: 'json_schema', schema: { type: 'object' } } };
    expect(textsOf({ messages: [], output_config })).toEqual([JSON.stringify(output_config)]);
    expect(
      textsOf({ messages: 'Hello', tools: 'all', system: 7, max_tokens: 5, metadata: { user_id: 'ada' } }),
    ).toEqual([]);
  });
});

test('a prompt is counted with what its provider adds, and with the texts and images of its files', async () => {
  const body = { system: 'Be brief.', messages: [{ role: 'user', content: 'Hello there' }] };
  const counted = { account: 1, model: 'gpt-4o', request: { body }, mediaTexts: ['Hello there'], mediaTokens: 1_000 };
  expect(await countPromptLocally(inPlaceTokenizer(), counted)).toBe(3 + 2 + 2 + 1_000 + 3 + 3);
  expect(familyOf('gpt-4o').added).toMatchObject({ prompt: 3, message: 3 });
});
