// Generated conversations of several turns: what a user says and shows, what models answered, this one and others, and
// what tools gave back. Not a test.

import fc from 'fast-check';
import type { Carried } from './driver.ts';
import { anySaying, type Saying, words } from './saying.ts';

/** What a user or a tool shows. */
export type Block =
  | { is: 'text'; text: string; isCached: boolean }
  | { is: 'blank' }
  | { is: 'image'; media: string; data: string }
  | { is: 'image-url'; url: string }
  | { is: 'document'; form: 'text' | 'content'; texts: string[]; title: string | null; context: string | null }
  | { is: 'document'; form: 'pdf' | 'pdf-url'; title: string | null; context: string | null }
  | { is: 'search'; title: string; source: string; texts: string[] };

export interface Result {
  /** Null: it has no content; a text alone is given as such. */
  content: Block[] | string | null;
  isError: boolean;
}

export interface Exchange {
  /** What the user says, in one message or several. */
  asked: Block[][];
  /** What the system says behind it. */
  aside: string | null;
  /** Of a model of this kind where `by` is 0, else of one of the others. */
  answer: Saying;
  by: number;
  /** The results of its calls, in turn, and in which order they are given. */
  results: Result[];
  isReversed: boolean;
  /** What the client makes of the answer: some drop its thinking, some send each block and each result as a message. */
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

/** What of a block some kinds have no place for. */
export function carriedOf(block: Block): Carried[] {
  if (block.is === 'image' && block.media === 'image/gif') return ['image-gif'];
  if (block.is === 'image-url') return block.url === WEB_URL ? ['image-url', 'web-url'] : ['image-url'];
  return block.is === 'document' && (block.form === 'pdf' || block.form === 'pdf-url') ? [block.form] : [];
}

/** Blocks that this kind carries; seldom another, which it must refuse. */
function blocksFor(refuses: readonly Carried[], maxLength: number): fc.Arbitrary<Block[]> {
  const carries = (one: Block) => !carriedOf(one).some((kind) => refuses.includes(kind));
  const carried = fc.array(block.filter(carries), { maxLength });
  return fc.oneof({ weight: 12, arbitrary: carried }, { weight: 1, arbitrary: fc.array(block, { maxLength }) });
}

export function dialogueFor(refuses: readonly Carried[]): fc.Arbitrary<Dialogue> {
  const said = fc.tuple(textBlock, blocksFor(refuses, 3)).map(([first, rest]) => [first, ...rest] as Block[]);
  const result = fc.record({
    content: fc.oneof(fc.constant(null), words, blocksFor(refuses, 3)),
    isError: fc.boolean(),
  });
  const exchange = fc.record({
    asked: fc.array(said, { minLength: 1, maxLength: 2 }),
    aside: fc.option(words, { freq: 3 }),
    answer: anySaying,
    by: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 5 })),
    results: fc.array(result, { minLength: 1, maxLength: 3 }),
    isReversed: fc.boolean(),
    client: fc.constantFrom('faithful' as const, 'faithful' as const, 'forgetful' as const, 'splitting' as const),
  });
  return fc.record({
    system: fc.oneof(fc.constant(null), words, fc.array(words, { maxLength: 3 })),
    exchanges: fc.array(exchange, { minLength: 1, maxLength: 3 }),
    last: said,
  });
}
