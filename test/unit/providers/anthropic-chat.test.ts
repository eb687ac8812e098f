// Chat Completions requests to a provider of the Messages protocol: parameters that its model refuses and other
// services accept are left out or translated. A Messages request is sent unchanged.

import { describe, expect, test } from 'bun:test';
import { convertCountBody, convertMessageBody } from '../../../src/providers/anthropic/convert-request.ts';
import { type Protocol, parseMessageRequest } from '../../../src/wire/wire.ts';
import { makeAttempt } from './make-attempt.ts';

type Json = Record<string, unknown>;

const text = (words: string) => ({ type: 'text', text: words });
const user = { role: 'user', content: [text('Hi')] };
const call = { type: 'tool_use', id: 'a', name: 'f', input: {} };
const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'ok' }] };
const thought = { type: 'thinking', thinking: 'Hm.', signature: 'c2lnbmVk' };
const high = { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } };

function attemptOf(members: Json, upstreamModel: string, protocol: Protocol) {
  const body = { model: 'm', max_tokens: 32_000, messages: [user], ...members };
  const request = parseMessageRequest(new TextEncoder().encode(JSON.stringify(body)), protocol);
  return makeAttempt('http://127.0.0.1:1', body, { upstreamModel, request, maxTokens: request.maxTokens ?? 0 });
}

const sent = (members: Json, model = 'claude-sonnet-4-5'): Json =>
  JSON.parse(convertMessageBody(attemptOf(members, model, 'chat-completions')));

const adaptive = [
  'claude-opus-4-6',
  'claude-sonnet-4-6',
  'claude-opus-4-8',
  'claude-opus-5',
  'claude-fable-5-20260901',
];
const byBudget = [
  'claude-sonnet-4-5-20250929',
  'claude-haiku-4-5',
  'claude-opus-4-20250514',
  'claude-3-7-sonnet-latest',
];
const never = ['claude-3-5-haiku-20241022', 'claude-3-opus-20240229', 'claude-2.1'];

describe('thinking in a Chat Completions request', () => {
  test.each(adaptive)('is passed to %s', (model) => expect(sent(high, model)).toMatchObject(high));

  test.each([...byBudget, 'anthropic.claude-sonnet-4-5-v1:0'])('becomes a budget for %s', (model) => {
    expect(sent(high, model)).toMatchObject({ thinking: { type: 'enabled', budget_tokens: 16_000 } });
    expect(sent(high, model)).not.toHaveProperty('output_config');
  });

  test.each(never)('is left out for %s', (model) => {
    expect(sent(high, model)).not.toContainAnyKeys(['thinking', 'output_config']);
  });

  test('keeps its effort for a model that accepts one beside a budget, and for models of other vendors', () => {
    for (const model of ['claude-opus-4-5-20251101', 'some-model'])
      expect(sent(high, model)).toMatchObject({ thinking: { type: 'enabled' }, output_config: { effort: 'high' } });
    const most = { ...high, output_config: { effort: 'xhigh', format: { type: 'json_schema', schema: {} } } };
    expect(sent(most, 'claude-opus-4-6')['output_config']).toEqual({ ...most.output_config, effort: 'high' });
    expect(sent(most, 'claude-opus-4-7')['output_config']).toEqual(most.output_config);
    expect(sent(most)['output_config']).toEqual({ format: most.output_config.format });
  });

  test('gets a budget that leaves room for the answer, and is dropped if there is too little room', () => {
    const effort = (name: string) => ({ ...high, output_config: { effort: name } });
    const budget = (members: Json) => (sent(members)['thinking'] as Json | undefined)?.['budget_tokens'];
    expect(['low', 'medium', 'high', 'max', 'constructor'].map((name) => budget(effort(name)))).toEqual([
      1_024, 4_096, 16_000, 16_000, 16_000,
    ]);
    expect(budget({ ...high, max_tokens: 4_000 })).toBe(2_000);
    expect(budget({ ...high, max_tokens: 2_000 })).toBeUndefined();
    const own = { thinking: { type: 'enabled', budget_tokens: 5_000 } };
    expect(sent(own)).toMatchObject(own);
  });

  test('is dropped if a call is forced, and after a prefilled answer', () => {
    for (const model of ['claude-opus-5', 'claude-sonnet-4-5']) {
      for (const type of ['any', 'tool'])
        expect(sent({ ...high, tool_choice: { type, name: 'f' } }, model)).not.toHaveProperty('thinking');
      const begun = { role: 'assistant', content: [text('I')] };
      expect(sent({ ...high, messages: [user, begun] }, model)).not.toHaveProperty('thinking');
      expect(sent({ ...high, tool_choice: { type: 'auto' } }, model)).toHaveProperty('thinking');
    }
  });

  test('is dropped in a tool loop without earlier thinking, if the model requires that', () => {
    const loop = (...content: Json[]) => ({ ...high, messages: [user, { role: 'assistant', content }, result] });
    expect(sent(loop(call))).not.toHaveProperty('thinking');
    expect(sent(loop(text('Let me see.'), call))).not.toHaveProperty('thinking');
    expect(sent(loop({ ...thought, signature: 'turnpike.chat.1.' }, call))).not.toHaveProperty('thinking');
    expect(sent(loop(thought, call))).toHaveProperty('thinking');
    expect(sent(loop(call), 'claude-opus-4-6')).toHaveProperty('thinking');
    const answered = { role: 'assistant', content: [text('Yes.')] };
    expect(sent({ ...high, messages: [user, answered, user] })).toHaveProperty('thinking');
  });
});

