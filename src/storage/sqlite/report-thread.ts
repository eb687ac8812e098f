// The reports' thread as the main thread sees it. It begins with the first question and is begun
// again when it dies: reports are not money. One question is under way at a time; the others wait
// here, where they can still be given up.

import type { Asking } from '../../base/asking.ts';
import { bounds } from '../../config.ts';
import { TurnpikeError } from '../../errors.ts';
import { ReportQueue, tooManyReports } from './report-queue.ts';
import type { ReportReads } from './report-reads.ts';
import { type FromReports, type ReportName, readAnswer, reportsGone, type ToReports } from './report-text.ts';

interface Question {
  asker: string;
  report: ReportName;
  page: unknown;
  /** Ends the waiting, once: with what came from the thread, or without it. */
  finish(answer: FromReports | Error): void;
}

export class ReportThread {
  /** The same reads as those of one connection, over there. Throw overloaded when too many wait, or one for too long. */
  readonly reads: ReportReads = {
    listUsage: (page, asking) => this.#ask('listUsage', page, asking),
    totalUsage: (question, asking) => this.#ask('totalUsage', question, asking),
    listEntries: (page, asking) => this.#ask('listEntries', page, asking),
    listAudit: (page, asking) => this.#ask('listAudit', page, asking),
  };
  readonly #script: URL;
  readonly #path: string;
  readonly #onDeath: (cause: unknown) => void;
  readonly #queue = new ReportQueue<Question>();
  #worker: Worker | null = null;
  #isOpen = false;
  #isClosed = false;
  #underWay: Question | null = null;

  /** `script` is the thread's, `path` the database's. `onDeath` is told of each; the next question begins it again. */
  constructor(script: URL, path: string, onDeath: (cause: unknown) => void) {
    this.#script = script;
    this.#path = path;
    this.#onDeath = onDeath;
  }

  /** Ends the thread. What waits fails as a store that is gone does. */
  close(): void {
    this.#isClosed = true;
    this.#end('the service stops');
    this.#failWaiting('the service stops');
  }

  #ask<Value>(report: ReportName, page: unknown, asking?: Asking): Promise<Value> {
    return new Promise((resolve, reject) => {
      const giveUp = (why: TurnpikeError) => {
        this.#queue.remove(question);
        question.finish(why);
      };
      const leave = () => giveUp(new TurnpikeError('request_timeout', 'The caller did not wait for the answer.'));
      const timer = setTimeout(() => giveUp(tooManyReports()), bounds.reportWaitMsMax);
      const question: Question = {
        asker: asking?.asker ?? 'service',
        report,
        page,
        finish(answer) {
          clearTimeout(timer);
          asking?.signal.removeEventListener('abort', leave);
          try {
            if (answer instanceof Error) throw answer;
            resolve(readAnswer(report, answer) as Value);
          } catch (failure) {
            reject(failure);
          }
        },
      };
      try {
        this.#queue.add(question);
      } catch (failure) {
        question.finish(failure as Error);
        return;
      }
      asking?.signal.addEventListener('abort', leave);
      if (asking?.signal.aborted) leave();
      this.#next();
    });
  }

  #next(): void {
    if (this.#underWay !== null || this.#isClosed) return;
    const question = this.#queue.take();
    if (question === null) return;
    this.#underWay = question;
    if (this.#worker === null) this.#begin();
    else if (this.#isOpen) this.#send(question);
  }

  #begin(): void {
    const worker = new Worker(this.#script.href, { smol: true });
    this.#worker = worker;
    worker.onmessage = ({ data }) => this.#receive(JSON.parse(data) as FromReports);
    worker.onerror = (event) => this.#die(worker, event.message);
    worker.addEventListener('close', () => this.#die(worker, 'the thread of the reports ended'));
    worker.postMessage(JSON.stringify({ open: { path: this.#path } } satisfies ToReports));
  }

  #send({ report, page }: Question): void {
    this.#worker?.postMessage(JSON.stringify({ report, page } satisfies ToReports));
  }

  #receive(message: FromReports): void {
    if ('opened' in message) {
      this.#isOpen = true;
      if (this.#underWay !== null) this.#send(this.#underWay);
      return;
    }
    if (!this.#isOpen) this.#failOpening(message);
    const question = this.#underWay;
    this.#underWay = null;
    question?.finish(message);
    this.#next();
  }

  /** A database that cannot be opened now is tried again by the next question, not by those that wait. */
  #failOpening(message: FromReports): void {
    const cause = 'failed' in message ? message.failed : 'no answer came';
    this.#end(cause);
    this.#failWaiting(cause);
  }

  #die(worker: Worker, cause: unknown): void {
    if (this.#worker !== worker) return; // it was ended here, or has told of its death before
    const hadOpened = this.#isOpen;
    this.#end(cause);
    this.#onDeath(cause);
    if (!hadOpened) this.#failWaiting(cause);
    this.#next();
  }

  /** The question that is under way is lost with the thread: it may be what it died of. */
  #end(cause: unknown): void {
    const worker = this.#worker;
    this.#worker = null;
    this.#isOpen = false;
    worker?.terminate();
    const question = this.#underWay;
    this.#underWay = null;
    question?.finish(reportsGone(cause));
  }

  #failWaiting(cause: unknown): void {
    for (let question = this.#queue.take(); question !== null; question = this.#queue.take())
      question.finish(reportsGone(cause));
  }
}
