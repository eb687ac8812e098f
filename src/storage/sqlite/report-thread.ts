// The report thread as the main thread sees it. It starts with the first query and is restarted when it dies:
// reports do not affect money. One query runs at a time; the others wait here, where they can still be
// canceled.

import { nextTurn, type Requester } from '../../base/timers.ts';
import { bounds } from '../../config/config.ts';
import { type ErrorCode, errorTable, TurnpikeError } from '../../errors.ts';
import { makeReports, ReportQueue } from '../report-reads.ts';
import type { ReportReads } from '../stores.ts';

type ReportName = keyof ReportReads;

/** Messages to the thread: the database to open, then queries, one at a time. */
export type ToReports = { open: { path: string } } | { report: ReportName; page: unknown };

/** The first line of an answer; the rows of a list follow. `refused`: the query itself is at fault. */
type Heading =
  | { opened: true }
  | { failed: string }
  | { refused: { code: ErrorCode; message: string } }
  | { value: unknown }
  /** `more` has the other members of the answer, if it is not a list. */
  | { rows: number; more?: object };

/** Runs one query and returns the text to send back. Never throws. */
export async function answerReport(
  reads: ReportReads,
  { report, page }: { report: ReportName; page: unknown },
): Promise<string> {
  try {
    const answer = await reads[report](page as never);
    if (Array.isArray(answer)) return writeRows(answer, {});
    if (answer === null || !('next' in answer)) return heading({ value: answer });
    const { rows, ...more } = answer;
    return writeRows(rows, { more });
  } catch (failure) {
    if (!(failure instanceof TurnpikeError)) return heading({ failed: String(failure) });
    return heading({ refused: { code: failure.code, message: failure.message } });
  }
}

/** Reports that the database is open, or why not. */
export function heading(heading: Heading): string {
  return JSON.stringify(heading, (_, value) => (typeof value === 'bigint' ? { [BIGINT]: String(value) } : value));
}

/** JSON cannot represent integers beyond 2^53, which sums may be. */
const BIGINT = '$bigint';

function readHeading(text: string): Heading {
  return JSON.parse(text, (_, value) => (value?.[BIGINT] === undefined ? value : BigInt(value[BIGINT])));
}

function writeRows(rows: readonly unknown[], others: { more?: object }): string {
  const lines = [heading({ rows: rows.length, ...others })];
  for (let at = 0; at < rows.length; at += bounds.rowsAtOnce)
    lines.push(JSON.stringify(rows.slice(at, at + bounds.rowsAtOnce)));
  return lines.join('\n');
}

/** The value of an answer. Throws the error it contains. */
async function readAnswer(text: string): Promise<unknown> {
  const [first = '', ...lines] = text.split('\n');
  const said = readHeading(first);
  if ('value' in said) return said.value;
  if ('refused' in said && said.refused.code in errorTable)
    throw new TurnpikeError(said.refused.code, said.refused.message);
  if (!('rows' in said)) throw reportsUnavailable('failed' in said ? said.failed : 'no response');
  const rows: unknown[] = [];
  for (const [at, line] of lines.entries()) {
    if (at > 0) await nextTurn();
    rows.push(...(JSON.parse(line) as unknown[]));
  }
  return said.more === undefined ? rows : { rows, ...said.more };
}

/** Whether the thread opened its database; else the reason. */
function readOpening(text: string): { opened: boolean; cause: string } {
  const said = readHeading(text);
  return { opened: 'opened' in said, cause: 'failed' in said ? said.failed : 'no response' };
}

function reportsUnavailable(cause: unknown): TurnpikeError {
  return new TurnpikeError('store_unavailable', 'The store cannot be read.', { cause });
}

interface Question {
  report: ReportName;
  page: unknown;
  resolve(answer: unknown): void;
  reject(failure: unknown): void;
  /** Lets the next query run. */
  end(): void;
}

export class ReportThread {
  /** The same reads as over one connection. Throw overloaded if too many wait, or one waits too long. */
  readonly reads = makeReports((report, question, requester) => this.#ask(report, question, requester));
  readonly #script: URL;
  readonly #path: string;
  readonly #onDeath: (cause: unknown) => void;
  readonly #queue: ReportQueue;
  #worker: Worker | null = null;
  #isOpen = false;
  #isClosed = false;
  #inProgress: Question | null = null;
  /** Threads that ended before they could answer. */
  #failedOpenings = 0;

  /**
   * `script` is the thread's script, `path` the database. `onDeath` is called when the thread dies; the next query
   * restarts it.
   */
  constructor(script: URL, path: string, onDeath: (cause: unknown) => void, waitMsMax?: number) {
    this.#script = script;
    this.#path = path;
    this.#onDeath = onDeath;
    this.#queue = new ReportQueue(1, waitMsMax);
  }

  /** Ends the thread. Waiting queries fail with store_unavailable. */
  close(): void {
    this.#isClosed = true;
    this.#end('the service is stopping');
  }

  #ask(report: ReportName, page: unknown, requester: Requester | undefined): Promise<unknown> {
    const failedOpenings = this.#failedOpenings;
    return this.#queue.run(requester, (end) => {
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      const question = { report, page, resolve, reject, end };
      if (this.#isClosed) fail(question, 'the service is stopping');
      else if (this.#failedOpenings > failedOpenings) fail(question, 'the database could not be opened');
      else this.#start(question);
      return promise;
    });
  }

  #start(question: Question): void {
    this.#inProgress = question;
    if (this.#worker === null) this.#begin();
    else if (this.#isOpen) this.#send({ report: question.report, page: question.page });
  }

  #begin(): void {
    const worker = new Worker(this.#script.href, { smol: true });
    this.#worker = worker;
    worker.onmessage = ({ data }) => (this.#isOpen ? void this.#receive(data) : this.#open(data));
    worker.onerror = (event) => this.#die(worker, event.message);
    worker.addEventListener('close', () => this.#die(worker, 'the report thread exited'));
    this.#send({ open: { path: this.#path } });
  }

  #send(message: ToReports): void {
    this.#worker?.postMessage(JSON.stringify(message));
  }

  /** If the database cannot be opened, queries that wait fail, and later ones try again. */
  #open(text: string): void {
    const { opened, cause } = readOpening(text);
    if (!opened) {
      this.#end(cause);
      return;
    }
    this.#isOpen = true;
    if (this.#inProgress !== null) this.#send({ report: this.#inProgress.report, page: this.#inProgress.page });
  }

  async #receive(text: string): Promise<void> {
    const question = this.#inProgress;
    const worker = this.#worker;
    try {
      question?.resolve(await readAnswer(text));
    } catch (failure) {
      question?.reject(failure);
    }
    // Writing it out costs this thread as much again, so the next query waits.
    await Bun.sleep(Math.ceil(text.length / bounds.reportCharactersPerMs));
    if (this.#worker !== worker) return; // it died meanwhile, which ended the query
    this.#inProgress = null;
    question?.end();
  }

  #die(worker: Worker, cause: unknown): void {
    if (this.#worker !== worker) return; // it was ended here, or its death is known
    this.#onDeath(cause);
    this.#end(cause);
  }

  /** The running query fails with the thread: it may be the cause. */
  #end(cause: unknown): void {
    const worker = this.#worker;
    if (!this.#isOpen) this.#failedOpenings++;
    this.#worker = null;
    this.#isOpen = false;
    worker?.terminate();
    const question = this.#inProgress;
    this.#inProgress = null;
    if (question !== null) fail(question, cause);
  }
}

function fail(question: Question, cause: unknown): void {
  question.reject(reportsUnavailable(cause));
  question.end();
}
