// The sign-in thread as the main thread sees it. Starts with the first question, so that an installation without a
// console has none, and restarts when it dies. Questions run concurrently: a slow issuer does not delay password
// sign-ins.

import { bounds } from '../config/config.ts';
import { overloaded, TurnpikeError } from '../errors.ts';
import type { Admission, FromSignIn, Refusal, SignInQuestion, SignInSettings, ToSignIn } from './messages.ts';

export interface ThreadParts {
  script: URL;
  settings: SignInSettings;
  /** Called before a session is created. */
  admit(admission: Admission): Promise<Refusal>;
  /** Called when the thread dies, and for failures inside it. */
  report(event: 'sign_in_thread_failed' | 'sign_in_failure', cause: string): void;
}

interface Question {
  question: SignInQuestion;
  resolve(value: unknown): void;
  reject(failure: unknown): void;
  stopWaiting(): void;
}

export class SignInThread {
  readonly #parts: ThreadParts;
  readonly #waitMsMax: () => number;
  readonly #questions = new Map<number, Question>();
  #asked = 0;
  #worker: Worker | null = null;
  #isOpen = false;
  #isClosed = false;
  /** When the thread last responded. */
  #heardMs = 0;
  #restUntilMs = 0;

  /** `waitMsMax`: how long a question waits for its answer. */
  constructor(parts: ThreadParts, waitMsMax = () => bounds.signInWaitMsMax as number) {
    this.#parts = parts;
    this.#waitMsMax = waitMsMax;
  }

  /**
   * Throws overloaded if too many questions wait; store_unavailable if there is no answer, or the question failed.
   */
  ask<Value>(question: SignInQuestion): Promise<Value> {
    if (this.#isClosed || performance.now() < this.#restUntilMs)
      return Promise.reject(unavailable('the sign-in thread does not start'));
    if (this.#questions.size >= bounds.signInQuestionsMax)
      return Promise.reject(overloaded('Too many sign-ins are in progress. Try again shortly.'));
    const id = ++this.#asked;
    const askedMs = performance.now();
    return new Promise<Value>((resolve, reject) => {
      const timer = setTimeout(() => this.#giveUp(id, askedMs), this.#waitMsMax());
      const waiting = {
        question,
        resolve: resolve as (value: unknown) => void,
        reject,
        stopWaiting: () => clearTimeout(timer),
      };
      this.#questions.set(id, waiting);
      if (this.#worker === null) this.#begin();
      else if (this.#isOpen) this.#send({ id, question });
    });
  }

  /** Ends the thread. Waiting questions fail with store_unavailable. */
  close(): void {
    this.#isClosed = true;
    this.#end('the service is shutting down');
  }

  #begin(): void {
    const worker = new Worker(this.#parts.script.href, { smol: true });
    this.#worker = worker;
    this.#heardMs = performance.now();
    worker.onmessage = ({ data }) => this.#receive(worker, JSON.parse(data));
    worker.onerror = (event) => this.#die(worker, event.message);
    worker.addEventListener('close', () => this.#die(worker, 'the sign-in thread ended'));
    this.#send({ open: this.#parts.settings });
  }

  #receive(worker: Worker, message: FromSignIn): void {
    if (this.#worker !== worker) return;
    this.#heardMs = performance.now();
    if ('opened' in message) this.#open();
    else if ('failed' in message) this.#die(worker, message.failed);
    else if ('asks' in message) void this.#admit(worker, message.admission, message.asks);
    else if ('reported' in message) this.#parts.report('sign_in_failure', message.reported);
    else if ('failure' in message) this.#settle(message.id)?.reject(unavailable(message.failure));
    else this.#settle(message.id)?.resolve(message.answer);
  }

  #open(): void {
    this.#isOpen = true;
    for (const [id, { question }] of this.#questions) this.#send({ id, question });
  }

  async #admit(worker: Worker, admission: number, asks: Admission): Promise<void> {
    const refusal = await this.#parts.admit(asks).catch((failure): Refusal => {
      this.#parts.report('sign_in_failure', String(failure));
      return 'store_unavailable';
    });
    if (this.#worker === worker) this.#send({ admission, refusal });
  }

  #send(message: ToSignIn): void {
    this.#worker?.postMessage(JSON.stringify(message));
  }

  /** A thread that has not responded since then is hanging, and is replaced. */
  #giveUp(id: number, askedMs: number): void {
    const worker = this.#worker;
    this.#settle(id)?.reject(unavailable('no answer within the time limit'));
    if (worker !== null && this.#heardMs < askedMs) this.#die(worker, 'the sign-in thread does not respond');
  }

  #die(worker: Worker, cause: unknown): void {
    if (this.#worker !== worker) return; // the thread was ended here, or its end was already handled
    if (!this.#isOpen) this.#restUntilMs = performance.now() + bounds.signInRestartMs;
    this.#end(cause);
    this.#parts.report('sign_in_thread_failed', cause instanceof Error ? cause.message : String(cause));
  }

  /** All questions in progress fail with the thread: one of them may be the cause. */
  #end(cause: unknown): void {
    const worker = this.#worker;
    this.#worker = null;
    this.#isOpen = false;
    worker?.terminate();
    for (const id of [...this.#questions.keys()]) this.#settle(id)?.reject(unavailable(cause));
  }

  #settle(id: number): Question | undefined {
    const question = this.#questions.get(id);
    this.#questions.delete(id);
    question?.stopWaiting();
    return question;
  }
}

function unavailable(cause: unknown): TurnpikeError {
  return new TurnpikeError('store_unavailable', 'Sign-in is temporarily unavailable. Try again shortly.', {
    cause,
  });
}
