// The conversation as the provider's input: complete and in order.

import { describe, expect, test } from 'bun:test';
import { convertMessages } from '../../../../src/providers/openai-responses/convert-messages.ts';
import {
  decodeReasoning,
  encodeReasoning,
  homeOf,
} from '../../../../src/providers/openai-responses/reasoning-signature.ts';
import { ProviderFault } from '../../../../src/providers/providers.ts';
import type { JsonObject } from '../../../../src/wire/wire.ts';

const HOME = homeOf({ name: 'openai', baseUrl: 'https://api.openai.com' });
const ASKED = { role: 'user', content: 'Look.' };
const SAID = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Look.' }] };
const signed = (thinking: string, id = 'rs_1', sealed = 'gAAAA', home = HOME) => ({
  type: 'thinking',
  thinking,
  signature: encodeReasoning(
    { id, encryptedContent: sealed, parts: [{ of: 'summary', characters: thinking.length }] },
    home,
  ),
});
const reasoning = (text: string, id = 'rs_1') => ({
  type: 'reasoning',
  id,
  summary: [{ type: 'summary_text', text }],
  encrypted_content: 'gAAAA',
});
const use = (id: string, input: object = {}) => ({ type: 'tool_use', id, name: 'look', input });
const call = (id: string, input = '{}') => ({ type: 'function_call', call_id: id, name: 'look', arguments: input });
const result = (id: string, members: object = {}) => ({ type: 'tool_result', tool_use_id: id, ...members });
const output = (id: string, result: unknown) => ({
  type: 'function_call_output',
  call_id: id,
  output: result,
});
const assistant = (...content: object[]) => ({ role: 'assistant', content });
const user = (...content: object[]) => ({ role: 'user', content });

const convert = (messages: unknown[], home: string | null = HOME) => convertMessages({ messages } as JsonObject, home);

function refusalOf(messages: unknown[]): string {
  try {
    convert(messages);
  } catch (thrown) {
    if (thrown instanceof ProviderFault && thrown.kind === 'rejected') return thrown.message;
    throw thrown;
  }
  throw new Error('the request was not refused');
}

describe('a user message', () => {
  const parts = (...content: object[]) => (convert([user(...content)])[0] as { content: unknown })?.content;

  test('has its text and images in order; an address is passed on unchanged', () => {
    expect(
      parts(
        { type: 'text', text: 'These:' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } },
        { type: 'image', source: { type: 'url', url: 'https://example.com/a.png?b=1' } },
        { type: 'text', text: '' },
        { type: 'text', text: 'Well?' },
      ),
    ).toEqual([
      { type: 'input_text', text: 'These:' },
      { type: 'input_image', image_url: 'data:image/png;base64,iVBO', detail: 'auto' },
      { type: 'input_image', image_url: 'https://example.com/a.png?b=1', detail: 'auto' },
      { type: 'input_text', text: 'Well?' },
    ]);
  });

  test.each<[string, object, unknown[]]>([
    [
      'a PDF',
      { title: 'Report', context: 'Of May.', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' } },
      [
        { type: 'input_text', text: 'Of May.' },
        { type: 'input_file', filename: 'Report.pdf', file_data: 'data:application/pdf;base64,JVBE' },
      ],
    ],
    [
      'a PDF without a title',
      { source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' }, citations: { enabled: true } },
      [{ type: 'input_file', filename: 'document.pdf', file_data: 'data:application/pdf;base64,JVBE' }],
    ],
    [
      'an address',
      { source: { type: 'url', url: 'https://example.com/a.pdf' } },
      [{ type: 'input_file', file_url: 'https://example.com/a.pdf' }],
    ],
    [
      'text',
      { title: 'Notes', source: { type: 'text', media_type: 'text/plain', data: 'One.' } },
      [{ type: 'input_text', text: 'Document: Notes\n\nOne.' }],
    ],
    [
      'blocks',
      {
        source: {
          type: 'content',
          content: [
            { type: 'text', text: 'One.' },
            { type: 'image', source: { type: 'url', url: 'https://example.com/u' } },
          ],
        },
      },
      [
        { type: 'input_text', text: 'One.' },
        { type: 'input_image', image_url: 'https://example.com/u', detail: 'auto' },
      ],
    ],
  ])('may contain a document given as %s', (_words, members, expected) => {
    expect(parts({ type: 'document', ...members })).toEqual(expected);
  });

  test('may contain a search result', () => {
    const content = [{ type: 'text', text: 'Found.' }];
    expect(parts({ type: 'search_result', title: 'T', source: 'S', content })).toEqual([
      { type: 'input_text', text: 'Search result: T\nSource: S' },
      { type: 'input_text', text: 'Found.' },
    ]);
  });

  test.each<[object, string]>([
    [{ type: 'image', source: { type: 'file', file_id: 'f' } }, 'messages.0.content.1.image.source: '],
    [{ type: 'image' }, 'messages.0.content.1.image.source: '],
    [
      { type: 'document', source: { type: 'base64', media_type: 'text/csv', data: 'YQ==' } },
      'messages.0.content.1.document.source: ',
    ],
    [
      { type: 'document', source: { type: 'content', content: [{ type: 'video' }] } },
      'messages.0.content.1.document.source.content.0: ',
    ],
    [{ type: 'container_upload', file_id: 'f' }, 'messages.0.content.1: '],
    [{ type: 'block_of_the_future' }, 'messages.0.content.1: '],
  ])('is refused with its path if the provider cannot read it: %j', (block, path) => {
    expect(refusalOf([user({ type: 'text', text: 'See:' }, block)])).toStartWith(path);
  });

  test('is kept separate from a system message between two user messages', () => {
    expect(convert([ASKED, { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] }])).toEqual([
      SAID,
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] },
    ]);
  });
});

