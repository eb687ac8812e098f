// Gemini's response as events of a Messages stream: every part in order, blocks one after another, the stop reason
// and the counts.

import { describe, expect, test } from 'bun:test';
import { foldAnswer } from '../../../../src/providers/compose-message.ts';
import { shortenName } from '../../../../src/providers/gemini/call-ids.ts';
import { type AnswerTerms, ChunkConverter, convertAnswer } from '../../../../src/providers/gemini/convert-chunk.ts';
import { ProviderFault } from '../../../../src/providers/providers.ts';
import { MessageCounter } from '../../../../src/usage/usage.ts';
import { type JsonObject, type JsonValue, MessageFold } from '../../../../src/wire/wire.ts';
import { answered, resultOf, sentBody, userMessage } from './gemini-attempt.ts';

const requestTerms = (changes: Partial<AnswerTerms> = {}): AnswerTerms => ({
  requestId: 'req_1',
  upstreamModel: 'gemini-2.5-flash',
  names: new Map(),
  callIds: new Set(),
  thinks: true,
  ...changes,
});

const USAGE = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };

/** A chunk with these parts; the last one of a response has a finish reason. */
const chunk = (parts: JsonObject[], finishReason?: string, usageMetadata: JsonObject | null = USAGE): JsonObject => ({
  candidates: [{ content: { role: 'model', parts }, ...(finishReason && { finishReason }), index: 0 }],
  ...(usageMetadata && { usageMetadata }),
  modelVersion: 'gemini-2.5-flash-001',
  responseId: 'r-1',
});

/** The message of a response in these chunks. */
const messageOf = (chunks: JsonObject[], changes: Partial<AnswerTerms> = {}) =>
  foldAnswer(convertAnswer(chunks, requestTerms(changes))).message;
const contentOf = (chunks: JsonObject[], changes: Partial<AnswerTerms> = {}) => messageOf(chunks, changes)['content'];
const finish = (reason: string, parts: JsonObject[] = [{ text: 'a' }]) => messageOf([chunk(parts, reason)]);
const call = (name = 'look', args: JsonValue = {}, more: JsonObject = {}) => ({
  functionCall: { name, args },
  ...more,
});

function faultOf(chunks: JsonValue[]): ProviderFault {
  try {
    convertAnswer(chunks, requestTerms());
  } catch (thrown) {
    if (thrown instanceof ProviderFault) return thrown;
    throw thrown;
  }
  throw new Error('no fault');
}

test('text arrives piece by piece in one block, and the message begins once, with the counts of the prompt', () => {
  const events = convertAnswer(
    [chunk([{ text: 'Hel' }]), chunk([{ text: 'lo' }]), chunk([{ text: '' }], 'STOP')],
    requestTerms(),
  );
  expect(events.map(({ value }) => value)).toEqual([
    {
      type: 'message_start',
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'gemini-2.5-flash-001',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: {
          input_tokens: 10,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 0,
          output_tokens: 0,
        },
      },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hel' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'lo' } },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: {
        input_tokens: 10,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: 5,
      },
    },
    { type: 'message_stop' },
  ]);
});

test('no event is sent before there is content, so that another provider may still be tried', () => {
  const converter = new ChunkConverter(requestTerms());
  expect(converter.push({ usageMetadata: { promptTokenCount: 10 } })).toEqual([]);
  expect(converter.push(chunk([{ text: '' }]))).toEqual([]);
  expect(converter.push(chunk([{ text: 'a' }])).map(({ name }) => name)).toEqual([
    'message_start',
    'content_block_start',
    'content_block_delta',
  ]);
});

