// A conversation for Gemini: roles, matching of results and calls, and places of signatures.

import { describe, expect, test } from 'bun:test';
import { convertMessages } from '../../../../src/providers/gemini/convert-messages.ts';
import { convertBody } from '../../../../src/providers/gemini/convert-request.ts';
import { placeSignature } from '../../../../src/wire/wire.ts';
import {
  answered,
  callOf,
  geminiAttempt,
  refusalOf,
  resultOf,
  sentBody,
  sentContents,
  userMessage,
} from './gemini-attempt.ts';

const DUMMY = 'skip_thought_signature_validator';

describe('turns', () => {
  test('have the roles of user and model', () => {
    expect(sentContents([userMessage('a'), answered('b'), userMessage([{ type: 'text', text: 'c' }])])).toEqual([
      { role: 'user', parts: [{ text: 'a' }] },
      { role: 'model', parts: [{ text: 'b' }] },
      { role: 'user', parts: [{ text: 'c' }] },
    ]);
  });

  test('in sequence with the same role are merged', () => {
    expect(sentContents([userMessage('a'), userMessage('b'), answered('c'), answered('d')])).toEqual([
      { role: 'user', parts: [{ text: 'a' }, { text: 'b' }] },
      { role: 'model', parts: [{ text: 'c' }, { text: 'd' }] },
    ]);
  });

  test('without content are left out, and their neighbors are merged', () => {
    expect(
      sentContents([
        userMessage('a'),
        answered(''),
        userMessage([
          { type: 'text', text: '' },
          { type: 'text', text: 'b' },
        ]),
      ]),
    ).toEqual([{ role: 'user', parts: [{ text: 'a' }, { text: 'b' }] }]);
  });

  test('of the system in the middle become user messages, marked as system messages', () => {
    expect(sentContents([userMessage('a'), { role: 'system', content: 'Be brief.' }, answered('b')])).toEqual([
      { role: 'user', parts: [{ text: 'a' }, { text: '<system-reminder>\nBe brief.\n</system-reminder>' }] },
      { role: 'model', parts: [{ text: 'b' }] },
    ]);
  });

  test('at the end that begin the model’s answer keep the role of the model', () => {
    expect(sentContents([userMessage('a'), answered('The answer is')])).toEqual([
      { role: 'user', parts: [{ text: 'a' }] },
      { role: 'model', parts: [{ text: 'The answer is' }] },
    ]);
  });
});

test('the system prompt becomes an instruction, with a part for each of its blocks', () => {
  const instruction = (system: unknown) => sentBody({ system, messages: [userMessage()] })['systemInstruction'];
  expect(instruction('Be kind.')).toEqual({ parts: [{ text: 'Be kind.' }] });
  const cached = { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } };
  expect(instruction([{ type: 'text', text: 'Be kind.' }, cached])).toEqual({
    parts: [{ text: 'Be kind.' }, { text: 'Be brief.' }],
  });
  // It differs in each conversation, and would end the common beginning that Gemini caches.
  const billing = { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1; cc_entrypoint=cli;' };
  expect(instruction([billing, cached])).toEqual({ parts: [{ text: 'Be brief.' }] });
  expect(instruction([billing])).toBeUndefined();
  expect(instruction('')).toBeUndefined();
  expect(instruction([])).toBeUndefined();
});

