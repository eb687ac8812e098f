// The reports' thread as the main thread sees it. It begins with the first question and is begun
// again when it dies: reports are not money. One question is under way at a time; the others wait
// here, where they can still be given up.

import type { Asking } from '../../base/asking.ts';
import { bounds } from '../../config.ts';
import { awaitAnswer, ReportQueue, type Waiting } from '../report-queue.ts';
import type { ReportReads } from './report-reads.ts';
import { type ReportName, readAnswer, readOpening, reportsGone, type ToReports } from './report-text.ts';

interface Question extends Waiting {
  report: ReportName;
  page: unknown;
}

export class ReportThread {
  /** The same reads as over one connection, over there. Throw overloaded when too many wait, or one for too long. */
  readonly reads: ReportReads = {
    listUsage: (page, asking) => this.#ask('listUsage', page, asking),
    searchUsage: (search, asking) => this.#ask('searchUsage', search, asking),
    totalUsage: (question, asking) => this.#ask('totalUsage', question, asking),
    topUsage: (question, asking) => this.#ask('topUsage', question, asking),
    readTimeline: (question, asking) => this.#ask('readTimeline', question, asking),
    listEntries: (page, asking) => this.#ask('listEntries', page, asking),
    listHolds: (page, asking) => this.#ask('listHolds', page, asking),
    readMonth: (question, asking) => this.#ask('readMonth', question, asking),
    listAudit: (page, asking) => this.#ask('listAudit', page, asking),
  };
  readonly #script: URL;
  readonly #path: string;
  readonly #onDeath: (cause: unknown) => void;
  readonly #waitMsMax: number;
  readonly #queue = new ReportQueue<Question>();
  #worker: Worker | null = null;
  #isOpen = false;
  #isClosed = false;
  #underWay: Question | null = null;

  /** `script` is the thread's, `path` the database's. `onDeath` is told of each; the next question begins it again. */
  constructor(
    script: URL,
    path: string,
    onDeath: (cause: unknown) => void,
    waitMsMax: number = bounds.reportWaitMsMax,
  ) {
    this.#script = script;
    this.#path = path;
    this.#onDeath = onDeath;
    this.#waitMsMax = waitMsMax;
  }

  /** Ends the thread. What waits fails as it does when the store is gone. */
  close(): void {
    this.#isClosed = true;
    this.#end('the service stops');
    this.#failWaiting('the service stops');
  }

  #ask<Value>(report: ReportName, page: unknown, asking?: Asking): Promise<Value> {
    return awaitAnswer(
      { queue: this.#queue, waitMsMax: this.#waitMsMax },
      asking,
      (waiting): Question => ({ ...waiting, report, page }),
      (question) => this.#enqueue(question),
    );
  }

  #enqueue(question: Question): void {
    try {
      if (this.#isClosed) throw reportsGone('the service stops');
      this.#queue.add(question);
      this.#next();
    } catch (failure) {
      question.reject(failure);
    }
  }

  #next(): void {
    if (this.#underWay !== null || this.#isClosed) return;
    const question = this.#queue.take();
    if (question === null) return;
    this.#underWay = question;
    if (this.#worker === null) this.#begin();
    else if (this.#isOpen) this.#send({ report: question.report, page: question.page });
  }

  #begin(): void {
    const worker = new Worker(this.#script.href, { smol: true });
    this.#worker = worker;
    worker.onmessage = ({ data }) => (this.#isOpen ? void this.#receive(data) : this.#open(data));
    worker.onerror = (event) => this.#die(worker, event.message);
    worker.addEventListener('close', () => this.#die(worker, 'the thread of the reports ended'));
    this.#send({ open: { path: this.#path } });
  }

  #send(message: ToReports): void {
    this.#worker?.postMessage(JSON.stringify(message));
  }

  /** A database that cannot be opened is tried again by the next question, not by those that wait. */
  #open(text: string): void {
    const { opened, cause } = readOpening(text);
    if (!opened) {
      this.#end(cause);
      this.#failWaiting(cause);
      return;
    }
    this.#isOpen = true;
    if (this.#underWay !== null) this.#send({ report: this.#underWay.report, page: this.#underWay.page });
  }

  async #receive(text: string): Promise<void> {
    const question = this.#underWay;
    const worker = this.#worker;
    try {
      question?.resolve(await readAnswer(text));
    } catch (failure) {
      question?.reject(failure);
    }
    // It costs this thread as much again to be written out, so the next one comes a while later.
    await Bun.sleep(Math.ceil(text.length / bounds.reportCharactersPerMs));
    if (this.#worker !== worker) return; // it died meanwhile, and another has the next question
    this.#underWay = null;
    this.#next();
  }

  #die(worker: Worker, cause: unknown): void {
    if (this.#worker !== worker) return; // it was ended here, or its death is known
    const wasOpen = this.#isOpen;
    this.#end(cause);
    this.#onDeath(cause);
    if (!wasOpen) this.#failWaiting(cause);
    this.#next();
  }

  /** The question that is under way is lost with the thread: it may be what it died of. */
  #end(cause: unknown): void {
    const worker = this.#worker;
    this.#worker = null;
    this.#isOpen = false;
    worker?.terminate();
    this.#underWay?.reject(reportsGone(cause));
    this.#underWay = null;
  }

  #failWaiting(cause: unknown): void {
    for (let question = this.#queue.take(); question !== null; question = this.#queue.take())
      question.reject(reportsGone(cause));
  }
}