describe('tools', () => {
  test('are called and answered under one id, with results before the text beside them', () => {
    expect(
      convert([
        ASKED,
        assistant({ type: 'text', text: 'Both.' }, use('toolu_1', { at: 'Zürich' }), use('toolu_2')),
        user(
          { type: 'text', text: 'And hurry.' },
          result('toolu_2', { content: 'Two.' }),
          result('toolu_1', { content: 'One.' }),
        ),
      ]),
    ).toEqual([
      SAID,
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Both.' }] },
      call('toolu_1', '{"at":"Zürich"}'),
      call('toolu_2'),
      output('toolu_2', 'Two.'),
      output('toolu_1', 'One.'),
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'And hurry.' }] },
    ] as never);
  });

  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } };
  const text = (words: string) => ({ type: 'text', text: words });
  const inputText = (words: string) => ({ type: 'input_text', text: words });
  const inputImage = { type: 'input_image', image_url: 'data:image/png;base64,iVBO', detail: 'auto' };
  test.each<[object, unknown]>([
    [{}, ''],
    [{ content: null }, ''],
    [{ content: [] }, ''],
    [{ content: 'Sun.' }, 'Sun.'],
    [{ content: [text('Sun.')] }, 'Sun.'],
    [{ content: [text('Sun.'), text('Wind.')] }, [inputText('Sun.'), inputText('Wind.')]],
    [{ content: [text('Sun.'), image] }, [inputText('Sun.'), inputImage]],
    [{ content: [image] }, [inputImage]],
    [{ content: [{ type: 'tool_reference', tool_name: 'dig' }] }, 'The tool dig is available.'],
    [{ content: [{ type: 'browser_state', tabs: [] }] }, '{"type":"browser_state","tabs":[]}'],
    [{ content: 'No city.', is_error: true }, 'Error: No city.'],
    [{ is_error: true }, 'Error: '],
    [{ content: [image], is_error: true }, [inputText('Error:'), inputImage]],
    [{ content: 'Sun.', is_error: false }, 'Sun.'],
  ])('have the result %j with its images, and are marked if it is an error', (members, expected) => {
    expect(convert([ASKED, assistant(use('toolu_1')), user(result('toolu_1', members))]).at(-1)).toEqual(
      output('toolu_1', expected) as never,
    );
  });

  test('whose result the provider cannot read are refused with its path', () => {
    const content = [text('See:'), { type: 'video' }];
    expect(refusalOf([ASKED, assistant(use('toolu_1')), user(result('toolu_1', { content }))])).toStartWith(
      'messages.2.content.0.tool_result.content.1: ',
    );
  });

  test('without a result, results without a call, and ids of two calls are refused with the known text', () => {
    expect(refusalOf([ASKED, assistant(use('toolu_1')), ASKED])).toStartWith(
      'messages.1.content.0: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.',
    );
    expect(
      refusalOf([ASKED, assistant(use('toolu_1')), ASKED, assistant(text('x')), user(result('toolu_1'))]),
    ).toContain('ids were found without');
    expect(refusalOf([ASKED, assistant(text('Yes.')), user(result('toolu_1'))])).toStartWith(
      'messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1.',
    );
    expect(refusalOf([ASKED, assistant(use('toolu_1'), use('toolu_1')), user(result('toolu_1'))])).toContain('unique');
  });

  test('may be answered in two messages, which are merged', () => {
    const messages = [
      ASKED,
      assistant(use('toolu_1'), use('toolu_2')),
      user(result('toolu_1')),
      user(result('toolu_2')),
    ];
    expect(convert(messages).map(({ type }) => type)).toEqual([
      'message',
      'function_call',
      'function_call',
      'function_call_output',
      'function_call_output',
    ]);
  });

  test('get ids that are short and unique, whatever they were before', () => {
    const long = `call_${'x'.repeat(200)}`;
    const turn = (id: string) => [assistant(use(id)), user(result(id))];
    const items = convert([ASKED, ...turn('call_0'), ...turn('call_0'), ...turn(long)]).slice(1);
    const ids = items.map(({ call_id: id }) => String(id));
    for (const id of ids) expect(id.length).toBeLessThanOrEqual(64);
    expect([ids[0], ids[2], ids[4]]).toEqual([ids[1], ids[3], ids[5]] as never);
    expect(new Set(ids).size).toBe(3);
    expect(ids[0]).toBe('call_0');
  });
});

