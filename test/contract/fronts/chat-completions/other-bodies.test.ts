// Bodies of other protocols at the path of Chat Completions: answered in its form and billed as any other message.

import { expect, test } from 'bun:test';
import { scripts } from '../../../support/scripted-upstream.ts';
import { expectMoney, GOOD, type Json } from '../../post-messages/world.ts';
import { chatCompletions } from '../drivers/chat-completions.ts';
import { answerOf, expectError, post, sentOf, sharedFronts } from '../front-world.ts';

const world = await sharedFronts();

const BODIES: readonly [what: string, body: Json, sent: Json][] = [
  [
    'Responses',
    {
      instructions: 'Be brief.',
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
        { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: 'seen' },
      ],
      tools: [{ type: 'function', name: 'look', parameters: { type: 'object' } }],
      store: false,
      max_output_tokens: 64,
    },
    { system: [{ type: 'text', text: 'Be brief.' }] },
  ],
  [
    'Responses under the name of messages',
    {
      system: 'Be brief.',
      messages: [
        { role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
        { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: 'seen' },
      ],
      tools: [{ name: 'look', input_schema: { type: 'object' } }],
      max_tokens: 64,
    },
    { system: [{ type: 'text', text: 'Be brief.' }] },
  ],
  [
    'Chat Completions under the name of input',
    {
      instructions: 'Be brief.',
      input: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: 'a', content: 'seen' },
      ],
      tools: [{ type: 'function', name: 'look', parameters: { type: 'object' } }],
      max_output_tokens: 64,
    },
    { system: [{ type: 'text', text: 'Be brief.' }] },
  ],
  [
    'Messages',
    {
      system: 'Be brief.',
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'seen' }] },
      ],
      tools: [{ name: 'look', input_schema: { type: 'object' } }],
      tool_choice: { type: 'any' },
      max_tokens: 64,
    },
    { system: [{ type: 'text', text: 'Be brief.' }], tool_choice: { type: 'any' } },
  ],
];

test.each(BODIES)('a body of %s is answered in the form of Chat Completions', async (_, members, sent) => {
  const caller = await world.makeKey();
  for (const stream of [false, true]) {
    world.upstream.play(scripts.good());
    const body = JSON.stringify({ model: 'plain', stream, stream_options: { include_usage: true }, ...members });
    const response = await post(chatCompletions, world, caller.secret, {}, { body });
    expect(await answerOf(chatCompletions, response, stream)).toMatchObject({
      text: 'Hello there, world!',
      stop: 'stop',
      usage: { prompt: 25, output: 12 },
    });
    expect(sentOf(world)).toMatchObject({
      max_tokens: 64,
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'seen' }] },
      ],
      tools: [{ name: 'look', input_schema: { type: 'object' } }],
      ...sent,
    });
  }
  await expectMoney(world, caller, [GOOD, GOOD]);
});

test('errors of the provider have the paths of the client’s own body', async () => {
  const caller = await world.makeKey();
  world.upstream.play(scripts.refusedContent());
  const image = { type: 'input_image', image_url: 'data:image/png;base64,AAAA' };
  const block = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
  for (const [path, members] of [
    ['input.0.content.0.image_url', { instructions: 'a', input: [{ role: 'user', content: [image] }] }],
    ['input.0.content.0.image_url', { system: 'a', input: [{ role: 'user', content: [image] }] }],
    ['messages.0.content.0.image_url', { instructions: 'a', messages: [{ role: 'user', content: [image] }] }],
    ['input.0.content.0', { instructions: 'a', input: [{ role: 'user', content: [block] }] }],
    ['messages.0.content.0', { system: 'a', messages: [{ role: 'user', content: [block] }] }],
  ] as const) {
    const body = JSON.stringify({ model: 'plain', ...members });
    const response = await post(chatCompletions, world, caller.secret, {}, { body });
    await expectError(chatCompletions, response, 'upstream_rejected', path);
  }
});