test('a temperature above 1 becomes 1, and a top_p of 1 is left out', () => {
  expect(sent({ temperature: 1.7 })).toMatchObject({ temperature: 1 });
  expect(sent({ temperature: 0.3, top_p: 1 })).toMatchObject({ temperature: 0.3 });
  expect(sent({ temperature: 0.3, top_p: 1 })).not.toHaveProperty('top_p');
  expect(sent({ top_p: 0.5 })).toMatchObject({ top_p: 0.5 });
});

test('fields that only other providers know are left out', () => {
  const known = { frequency_penalty: 0.5, presence_penalty: -1, seed: 7 };
  for (const model of ['claude-opus-4-6', 'claude-opus-5', 'some-model'])
    expect(sent(known, model)).not.toContainAnyKeys(Object.keys(known));
});

test('sampling parameters are left out if the model thinks or does not support them', () => {
  const sampling = { temperature: 0.3, top_p: 0.5, top_k: 7 };
  for (const [members, model] of [
    [{}, 'claude-opus-4-7'],
    [{}, 'claude-opus-5'],
    [high, 'claude-sonnet-4-5'],
    [high, 'claude-opus-4-6'],
  ] as const)
    expect(sent({ ...sampling, ...members }, model)).not.toContainAnyKeys(Object.keys(sampling));
  const off = { ...sampling, thinking: { type: 'disabled' } };
  for (const model of ['claude-opus-4-20250514', 'claude-3-7-sonnet-latest', 'some-model'])
    expect(sent(off, model)).toMatchObject(sampling);
});

test('one of temperature and top_p is left out, for models that take only one: what is the default, else top_p', () => {
  for (const model of [
    'claude-opus-4-1',
    'claude-sonnet-4-5',
    'claude-haiku-4-5',
    'claude-opus-4-5',
    'claude-opus-4-6',
  ])
    for (const [asked, kept] of [
      [{ temperature: 0.3, top_p: 0.5 }, { temperature: 0.3 }],
      [{ temperature: 1, top_p: 0.5 }, { top_p: 0.5 }],
      [{ temperature: 1.7, top_p: 0.5 }, { top_p: 0.5 }],
      [{ temperature: 1.7, top_p: 1 }, { temperature: 1 }],
      [{ top_p: 0.5 }, { top_p: 0.5 }],
    ]) {
      const { temperature, top_p } = sent(asked as Json, model);
      expect({ temperature, top_p }).toEqual({ temperature: undefined, top_p: undefined, ...kept });
    }
});

describe('thinking that is turned off', () => {
  const off = { thinking: { type: 'disabled' } };

  test.each(['claude-opus-4-8', 'claude-opus-5', 'claude-sonnet-5', 'claude-haiku-5-5', 'claude-haiku-4-5', 'other'])(
    'is off for %s',
    (model) => expect(sent(off, model)).toMatchObject(off),
  );

  test.each([
    'claude-opus-5-5',
    'claude-fable-5',
    'anthropic.claude-fable-5-v1:0',
    'claude-fable-5-2',
    'claude-mythos-5-1',
  ])('is the lowest effort of %s, which always thinks', (model) => {
    const format = { type: 'json_schema', schema: {} };
    const body = sent({ ...off, output_config: { format } }, model);
    expect(body).not.toHaveProperty('thinking');
    expect(body['output_config']).toEqual({ format, effort: 'low' });
    expect(sent(off, model)['output_config']).toEqual({ effort: 'low' });
  });

  test('is the least thinking of a model with a type for it', () =>
    expect(sent(off, 'claude-sonnet-5-5')).toMatchObject({ thinking: { type: 'between_tools' } }));
});

test('a budget is adaptive thinking for a model that refuses budgets', () => {
  const budget = { thinking: { type: 'enabled', budget_tokens: 2_000 } };
  for (const model of ['claude-opus-5-5', 'claude-haiku-5-5', 'claude-fable-5', 'claude-opus-5', 'claude-sonnet-4-7'])
    expect(sent(budget, model)).toMatchObject({ thinking: { type: 'adaptive' } });
  expect(sent(budget, 'claude-opus-4-6')).toMatchObject(budget);
});

