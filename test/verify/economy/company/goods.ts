// Images, speech, transcripts, rankings and moderation in the economy: what is sent, what their providers do, and what each costs.

import { type Provider, ProviderFault } from '../../../../src/providers/providers.ts';
import { sandbox } from '../../../../src/providers/sandbox/sandbox.ts';
import type { VirtualTime } from '../virtual-time.ts';

type OtherUses = NonNullable<Provider['uses']>;

export const goods = ['images', 'speech', 'transcription', 'rerank', 'moderation'] as const;
export type Goods = (typeof goods)[number];

const FAILING = 'this one fails';
const ANSWER_MS = 300;
const IMAGE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const SAMPLE_RATE = 16_000;
const TOKEN_BYTES = 4;

/** Nanodollars of one image, character, second, search and token. */
const PRICES: Readonly<Record<Goods, number>> = {
  images: 10_000_000,
  speech: 15_000,
  transcription: 100_000,
  rerank: 2_000_000,
  moderation: 1_000,
};

/** Entries of the catalog file. */
export function goodsModels(provider: string): Record<string, object> {
  const price = (use: Goods): object =>
    ({
      images: { units: { per_image: '0.01' } },
      speech: { units: { per_million_characters: '15' } },
      transcription: { units: { per_hour: '0.36' } },
      rerank: { units: { per_thousand_searches: '2' } },
      moderation: { input: '1' },
    })[use];
  return Object.fromEntries(
    goods.map((use) => [nameOf(use), { serves: use, price: price(use), routes: [{ provider, model: nameOf(use) }] }]),
  );
}

export function nameOf(use: Goods): string {
  return `goods-${use}`;
}

/** The sandbox's answers after a while; those whose text says so fail. Images are small, as threads draw the others. */
export function goodsUses(time: VirtualTime): OtherUses {
  const later = (use: Goods, answer: NonNullable<OtherUses[Goods]>): NonNullable<OtherUses[Goods]> => {
    return async (attempt) => {
      await new Promise<void>((resolve) => void time.after(ANSWER_MS, () => time.deliver(resolve)));
      if (attempt.signal.aborted) throw new ProviderFault('aborted', 'aborted');
      const said = JSON.stringify(attempt.request.body);
      if (said.includes(FAILING)) throw new ProviderFault('failed', `no ${use}`, { status: 500 });
      return await answer(attempt);
    };
  };
  const drawn: NonNullable<OtherUses['images']> = async ({ request }) => {
    const { n = 1 } = (request.body['images'] ?? {}) as { n?: number };
    const message = { created: 1, data: Array.from({ length: n }, () => ({ b64_json: IMAGE })) };
    return { form: 'message', message, text: JSON.stringify(message), isNative: true, upstreamRequestId: null };
  };
  const own = { ...(sandbox as Required<Pick<Provider, 'uses'>>).uses, images: drawn };
  return Object.fromEntries(goods.map((use) => [use, later(use, own[use] as NonNullable<OtherUses[Goods]>)]));
}

export interface Wish {
  use: Goods;
  /** Images, characters, seconds, documents, or words. */
  amount: number;
  fails: boolean;
}

/** In nanodollars. */
export function priceOf({ use, amount, fails }: Wish): number {
  if (fails) return 0;
  if (use === 'rerank') return PRICES.rerank;
  if (use === 'moderation') return PRICES.moderation * Math.ceil(wordsOf(amount, false).length / TOKEN_BYTES);
  return PRICES[use] * amount;
}

function wordsOf(amount: number, fails: boolean): string {
  return 'quiet harbour '.repeat(amount) + (fails ? FAILING : '');
}

/** A body in JSON; null for a transcript, whose file is part of a form. `user`: a word that answers never show. */
export function bodyOfGoods({ use, amount, fails }: Wish): object | null {
  const model = nameOf(use);
  const words = wordsOf(3, fails);
  if (use === 'images') return { model, prompt: words, n: amount, size: '64x64' };
  if (use === 'speech') return { model, voice: 'alloy', input: fails ? FAILING : 'a'.repeat(amount) };
  if (use === 'rerank')
    return { model, query: words, documents: Array.from({ length: amount }, () => 'a quiet harbour') };
  return use === 'moderation' ? { model, input: wordsOf(amount, fails) } : null;
}

/** A form with so many seconds of silence. */
export function formOfSound({ use, amount, fails }: Wish): FormData {
  const form = new FormData();
  form.set('model', nameOf(use));
  form.set('prompt', wordsOf(1, fails));
  form.set('file', new File([silence(amount)], 'sound.wav', { type: 'audio/wav' }));
  return form;
}

function silence(seconds: number): Uint8Array<ArrayBuffer> {
  const bytes = seconds * SAMPLE_RATE * 2;
  const sound = Buffer.alloc(44 + bytes);
  sound.write('RIFF', 0, 'latin1');
  sound.writeUInt32LE(bytes + 36, 4);
  sound.write('WAVEfmt ', 8, 'latin1');
  for (const [at, value] of [
    [16, 16],
    [24, SAMPLE_RATE],
    [28, SAMPLE_RATE * 2],
    [40, bytes],
  ] as const)
    sound.writeUInt32LE(value, at);
  for (const [at, value] of [
    [20, 1],
    [22, 1],
    [32, 2],
    [34, 16],
  ] as const)
    sound.writeUInt16LE(value, at);
  sound.write('data', 36, 'latin1');
  return new Uint8Array(sound);
}

export const pathOfGoods: Readonly<Record<Goods, string>> = {
  images: '/v1/images/generations',
  speech: '/v1/audio/speech',
  transcription: '/v1/audio/transcriptions',
  rerank: '/v1/rerank',
  moderation: '/v1/moderations',
};