describe('calls', () => {
  test('are tools with an id and an input, several in one response, and the stop reason is tool_use', () => {
    const parts = [
      { text: 'Looking.' },
      call('look', { at: 'sky', n: 1 }),
      call('hear'),
      { functionCall: { name: 'x' } },
    ];
    const message = messageOf([chunk(parts, 'STOP')]);
    const id = expect.stringMatching(/^toolu_[A-Za-z0-9_-]+$/);
    expect(message).toMatchObject({
      content: [
        { type: 'text', text: 'Looking.' },
        { type: 'tool_use', id, name: 'look', input: { at: 'sky', n: 1 } },
        { type: 'tool_use', id, name: 'hear', input: {} },
        { type: 'tool_use', id, name: 'x', input: {} },
      ],
      stop_reason: 'tool_use',
    });
  });

  test('have ids that are the same for the same response, and differ between responses', () => {
    const ids = (requestId: string) =>
      (contentOf([chunk([call(), call(), call()], 'STOP')], { requestId }) as { id: string }[]).map(({ id }) => id);
    expect(ids('req_1')).toEqual(ids('req_1'));
    expect(new Set([...ids('req_1'), ...ids('req_2')]).size).toBe(6);
  });

  test('have the ids of Gemini, unless the ids repeat', () => {
    const parts = ['a-1', 'a-1', 'b', 'not/fit', ''].map((id) => ({ functionCall: { id, name: 'look' } }));
    const content = contentOf([chunk(parts, 'STOP')], { callIds: new Set(['toolu_gemini_b']) });
    const ids = (content as { id: string }[]).map(({ id }) => id);
    expect(ids[0]).toBe('toolu_gemini_a-1');
    for (const id of ids.slice(1)) expect(id).toMatch(/^toolu_[0-9a-f]{24}$/);
    expect(new Set(ids).size).toBe(5);
  });

  test('have the names that the client knows', () => {
    const long = 'n'.repeat(128);
    const content = contentOf([chunk([call(shortenName(long)), call('other')], 'STOP')], {
      names: new Map([[shortenName(long), long]]),
    });
    expect(content).toMatchObject([{ name: long }, { name: 'other' }]);
  });

  test('with an input that is not an object, or without a name, are faults', () => {
    for (const bad of [call('look', 'text'), call('look', [1]), { functionCall: { args: {} } }])
      expect(faultOf([chunk([bad as JsonObject], 'STOP')])).toMatchObject({
        kind: 'unusable',
        usage: { input_tokens: 10 },
      });
  });
});

describe('thinking', () => {
  const thought = (text: string, more: JsonObject = {}) => ({ text, thought: true, ...more });

  test('comes before the text, in a block of its own', () => {
    const chunks = [chunk([thought('Hm')]), chunk([thought('m.')]), chunk([{ text: 'Yes.' }], 'STOP')];
    expect(contentOf(chunks)).toEqual([
      { type: 'thinking', thinking: 'Hmm.', signature: 'gemini.thought.' },
      { type: 'text', text: 'Yes.' },
    ]);
  });

  test('reports its tokens so far, so that a hold covers it and a client that disconnects pays for it', () => {
    const counts = (thoughtsTokenCount: number) => ({ ...USAGE, thoughtsTokenCount });
    const converter = new ChunkConverter(requestTerms());
    const events = [
      ...converter.push(chunk([thought('Hm')], undefined, counts(400))),
      ...converter.push(chunk([thought('m'), thought('.')], undefined, counts(900))),
      ...converter.push(chunk([thought('..')], undefined, counts(900))),
    ];
    const estimates = events.map(({ json }) => JSON.parse(json).delta?.estimated_tokens);
    expect(estimates.filter((tokens) => tokens !== undefined)).toEqual([400, 500]);
    const counter = new MessageCounter();
    for (const event of events) counter.observe(event);
    expect(counter.coverTokens(10_000)).toBeWithin(900, 910);
    expect(counter.estimate({ inputEstimate: 1, outputTokensMax: 10_000 }).counts).toMatchObject({
      input: 10,
      output: 900,
    });
  });

  test('keeps the signature of a call even if the thinking is hidden, because the next turn needs it', () => {
    const content = contentOf([chunk([call('look', {}, { thoughtSignature: 'S' })], 'STOP')], { thinks: false });
    expect(content).toMatchObject([
      { type: 'thinking', thinking: '', signature: 'gemini.call.S' },
      { type: 'tool_use' },
    ]);
  });

  const places: [name: string, parts: JsonObject[]][] = [
    ['a call after a thought', [thought('I look.'), call('look', { at: 'sky' }, { thoughtSignature: 'S1' })]],
    ['the first of several calls', [call('look', {}, { thoughtSignature: 'S1' }), call('hear')]],
    [
      'each of several calls',
      [call('look', {}, { thoughtSignature: 'S1' }), call('hear', {}, { thoughtSignature: 'S2' })],
    ],
    ['a text', [{ text: 'Hello', thoughtSignature: 'S1' }]],
    ['a part without text', [{ text: 'Hello' }, { text: '', thoughtSignature: 'S1' }]],
    ['a thought', [thought('Hm.', { thoughtSignature: 'S1' }), { text: 'Hello' }]],
    ['a text and a call', [{ text: 'Hello', thoughtSignature: 'S1' }, call('look', {}, { thoughtSignature: 'S2' })]],
  ];
  test.each(places)('has its signature on %s sent back in exactly the same place', (_name, parts) => {
    const content = contentOf([chunk(parts, 'STOP')]) as JsonObject[];
    for (const block of content) expect(block).not.toEqual({ type: 'text', text: '' });
    const calls = content.filter(({ type }) => type === 'tool_use');
    const next = userMessage([...calls.map(({ id }) => resultOf(String(id))), { type: 'text', text: 'On.' }]);
    const sent = sentBody({ messages: [userMessage(), answered(content), next] })['contents'] as JsonObject[];
    // Thoughts without a signature are only for the reader, and need not be sent back.
    const wanted = parts.filter((part) => part['thought'] !== true || 'thoughtSignature' in part);
    expect(sent[1]).toEqual({ role: 'model', parts: wanted });
  });
});

