// One attempt of a message at one target. Its abort signal stops the upstream request.

import type { Permit, Target } from './route-health.ts';

export class OpenAttempt {
  readonly target: Target;
  readonly permit: Permit;
  readonly startedMs = performance.now();
  readonly #controller = new AbortController();
  /** The text of the timeout error, by the limit that was exceeded. */
  lateWords = 'no response within the time limit';
  /** As reported by the provider; null until then. */
  upstreamRequestId: string | null = null;

  constructor(target: Target, permit: Permit) {
    this.target = target;
    this.permit = permit;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(): void {
    this.#controller.abort();
  }
}
