// The content of one model reply, independent of any protocol: each driver renders it in its own, and the resulting
// events are compared with it. It has no tests of its own.

import fc from 'fast-check';
import { anyText } from '../../../support/any-text.ts';

/** One segment of a reply. A `seal` is the signature that its provider wants back; null for none. */
export type Segment =
  | { is: 'text'; text: string; seal: string | null }
  | { is: 'thinking'; text: string; seal: string | null }
  | { is: 'sealed'; seal: string } // thinking without visible text
  | Called;

export interface Called {
  is: 'call';
  id: string;
  name: string;
  /** The JSON of an object, as the model wrote it. */
  input: string;
  seal: string | null;
}

/** In tokens, each counted once: the first three add up to the prompt. */
export interface Counted {
  input: number;
  cacheRead: number;
  cacheWrite: number;
  /** Including its reasoning. */
  output: number;
  reasoning: number;
}

export interface ModelReply {
  segments: readonly Segment[];
  end: 'end' | 'length' | 'refusal' | 'sequence';
  counted: Counted;
}

export const STOP_SEQUENCE = 'STOP-HERE';

export const COUNTED: Counted = { input: 20, cacheRead: 100, cacheWrite: 7, output: 40, reasoning: 15 };

/** A reply with these segments, an ordinary end and ordinary counts. */
export function replyOf(segments: readonly Segment[], changes: Partial<ModelReply> = {}): ModelReply {
  return { segments, end: 'end', counted: COUNTED, ...changes };
}

export const text = (words: string, seal: string | null = null): Segment => ({ is: 'text', text: words, seal });
export const thinking = (words: string, seal: string | null = 'SEAL+thinking/0==='): Segment => ({
  is: 'thinking',
  text: words,
  seal,
});
export const call = (id: string, name: string, input: string, seal: string | null = null): Called => ({
  is: 'call',
  id,
  name,
  input,
  seal,
});

/** The calls of a reply. */
export function callsOf({ segments }: Pick<ModelReply, 'segments'>): Called[] {
  return segments.filter((segment) => segment.is === 'call');
}

/** Tool inputs that are easily damaged. */
export const HARD_INPUTS: readonly string[] = [
  '{}',
  '{ }',
  '{"id":12345678901234567890,"small":0.10000000000000000001}',
  '{"price":12345678.901234567891}',
  '{"far":1e400,"near":-2.5E-400}',
  '{"name":"Z\\u00fcrich \\ud83d\\ude00 \\/ \\\\ \\" \\u0000","also":"Zürich 😀"}',
  '{\n  "deep": [[[{"a": [1, 2, {"b": null}]}]]],\n  "": ""\n}',
  '{"__proto__":{"x":1},"constructor":2,"2":"b","1":"a"}',
  '{"text":"<think> {\\"a\\":1}} ]}[DONE]\\n\\ndata: {}"}',
];

const NAMES = ['look', 'get_weather', 'mcp__server__read-file', `long_${'n'.repeat(90)}`, `long_${'n'.repeat(89)}m`];
/** The tools that every generated request declares, including names that most providers refuse. */
export const TOOL_NAMES: readonly string[] = [...NAMES, '1st', 'with.dots/and slash', 'ünï©ode'];

const LONE_SURROGATE = '\ud83d';

/** Words of any characters, except the marks that separate texts. */
export const words: fc.Arbitrary<string> = fc
  .oneof(
    { weight: 4, arbitrary: fc.string({ unit: 'grapheme', maxLength: 20 }) },
    { weight: 2, arbitrary: anyText({ maxLength: 10 }) },
    fc.constantFrom(
      '',
      ' ',
      '\n\n',
      'data: [DONE]\n\n',
      '</think>',
      `\u2028${LONE_SURROGATE}x`,
      '\u0000\ufeff',
      '"}]}',
    ),
  )
  .map((drawn) => drawn.replaceAll(/[⟦⟧]/g, '|'));

const seal = fc.stringMatching(/^[A-Za-z0-9+/_-]{4,24}={0,2}$/);
const input = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...HARD_INPUTS) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 }), fc.nat(2))
      .map(([value, space]) => JSON.stringify(value, null, space)),
  },
);

const called = fc.record({
  is: fc.constant('call' as const),
  id: fc.oneof(fc.constantFrom('call_0', 'call_same', 'look'), fc.stringMatching(/^[a-zA-Z0-9_-]{1,40}$/)), // some models repeat their ids
  name: fc.constantFrom(...TOOL_NAMES),
  input,
  seal: fc.option(seal),
});

const segment: fc.Arbitrary<Segment> = fc.oneof(
  fc.record({ is: fc.constant('text' as const), text: words, seal: fc.option(seal, { freq: 3 }) }),
  fc.record({ is: fc.constant('thinking' as const), text: words, seal: fc.option(seal, { freq: 8 }) }),
  fc.record({ is: fc.constant('sealed' as const), seal }),
  called,
);

const tokens = fc.nat(1_000_000);
const counted: fc.Arbitrary<Counted> = fc
  .record({ input: tokens, cacheRead: tokens, cacheWrite: tokens, output: tokens, reasoning: tokens })
  .map((drawn) => ({ ...drawn, input: drawn.input + 1, output: drawn.output + drawn.reasoning + 1 }));

/** Any reply; a driver fits it to its kind. */
export const anyReply: fc.Arbitrary<ModelReply> = fc.record({
  segments: fc.array(segment, { maxLength: 6 }),
  end: fc.oneof(
    { weight: 5, arbitrary: fc.constant('end' as const) },
    fc.constantFrom('length' as const, 'refusal' as const, 'sequence' as const),
  ),
  counted,
});