describe('the end', () => {
  test.each([
    ['STOP', 'end_turn'],
    ['MAX_TOKENS', 'max_tokens'],
    ['SAFETY', 'refusal'],
    ['RECITATION', 'refusal'],
    ['BLOCKLIST', 'refusal'],
    ['PROHIBITED_CONTENT', 'refusal'],
    ['SPII', 'refusal'],
    ['IMAGE_SAFETY', 'refusal'],
    ['LANGUAGE', 'refusal'],
    ['finish_reason.max_tokens', 'max_tokens'],
  ])('%s becomes %s', (reason, stopReason) => {
    expect(finish(reason)).toMatchObject({ stop_reason: stopReason, stop_sequence: null });
  });

  test('with calls becomes tool_use, unless the response was cut or refused', () => {
    const reasons = ['STOP', 'MAX_TOKENS', 'SAFETY'];
    expect(reasons.map((reason) => finish(reason, [call()])['stop_reason'])).toEqual([
      'tool_use',
      'max_tokens',
      'refusal',
    ]);
  });

  test.each(['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS', 'MISSING_THOUGHT_SIGNATURE'])(
    '%s is unusable, never a response without a call, and has the counts of every chunk',
    (reason) => {
      const usage = { input_tokens: 10, output_tokens: 5 };
      expect(faultOf([chunk([], reason)])).toMatchObject({ kind: 'unusable', usage });
      expect(faultOf([chunk([{ text: 'a' }]), chunk([], reason, null)])).toMatchObject({ kind: 'unusable', usage });
      expect(faultOf([chunk([], reason, null), { usageMetadata: USAGE }])).toMatchObject({ kind: 'unusable', usage });
    },
  );

  test('of a blocked prompt is a refusal without content, and the prompt is counted', () => {
    const message = messageOf([
      { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { promptTokenCount: 7, totalTokenCount: 7 } },
    ]);
    expect(message).toMatchObject({
      content: [],
      stop_reason: 'refusal',
      usage: { input_tokens: 7, output_tokens: 0 },
    });
  });

  test('without a finish reason is a fault', () => {
    for (const chunks of [[], [chunk([{ text: 'a' }])], [{ usageMetadata: USAGE }], [{ candidates: [] }]])
      expect(faultOf(chunks)).toMatchObject({
        kind: 'failed',
        message: 'the stream ended before the message was complete',
      });
  });

  test('without any content gives a message without content', () => {
    expect(messageOf([chunk([], 'MAX_TOKENS')])).toMatchObject({ content: [], stop_reason: 'max_tokens' });
    const bare: JsonObject = {
      candidates: [{ finishReason: 'STOP', content: { role: 'model' } }],
      usageMetadata: USAGE,
    };
    expect(messageOf([bare])).toMatchObject({ content: [], stop_reason: 'end_turn' });
  });

  test('has the counts of a chunk that follows it', () => {
    const late = { usageMetadata: { ...USAGE, candidatesTokenCount: 9 } };
    expect(messageOf([chunk([{ text: 'a' }], 'STOP'), late])).toMatchObject({ usage: { output_tokens: 9 } });
  });
});

test('content without an equivalent in a message is a fault, never dropped silently', () => {
  const image = { inlineData: { mimeType: 'image/png', data: 'aW1n' } };
  expect(faultOf([chunk([{ text: 'Here:' }, image], 'STOP')]).message).toContain('unsupported type');
});

test('an error inside a response is a fault of its kind, also in a list', () => {
  const error = { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } };
  expect(faultOf([chunk([{ text: 'a' }]), error]).kind).toBe('overloaded');
  expect(faultOf([chunk([{ text: 'a' }]), [error]]).kind).toBe('overloaded');
});

