// Generated conversations of several turns: user messages, responses of this and other models, and tool results. It
// has no tests of its own.

import fc from 'fast-check';
import type { Carried } from './driver.ts';
import { anyReply, type ModelReply, words } from './model-reply.ts';

/** Content of a user or a tool. */
export type Block =
  | { is: 'text'; text: string; isCached: boolean }
  | { is: 'blank' }
  | { is: 'image'; media: string; data: string }
  | { is: 'image-url'; url: string }
  | { is: 'document'; form: 'text' | 'content'; texts: string[]; title: string | null; context: string | null }
  | { is: 'document'; form: 'pdf' | 'pdf-url'; title: string | null; context: string | null }
  | { is: 'search'; title: string; source: string; texts: string[] };

export interface Result {
  /** null for no content; a single text is given as a string. */
  content: Block[] | string | null;
  isError: boolean;
}

export interface Exchange {
  /** The user's content, in one message or several. */
  asked: Block[][];
  /** The system message after the user's content. */
  aside: string | null;
  /** From a model of this kind if `by` is 0, otherwise from one of the others. */
  answer: ModelReply;
  by: number;
  /** The results of its calls, in the order of the calls, and the order in which they are sent. */
  results: Result[];
  isReversed: boolean;
  /**
   * How the client sends the response back: it may drop its thinking, or send each block and each result as a
   * separate message.
   */
  client: 'faithful' | 'forgetful' | 'splitting';
}

export interface Dialogue {
  system: string | string[] | null;
  exchanges: Exchange[];
  last: Block[];
}

export const IMAGE_URL = 'https://pictures.example.com/a/cat.png';
export const PDF_URL = 'https://papers.example.com/b/paper.pdf';
const WEB_URL = 'http://pictures.example.com/dog.jpeg';

const base64 = fc.uint8Array({ minLength: 1, maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString('base64'));
const title = fc.option(words);

const textBlock = fc.record({ is: fc.constant('text' as const), text: words, isCached: fc.boolean() });
const block: fc.Arbitrary<Block> = fc.oneof(
  { weight: 6, arbitrary: textBlock },
  { weight: 1, arbitrary: fc.constant({ is: 'blank' as const }) },
  {
    weight: 3,
    arbitrary: fc.record({
      is: fc.constant('image' as const),
      media: fc.constantFrom('image/png', 'image/jpeg', 'image/webp', 'image/png', 'image/gif'),
      data: base64,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      is: fc.constant('image-url' as const),
      url: fc.constantFrom(IMAGE_URL, IMAGE_URL, WEB_URL),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      is: fc.constant('document' as const),
      form: fc.constantFrom('text' as const, 'content' as const),
      texts: fc.array(words, { minLength: 1, maxLength: 2 }),
      title,
      context: title,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      is: fc.constant('document' as const),
      form: fc.constantFrom('pdf' as const, 'pdf-url' as const),
      title,
      context: title,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      is: fc.constant('search' as const),
      title: words,
      source: words,
      texts: fc.array(words, { maxLength: 2 }),
    }),
  },
);

/** The content types of a block that some kinds do not support. */
export function carriedOf(block: Block): Carried[] {
  if (block.is === 'image' && block.media === 'image/gif') return ['image-gif'];
  if (block.is === 'image-url') return block.url === WEB_URL ? ['image-url', 'web-url'] : ['image-url'];
  return block.is === 'document' && (block.form === 'pdf' || block.form === 'pdf-url') ? [block.form] : [];
}

/** Blocks that this kind supports; rarely another, which it must refuse. */
function blocksFor(refuses: readonly Carried[], maxLength: number): fc.Arbitrary<Block[]> {
  const carries = (one: Block) => !carriedOf(one).some((kind) => refuses.includes(kind));
  const carried = fc.array(block.filter(carries), { maxLength });
  return fc.oneof({ weight: 12, arbitrary: carried }, { weight: 1, arbitrary: fc.array(block, { maxLength }) });
}

export function dialogueFor(refuses: readonly Carried[]): fc.Arbitrary<Dialogue> {
  const userContent = fc.tuple(textBlock, blocksFor(refuses, 3)).map(([first, rest]) => [first, ...rest] as Block[]);
  const result = fc.record({
    content: fc.oneof(fc.constant(null), words, blocksFor(refuses, 3)),
    isError: fc.boolean(),
  });
  const exchange = fc.record({
    asked: fc.array(userContent, { minLength: 1, maxLength: 2 }),
    aside: fc.option(words, { freq: 3 }),
    answer: anyReply,
    by: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 5 })),
    results: fc.array(result, { minLength: 1, maxLength: 3 }),
    isReversed: fc.boolean(),
    client: fc.constantFrom('faithful' as const, 'faithful' as const, 'forgetful' as const, 'splitting' as const),
  });
  return fc.record({
    system: fc.oneof(fc.constant(null), words, fc.array(words, { maxLength: 3 })),
    exchanges: fc.array(exchange, { minLength: 1, maxLength: 3 }),
    last: userContent,
  });
}