describe('reasoning', () => {
  test('is sent back before the call that followed it, in every turn', () => {
    expect(
      convert([
        ASKED,
        assistant(signed('Hm.', 'rs_1'), use('toolu_1')),
        user(result('toolu_1', { content: 'Sun.' })),
        assistant(signed('Ah.', 'rs_2'), { type: 'text', text: 'And then' }, use('toolu_2')),
        user(result('toolu_2', { content: 'Wind.' })),
      ]),
    ).toEqual([
      SAID,
      reasoning('Hm.', 'rs_1'),
      call('toolu_1'),
      output('toolu_1', 'Sun.'),
      reasoning('Ah.', 'rs_2'),
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'And then' }] },
      call('toolu_2'),
      output('toolu_2', 'Wind.'),
    ] as never);
  });

  test.each<[string, object]>([
    ['from the vendor of the protocol', { type: 'thinking', thinking: 'Hm.', signature: 'EqQBCgIYAhIM' }],
    ['from another provider of the same kind', signed('Hm.', 'rs_1', 'gAAAA', 'elsewhere')],
    ['from another version', { ...signed('Hm.'), signature: signed('Hm.').signature.replace('.1.', '.2.') }],
    ['that is truncated', { ...signed('Hm.'), signature: signed('Hm.').signature.slice(0, 25) }],
    ['without sealed content', signed('Hm.', 'rs_1', '')],
    ['that is missing', { type: 'thinking', thinking: 'Hm.' }],
    ['for thinking that is sealed elsewhere', { type: 'redacted_thinking', data: 'EqQB' }],
  ])('is not sent with a signature %s', (_words, block) => {
    expect(convert([ASKED, assistant(block, { type: 'text', text: 'Yes.' }), ASKED])).toHaveLength(3);
  });

  test('is not sent if no thinking is requested', () => {
    expect(convert([ASKED, assistant(signed('Hm.'), { type: 'text', text: 'Yes.' }), ASKED], null)).toHaveLength(3);
  });

  test('without a following item of the same response is left out, because the provider would refuse it', () => {
    const items = convert([ASKED, assistant(signed('Hm.', 'rs_1'), signed('Ah.', 'rs_2')), ASKED]);
    expect(items).toEqual([SAID, SAID] as never);
    expect(
      convert([
        ASKED,
        assistant(signed('Hm.', 'rs_1'), signed('Ah.', 'rs_2'), use('toolu_1')),
        user(result('toolu_1')),
      ]),
    ).toHaveLength(5);
  });

  test('keeps its sealed text, even if the shown text was changed', () => {
    const { signature } = signed('Hm.');
    expect(decodeReasoning('Something else.', signature, HOME)).toEqual(reasoning('Something else.'));
    expect(decodeReasoning('', signature, HOME)).toMatchObject({ id: 'rs_1', encrypted_content: 'gAAAA' });
  });

  test('keeps an item whose id or sealed text has any characters', () => {
    const odd = { id: 'rs.1/ü', encryptedContent: 'a.b.c==.', parts: [] };
    expect(decodeReasoning('', encodeReasoning(odd, HOME), HOME)).toEqual({
      type: 'reasoning',
      id: 'rs.1/ü',
      summary: [],
      encrypted_content: 'a.b.c==.',
    });
  });

  test('does not reveal the address of its provider to a client', () => {
    const signature = signed('Hm.').signature;
    expect(signature + Buffer.from(signature.split('.')[2] ?? '', 'base64url')).not.toContain('api.openai.com');
  });
});

describe('an assistant message', () => {
  test('at the end, which the model should continue, is refused: this provider would start a new answer', () => {
    expect(refusalOf([ASKED, { role: 'assistant', content: 'It is' }])).toStartWith(
      'messages.1: This model does not support assistant message prefill.',
    );
  });

  test.each(['server_tool_use', 'web_search_tool_result', 'image'])(
    'with a block of %s is refused with its path',
    (type) => {
      expect(refusalOf([ASKED, assistant({ type: 'text', text: 'x' }, { type }), ASKED])).toStartWith(
        'messages.1.content.1: ',
      );
    },
  );
});
