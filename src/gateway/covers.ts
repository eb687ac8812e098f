// The covers of all streams, each looked at once a second: one clock for all of them, and a tenth of them at a
// time, so that ten thousand do not keep everybody else waiting.

import { Roster } from '../base/roster.ts';
import type { Cover } from './cover.ts';

const ROUND_MS = 1_000; // a checkpoint is durable within two of them
const SLICES = 10;

export class Covers {
  readonly #covers = new Roster<Cover>();
  #slice = 0;
  #timer: ReturnType<typeof setInterval> | null = null;

  add(cover: Cover): void {
    this.#covers.add(cover);
    this.#timer ??= setInterval(() => this.#look(), ROUND_MS / SLICES);
  }

  remove(cover: Cover): void {
    this.#covers.remove(cover);
  }

  #look(): void {
    this.#slice = (this.#slice + 1) % SLICES;
    for (const cover of this.#covers.list()) if (cover.place % SLICES === this.#slice) lookAt(cover);
    if (this.#covers.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }
}

/** A mistake of our own about one message must not end the others: it has its hold, and its end. */
function lookAt(cover: Cover): void {
  try {
    cover.look();
  } catch {
    // It is looked at again in a second.
  }
}
