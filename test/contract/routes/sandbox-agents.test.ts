// Agents and structured output of the official SDKs against the sandbox, through each of its protocols.

import { afterAll, expect, test } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import OpenAI from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { sharedTurnpike } from '../../support/shared-turnpike.ts';

const turnpike = await sharedTurnpike();
afterAll(() => turnpike.stop());
const { secret } = await turnpike.makeKey();
const anthropic = new Anthropic({ baseURL: turnpike.url, apiKey: secret });
const openai = new OpenAI({ baseURL: `${turnpike.url}/v1`, apiKey: secret });

const SCRIPT =
  'sandbox-script: call weather {"city":"Rome"} call weather {"city":"Oslo"} then say "Now the time." call clock then say It is late.';

/** Values that the SDKs check. */
const Person = z.object({
  name: z.string().min(1),
  age: z.number().int().positive().describe('In years'),
  mail: z.email(),
  id: z.uuid(),
  day: z.iso.date(),
  at: z.iso.datetime(),
  site: z.url(),
  role: z.enum(['admin', 'guest']),
  fixed: z.literal('x'),
  tags: z.array(z.string()).min(1),
  none: z.null(),
  maybe: z.boolean().nullable(),
  shape: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('circle'), radius: z.number().positive() }),
    z.object({ kind: z.literal('square'), side: z.number().positive() }),
  ]),
  get parent() {
    return Person.nullable();
  },
});

test('a tool runner of the Messages API runs a script to its end', async () => {
  const cities: string[] = [];
  const runner = anthropic.beta.messages.toolRunner({
    ...{ model: 'sandbox-echo', max_tokens: 500, messages: [{ role: 'user', content: SCRIPT }] },
    tools: [
      betaZodTool({
        ...{ name: 'weather', description: 'The weather', inputSchema: z.object({ city: z.string() }) },
        run: ({ city }) => {
          cities.push(city);
          return 'rain';
        },
      }),
      betaZodTool({ name: 'clock', description: 'The time', inputSchema: z.object({}), run: () => '12:00' }),
    ],
  });
  const last = await runner.runUntilDone();
  expect(cities).toEqual(['Rome', 'Oslo']);
  expect(last).toMatchObject({ content: [{ type: 'text', text: 'It is late.' }], stop_reason: 'end_turn' });
});

for (const stream of [false, true])
  test(`a tool runner of Chat Completions runs a script to its end${stream ? ', streamed' : ''}`, async () => {
    const calls: string[] = [];
    const toolOf = (name: string) => ({
      type: 'function' as const,
      function: {
        ...{ name, description: name, parameters: { type: 'object', properties: {} } },
        function: (input: string) => {
          calls.push(`${name} ${input}`);
          return 'rain';
        },
      },
    });
    const body = { model: 'sandbox-echo', messages: [{ role: 'user' as const, content: SCRIPT }] };
    const tools = [toolOf('weather'), toolOf('clock')];
    const runner = stream
      ? openai.chat.completions.runTools({ ...body, tools, stream })
      : openai.chat.completions.runTools({ ...body, tools });
    expect(await runner.finalContent()).toBe('It is late.');
    expect(calls).toEqual(['weather {"city":"Rome"}', 'weather {"city":"Oslo"}', 'clock {}']);
  });

test('structured output is parsed by the SDKs of both protocols', async () => {
  const message = await anthropic.messages.parse({
    ...{ model: 'sandbox-echo', max_tokens: 2_000, messages: [{ role: 'user', content: 'Who?' }] },
    output_config: { format: zodOutputFormat(Person) },
  });
  expect(Person.parse(message.parsed_output)).toMatchObject({ age: 1, day: '2026-01-01', parent: null });
  const completion = await openai.chat.completions.parse({
    ...{ model: 'sandbox-echo', messages: [{ role: 'user', content: 'Who?' }] },
    response_format: zodResponseFormat(Person, 'person'),
  });
  expect(Person.parse(completion.choices[0]?.message.parsed)).toMatchObject({ fixed: 'x', parent: null });
});

test('tool_choice of Chat Completions is obeyed', async () => {
  const ask = async (tool_choice: 'auto' | 'none' | 'required', content = 'Hi') => {
    const { choices } = await openai.chat.completions.create({
      ...{ model: 'sandbox-echo', messages: [{ role: 'user', content }], tool_choice },
      tools: [{ type: 'function', function: { name: 'clock', parameters: { type: 'object', properties: {} } } }],
    });
    return choices[0]?.message.tool_calls?.length ?? choices[0]?.message.content;
  };
  expect(await ask('auto')).toBe('Hi');
  expect(await ask('required')).toBe(1);
  expect(await ask('none', 'sandbox-script: say No. call clock')).toBe('No. call clock');
  expect(await ask('none', 'sandbox-script: call clock say No.')).toBe('No.');
});
