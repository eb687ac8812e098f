// Questions that wait for the reports' thread: bounded, with a share for each asker. Askers take
// turns, so that one with a hundred questions delays another by one of them.

import { bounds } from '../../config.ts';
import { TurnpikeError } from '../../errors.ts';

export class ReportQueue<Question extends { asker: string }> {
  /** The questions of each asker, oldest first; the asker whose turn is next stands first. */
  readonly #shares = new Map<string, Question[]>();
  #size = 0;

  /** Throws overloaded when the queue, or the asker's share of it, is full. */
  add(question: Question): void {
    const share = this.#shares.get(question.asker) ?? [];
    if (this.#size >= bounds.reportQueueMax || share.length >= bounds.reportQueuePerAskerMax) throw tooManyReports();
    share.push(question);
    this.#shares.set(question.asker, share);
    this.#size++;
  }

  /** Takes the next one out; null when none waits. */
  take(): Question | null {
    const [turn] = this.#shares;
    if (turn === undefined) return null;
    const [asker, share] = turn;
    const question = share.shift() as Question;
    this.#shares.delete(asker);
    if (share.length > 0) this.#shares.set(asker, share); // behind the others
    this.#size--;
    return question;
  }

  /** One that nobody waits for any more. It may have been taken already. */
  remove(question: Question): void {
    const share = this.#shares.get(question.asker);
    const at = share?.indexOf(question) ?? -1;
    if (share === undefined || at < 0) return;
    share.splice(at, 1);
    if (share.length === 0) this.#shares.delete(question.asker);
    this.#size--;
  }
}

/** 529, to be asked again. */
export function tooManyReports(): TurnpikeError {
  return new TurnpikeError('overloaded', 'Too many lists and reports are asked for at the moment. Try again shortly.', {
    retryAfterMs: bounds.reportRetryMs,
  });
}