describe('counts', () => {
  const usageOf = (...metadata: JsonObject[]) =>
    messageOf(
      metadata.map((counts, index) =>
        chunk([{ text: 'a' }], index + 1 === metadata.length ? 'STOP' : undefined, counts),
      ),
    )['usage'];

  test('of the cache are not counted twice, and thoughts count as output', () => {
    expect(
      usageOf({
        promptTokenCount: 100,
        cachedContentTokenCount: 60,
        candidatesTokenCount: 20,
        thoughtsTokenCount: 30,
        toolUsePromptTokenCount: 7,
        totalTokenCount: 157,
      }),
    ).toEqual({
      input_tokens: 47,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 60,
      output_tokens: 50,
      output_tokens_details: { thinking_tokens: 30 },
    });
  });

  test('are those of the last chunk, which has the totals', () => {
    expect(
      usageOf(
        { promptTokenCount: 10, totalTokenCount: 10 },
        { promptTokenCount: 10, thoughtsTokenCount: 4, candidatesTokenCount: 1, totalTokenCount: 15 },
        { promptTokenCount: 10, cachedContentTokenCount: 8, candidatesTokenCount: 6, totalTokenCount: 20 },
      ),
    ).toMatchObject({ input_tokens: 2, cache_read_input_tokens: 8, output_tokens: 10 });
  });

  test('that Gemini omits because they are zero are zero', () => {
    expect(usageOf({ promptTokenCount: 10, totalTokenCount: 10 })).toMatchObject({ output_tokens: 0 });
    expect(usageOf({ promptTokenCount: 10, thoughtsTokenCount: 90, totalTokenCount: 100 })).toMatchObject({
      output_tokens: 90,
      output_tokens_details: { thinking_tokens: 90 },
    });
  });

  test('that are missing or absurd are estimated', () => {
    const absent: [JsonObject | null, string][] = [
      [null, 'input_tokens output_tokens'],
      [{ promptTokenCount: 10 }, 'output_tokens'],
      [{ promptTokenCount: -1, candidatesTokenCount: 5 }, 'input_tokens'],
      [{ promptTokenCount: 10, thoughtsTokenCount: 9, totalTokenCount: 15 }, 'output_tokens'],
    ];
    for (const [metadata, names] of absent) {
      const events = convertAnswer([chunk([{ text: 'a' }], 'STOP', metadata)], requestTerms());
      const usage = events.at(-2)?.value['usage'] as JsonObject;
      for (const name of names.split(' ')) expect(usage).not.toContainKey(name);
      const counter = new MessageCounter();
      for (const event of events) counter.observe(event);
      const total = counter.estimate({ inputEstimate: 33, outputTokensMax: 100 });
      expect(total).toMatchObject({ source: 'estimated', disbelieved: [], unknown: [] });
    }
  });
});

test('streamed or whole, a response gives the same message', () => {
  const parts = [
    { text: 'Hmm.', thought: true },
    { text: 'Yes.' },
    call('look', { at: 'sky' }, { thoughtSignature: 'S' }),
  ];
  const fold = new MessageFold();
  const converter = new ChunkConverter(requestTerms());
  const chunks = parts.map((part, index) => chunk([part], index === 2 ? 'STOP' : undefined));
  for (const event of [...chunks.flatMap((one) => converter.push(one)), ...converter.end()]) fold.add(event);
  expect(fold.message()).toEqual(messageOf([chunk(parts, 'STOP')]));
});

describe('intermediate counts', () => {
  const usageOf = (chunks: JsonObject[]) => {
    const converter = new ChunkConverter(requestTerms());
    return [...chunks.flatMap((one) => converter.push(one)), ...converter.end()].at(-2)?.value['usage'];
  };

  test('from before the last content are not treated as totals', () => {
    const late = chunk([{ text: 'and much more' }], 'STOP', null);
    expect(usageOf([chunk([{ text: 'a' }]), late])).toEqual({
      input_tokens: 10,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
    });
    expect(usageOf([chunk([{ text: 'a' }]), late, { usageMetadata: USAGE }])).toMatchObject({ output_tokens: 5 });
    expect(usageOf([chunk([{ text: 'a' }]), chunk([], 'STOP', null)])).toMatchObject({ output_tokens: 5 });
  });

  test('below the reported total are replaced by the total', () => {
    const last = chunk([{ text: 'and much more' }], 'STOP', { promptTokenCount: 10, totalTokenCount: 50 });
    expect(usageOf([chunk([{ text: 'a' }]), last])).toMatchObject({ output_tokens: 40 });
  });

  test('never fall, and more cached tokens than the prompt are not believed', () => {
    const fallen = { promptTokenCount: 4, candidatesTokenCount: 0, totalTokenCount: 0 };
    expect(usageOf([chunk([{ text: 'a' }]), chunk([], 'STOP', fallen)])).toEqual({
      input_tokens: 10,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 5,
    });
    const cached = { ...USAGE, cachedContentTokenCount: 11 };
    expect(usageOf([chunk([{ text: 'a' }], 'STOP', cached)])).toMatchObject({
      input_tokens: 10,
      cache_read_input_tokens: 0,
    });
  });

  test('without prompt tokens are ignored', () => {
    const usage = { promptTokenCount: 0, candidatesTokenCount: 5, totalTokenCount: 5 };
    expect(usageOf([chunk([{ text: 'a' }], 'STOP', usage)])).toEqual({ output_tokens: 5 });
  });

  test('include at most as many calls as a response may have', () => {
    expect(() => usageOf([chunk(Array.from({ length: 1_001 }, () => call('look')))])).toThrow('too many tools');
  });
});