describe('a forced call', () => {
  const tool_choice = { type: 'tool', name: 'f', disable_parallel_tool_use: true };

  test.each(['claude-opus-5', 'claude-fable-5', 'claude-haiku-5-5', 'claude-sonnet-4-5', 'other'])(
    'is forced for %s',
    (model) => expect(sent({ tool_choice }, model)).toMatchObject({ tool_choice }),
  );

  test.each(['claude-opus-5-5', 'claude-sonnet-5-5', 'claude-fable-5-1', 'claude-fable-5-2'])(
    'is an instruction to %s, which refuses forced calls, and leaves its thinking alone',
    (model) => {
      const told = (words: string) => text(`This answer must call ${words}.`);
      const choice = { type: 'auto', disable_parallel_tool_use: true };
      expect(sent({ ...high, tool_choice }, model)).toMatchObject({
        ...high,
        tool_choice: choice,
        system: [told('the tool "f"')],
      });
      const any = { tool_choice: { type: 'any' }, system: 'Be brief.' };
      expect(sent(any, model)).toMatchObject({
        tool_choice: { type: 'auto' },
        system: [text('Be brief.'), told('at least one of the tools')],
      });
      const cached = [{ ...text('Be brief.'), cache_control: { type: 'ephemeral' } }];
      expect(sent({ ...any, system: cached }, model)['system']).toEqual([...cached, told('at least one of the tools')]);
    },
  );
});

test('a system message in the middle becomes a reminder in a user message, with every digit around it preserved', () => {
  const assistantMessage = { role: 'assistant', content: [{ ...call, input: { id: 'DIGITS' } }] };
  const body = JSON.stringify({
    model: 'm',
    max_tokens: 10,
    messages: [
      user,
      assistantMessage,
      result,
      { role: 'system', content: [{ ...text('Be brief.'), cache_control: {} }] },
    ],
  }).replace('"DIGITS"', '123456789012345678901');
  const request = parseMessageRequest(new TextEncoder().encode(body), 'chat-completions');
  const attempt = makeAttempt('http://127.0.0.1:1', body, { request });
  for (const written of [convertMessageBody(attempt), convertCountBody(attempt)]) {
    expect(written).toContain('"id":123456789012345678901');
    expect(JSON.parse(written).messages[3]).toEqual({
      role: 'user',
      content: [{ ...text('<system-reminder>\nBe brief.\n</system-reminder>'), cache_control: {} }],
    });
  }
});

test('a message without content, which the provider refuses, says so', () => {
  for (const content of [[], [text('Hi')]])
    expect(sent({ messages: [{ role: 'user', content }] })['messages']).toEqual([
      { role: 'user', content: content.length > 0 ? content : [text('(no content)')] },
    ]);
});

test('an image of a type that the provider refuses is refused by name, also within a result', () => {
  const image = (media_type: string) => ({ type: 'image', source: { type: 'base64', media_type, data: 'aGk=' } });
  for (const type of ['image/heic', 'image/svg+xml', 'image/bmp', 'application/pdf']) {
    const direct = [{ role: 'user', content: [text('Hi'), image(type)] }];
    expect(() => sent({ messages: direct })).toThrow(
      'messages.0.content.1.source.media_type: the provider of this model accepts only image/jpeg, image/png',
    );
    const block = { ...result.content[0], content: [image(type)] };
    const within = [user, { role: 'assistant', content: [call] }, { role: 'user', content: [block] }];
    expect(() => sent({ messages: within })).toThrow('messages.2.content.0.content.0.source.media_type');
  }
  for (const type of ['image/jpeg', 'image/png', 'image/gif', 'image/webp'])
    expect(() => sent({ messages: [{ role: 'user', content: [image(type)] }] })).not.toThrow();
});

test('a Messages request is sent with all of these fields unchanged', () => {
  const messages = [user, { role: 'system', content: 'Be brief.' }];
  const members = { ...high, temperature: 0.7, top_p: 1, tool_choice: { type: 'any' }, messages };
  for (const model of ['claude-opus-4-5', 'claude-opus-5-5'])
    expect(JSON.parse(convertMessageBody(attemptOf(members, model, 'messages')))).toMatchObject(members);
});

test('stop sequences of white space, which the provider refuses, are left out', () => {
  const stopsOf = (stop_sequences: string[], protocol: Protocol) =>
    JSON.parse(convertMessageBody(attemptOf({ stop_sequences }, 'claude-sonnet-4-5', protocol)))['stop_sequences'];
  expect(stopsOf(['\n', 'END', ' \t'], 'completions')).toEqual(['END']);
  expect(stopsOf(['\n'], 'completions')).toBeUndefined();
  expect(stopsOf(['\n', 'END'], 'chat-completions')).toEqual(['END']);
});
