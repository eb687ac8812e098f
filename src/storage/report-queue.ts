// Questions for reports that wait for their turn: bounded, with a share for each asker. Askers take
// turns, so that one with a hundred questions delays another by one of them.

import type { Asking } from '../base/asking.ts';
import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';

/** What every question has, whatever it asks. */
export interface Waiting {
  asker: string;
  resolve(answer: unknown): void;
  reject(failure: unknown): void;
}

/**
 * The answer to a question that `enqueue` puts into the queue. The waiting is given up when nobody wants the answer any
 * more, and when it takes longer than `waitMsMax`.
 */
export function awaitAnswer<Value, Question extends Waiting>(
  { queue, waitMsMax }: { queue: ReportQueue<Question>; waitMsMax: number },
  asking: Asking | undefined,
  makeQuestion: (waiting: Waiting) => Question,
  enqueue: (question: Question) => void,
): Promise<Value> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const question = makeQuestion({ asker: asking?.asker ?? 'service', resolve, reject });
  const giveUp = (why: TurnpikeError) => {
    queue.remove(question);
    reject(why);
  };
  const leave = () => giveUp(new TurnpikeError('request_timeout', 'The caller did not wait for the answer.'));
  const timer = setTimeout(() => giveUp(tooManyReports()), waitMsMax);
  const stopWaiting = () => {
    clearTimeout(timer);
    asking?.signal.removeEventListener('abort', leave);
  };
  promise.then(stopWaiting, stopWaiting);
  if (asking?.signal.aborted) leave();
  else enqueue(question);
  asking?.signal.addEventListener('abort', leave);
  return promise as Promise<Value>;
}

export class ReportQueue<Question extends Waiting> {
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