describe('calls and results', () => {
  test('are matched by id, sent by name, in the order of the calls', () => {
    const contents = sentContents([
      userMessage(),
      answered([
        { type: 'text', text: 'Looking.' },
        callOf('toolu_1', 'look', { at: 'sky' }),
        callOf('toolu_2', 'hear'),
      ]),
      userMessage([resultOf('toolu_2', 'wind'), resultOf('toolu_1', 'blue'), { type: 'text', text: 'And?' }]),
    ]);
    expect(contents).toMatchObject([
      {},
      {
        role: 'model',
        parts: [
          { text: 'Looking.' },
          { functionCall: { name: 'look', args: { at: 'sky' } } },
          { functionCall: { name: 'hear', args: {} } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { name: 'look', response: { output: 'blue' } } },
          { functionResponse: { name: 'hear', response: { output: 'wind' } } },
          { text: 'And?' },
        ],
      },
    ]);
    expect(JSON.stringify(contents)).not.toContain('toolu_');
  });

  test('in consecutive messages form one batch', () => {
    const contents = sentContents([
      userMessage(),
      answered([callOf('toolu_1')]),
      answered([callOf('toolu_2')]),
      userMessage([resultOf('toolu_1')]),
      userMessage([resultOf('toolu_2')]),
    ]) as { parts: unknown[] }[];
    expect(contents.map(({ parts }) => parts.length)).toEqual([1, 2, 2]);
  });

  test('keep ids created by Gemini, and no other ids', () => {
    const contents = sentContents([
      userMessage(),
      answered([callOf('toolu_gemini_fc-7'), callOf('toolu_01Own')]),
      userMessage([resultOf('toolu_gemini_fc-7'), resultOf('toolu_01Own')]),
    ]);
    expect(contents).toEqual([
      { role: 'user', parts: [{ text: 'Hi' }] },
      {
        role: 'model',
        parts: [{ functionCall: { id: 'fc-7', name: 'look', args: {} } }, { functionCall: { name: 'look', args: {} } }],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'fc-7', name: 'look', response: { output: 'seen' } } },
          { functionResponse: { name: 'look', response: { output: 'seen' } } },
        ],
      },
    ]);
  });

  test('are matched with a few reads of each result, however many there are', () => {
    const ids = Array.from({ length: 1_000 }, (_, at) => `toolu_${at}`);
    let reads = 0;
    const results = ids.map((id) =>
      Object.defineProperty(resultOf(id), 'tool_use_id', {
        get() {
          reads++;
          return id;
        },
      }),
    );
    const messages = [userMessage(), answered(ids.map((id) => callOf(id))), userMessage(results)];
    const contents = convertMessages(messages, { needsSignatures: false, hasCallIds: false });
    expect(contents[2]?.['parts']).toHaveLength(1_000);
    expect(reads).toBeLessThan(10_000);
  });

  test('that failed are marked as errors', () => {
    const contents = sentContents([
      userMessage(),
      answered([callOf('toolu_1')]),
      userMessage([resultOf('toolu_1', 'no such place', { is_error: true })]),
    ]);
    expect(contents).toMatchObject([
      {},
      {},
      { parts: [{ functionResponse: { response: { error: 'no such place' } } }] },
    ]);
  });

  test('without content have an empty output', () => {
    for (const content of [null, '', []] as const) {
      const contents = sentContents([
        userMessage(),
        answered([callOf('toolu_1')]),
        userMessage([resultOf('toolu_1', content as never)]),
      ]);
      expect(contents).toMatchObject([{}, {}, { parts: [{ functionResponse: { response: { output: '' } } }] }]);
    }
  });

  test('have their images and documents after all of the results', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aW1n' } };
    const pdf = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'cGRm' } };
    const contents = sentContents([
      userMessage(),
      answered([callOf('toolu_1', 'look'), callOf('toolu_2', 'read')]),
      userMessage([
        resultOf('toolu_1', [{ type: 'text', text: 'Here:' }, image]),
        resultOf('toolu_2', [
          pdf,
          { type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'x' }] },
        ]),
      ]),
    ]) as { parts: unknown[] }[];
    expect(contents[2]?.parts).toEqual([
      { functionResponse: { name: 'look', response: { output: 'Here:\n(an attachment, which follows)' } } },
      {
        functionResponse: {
          name: 'read',
          response: { output: '(an attachment, which follows)\ntitle: t\nsource: s\nx' },
        },
      },
      { text: 'Attached to the result of look:' },
      { inlineData: { mimeType: 'image/png', data: 'aW1n' } },
      { text: 'Attached to the result of read:' },
      { inlineData: { mimeType: 'application/pdf', data: 'cGRm' } },
    ]);
  });

  test('keep every digit of their numbers', () => {
    const text = `{"model":"gemini-2.5-flash","max_tokens":9,"messages":[{"role":"user","content":"a"},
      {"role":"assistant","content":[{"type":"tool_use","id":"t","name":"look","input":{"id":12345678901234567890,"at":0.1234567890123456789}}]},
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}]}`;
    expect(convertBody(geminiAttempt(text))).toContain('"args":{"id":12345678901234567890,"at":0.1234567890123456789}');
  });

  test('that do not match are refused with the text that clients know', () => {
    const call = answered([callOf('toolu_1'), callOf('toolu_2')]);
    expect(refusalOf({ messages: [userMessage(), call, userMessage([resultOf('toolu_1')])] })).toBe(
      'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_2. Each `tool_use` block must have a corresponding `tool_result` block in the next message.',
    );
    expect(refusalOf({ messages: [userMessage(), call] })).toStartWith('messages.1: `tool_use` ids were found');
    expect(refusalOf({ messages: [userMessage(), call, userMessage('Never mind')] })).toStartWith(
      'messages.1: `tool_use` ids',
    );
    expect(refusalOf({ messages: [userMessage([{ type: 'text', text: 'a' }, resultOf('toolu_9')])] })).toBe(
      'messages.0.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_9. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
    );
    const twice = [
      userMessage(),
      answered([callOf('toolu_1')]),
      userMessage([resultOf('toolu_1'), resultOf('toolu_1')]),
    ];
    expect(refusalOf({ messages: twice })).toStartWith('messages.2.content.1: unexpected');
  });
});

describe('signatures', () => {
  const sealed = (place: Parameters<typeof placeSignature>[0], thinking = '') => ({
    type: 'thinking',
    thinking,
    signature: placeSignature(place, `s-${place}`),
  });
  const modelParts = (blocks: object[], model = 'gemini-3.6-flash') => {
    const results = blocks
      .filter((block) => 'id' in block)
      .map((block) => resultOf((block as unknown as { id: string }).id));
    const messages = [
      userMessage(),
      answered(blocks as never),
      userMessage([...results, { type: 'text', text: 'On.' }]),
    ];
    const contents = sentBody({ messages, model })['contents'] as { parts: unknown[] }[];
    return contents[1]?.parts;
  };

  test('are sent back on the part that they belong to', () => {
    expect(
      modelParts([
        sealed('thought', 'Hm.'),
        { type: 'text', text: 'Let me see.' },
        sealed('text'),
        sealed('call', 'I should look.'),
        callOf('toolu_1'),
        callOf('toolu_2', 'hear'),
        sealed('end'),
      ]),
    ).toEqual([
      { text: 'Hm.', thought: true, thoughtSignature: 's-thought' },
      { text: 'Let me see.', thoughtSignature: 's-text' },
      { functionCall: { name: 'look', args: {} }, thoughtSignature: 's-call' },
      { functionCall: { name: 'hear', args: {} } },
      { text: '', thoughtSignature: 's-end' },
    ]);
  });

  test('that the client lost, or that come from another provider, are replaced if the model requires one', () => {
    const foreign = { type: 'thinking', thinking: 'Elsewhere.', signature: 'EqQBCgIYAhIM' };
    const redacted = { type: 'redacted_thinking', data: 'x' };
    expect(modelParts([foreign, redacted, callOf('toolu_1'), callOf('toolu_2')])).toEqual([
      { functionCall: { name: 'look', args: {} }, thoughtSignature: DUMMY },
      { functionCall: { name: 'look', args: {} } },
    ]);
    for (const model of ['models/gemini-3-flash-preview', 'gemini-10-pro', 'gemini-flash-latest'])
      expect(modelParts([callOf('toolu_1')], model)).toMatchObject([{ thoughtSignature: DUMMY }]);
    for (const model of ['gemini-2.5-pro', 'gemma-3-27b-it'])
      expect(modelParts([callOf('toolu_1')], model)).toEqual([{ functionCall: { name: 'look', args: {} } }]);
  });

  test('without their part are put on a new part, or left out', () => {
    expect(modelParts([sealed('text'), { type: 'text', text: 'a' }, sealed('call')])).toEqual([
      { text: '', thoughtSignature: 's-text' },
      { text: 'a' },
    ]);
  });
});
