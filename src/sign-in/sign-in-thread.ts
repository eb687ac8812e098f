// The thread of sign-in as the main thread sees it. It begins with the first question, so that an installation without a
// console has none, and is begun again when it dies. Questions are under way side by side: a slow issuer keeps nobody from a password.

import { bounds } from '../config.ts';
import { overloaded, TurnpikeError } from '../errors.ts';
import type { Admission, FromSignIn, Refusal, SignInQuestion, SignInSettings, ToSignIn } from './messages.ts';

export interface ThreadParts {
  script: URL;
  settings: SignInSettings;
  /** Asked before a session is made. */
  admit(admission: Admission): Promise<Refusal>;
  /** Told of each death, and of what fails inside. */
  tell(event: 'sign_in_thread_failed' | 'sign_in_failure', cause: string): void;
}

interface Question {
  question: SignInQuestion;
  resolve(value: unknown): void;
  reject(failure: unknown): void;
  stopWaiting(): void;
}

export class SignInThread {
  readonly #parts: ThreadParts;
  readonly #waitMsMax: number;
  readonly #questions = new Map<number, Question>();
  #asked = 0;
  #worker: Worker | null = null;
  #isOpen = false;
  #isClosed = false;
  /** When the thread last said anything. */
  #heardMs = 0;
  #restUntilMs = 0;

  constructor(parts: ThreadParts, waitMsMax: number = bounds.signInWaitMsMax) {
    this.#parts = parts;
    this.#waitMsMax = waitMsMax;
  }

  /** Throws overloaded where too much is asked; store_unavailable where there is no answer, or what was asked failed. */
  ask<Value>(question: SignInQuestion): Promise<Value> {
    if (this.#isClosed || performance.now() < this.#restUntilMs) return Promise.reject(gone('it does not begin'));
    if (this.#questions.size >= bounds.signInQuestionsMax)
      return Promise.reject(overloaded('Too many people sign in at the moment. Try again shortly.'));
    const id = ++this.#asked;
    const askedMs = performance.now();
    return new Promise<Value>((resolve, reject) => {
      const timer = setTimeout(() => this.#giveUp(id, askedMs), this.#waitMsMax);
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

  /** Ends the thread. What waits fails as it does when the store is gone. */
  close(): void {
    this.#isClosed = true;
    this.#end('the service stops');
  }

  #begin(): void {
    const worker = new Worker(this.#parts.script.href, { smol: true });
    this.#worker = worker;
    this.#heardMs = performance.now();
    worker.onmessage = ({ data }) => this.#receive(worker, JSON.parse(data));
    worker.onerror = (event) => this.#die(worker, event.message);
    worker.addEventListener('close', () => this.#die(worker, 'the thread of sign-in ended'));
    this.#send({ open: this.#parts.settings });
  }

  #receive(worker: Worker, message: FromSignIn): void {
    if (this.#worker !== worker) return;
    this.#heardMs = performance.now();
    if ('opened' in message) this.#open();
    else if ('failed' in message) this.#die(worker, message.failed);
    else if ('asks' in message) void this.#admit(worker, message.admission, message.asks);
    else if ('told' in message) this.#parts.tell('sign_in_failure', message.told);
    else if ('failure' in message) this.#settle(message.id)?.reject(gone(message.failure));
    else this.#settle(message.id)?.resolve(message.answer);
  }

  #open(): void {
    this.#isOpen = true;
    for (const [id, { question }] of this.#questions) this.#send({ id, question });
  }

  async #admit(worker: Worker, admission: number, asks: Admission): Promise<void> {
    const refusal = await this.#parts.admit(asks).catch((failure): Refusal => {
      this.#parts.tell('sign_in_failure', String(failure));
      return 'store_unavailable';
    });
    if (this.#worker === worker) this.#send({ admission, refusal });
  }

  #send(message: ToSignIn): void {
    this.#worker?.postMessage(JSON.stringify(message));
  }

  /** A thread that has said nothing at all meanwhile hangs, and another takes its place. */
  #giveUp(id: number, askedMs: number): void {
    const worker = this.#worker;
    this.#settle(id)?.reject(gone('no answer in time'));
    if (worker !== null && this.#heardMs < askedMs) this.#die(worker, 'the thread of sign-in does not answer');
  }

  #die(worker: Worker, cause: unknown): void {
    if (this.#worker !== worker) return; // it was ended here, or its death is known
    if (!this.#isOpen) this.#restUntilMs = performance.now() + bounds.signInRestartMs;
    this.#end(cause);
    this.#parts.tell('sign_in_thread_failed', cause instanceof Error ? cause.message : String(cause));
  }

  /** Whatever is under way is lost with the thread: it may be what it died of. */
  #end(cause: unknown): void {
    const worker = this.#worker;
    this.#worker = null;
    this.#isOpen = false;
    worker?.terminate();
    for (const id of [...this.#questions.keys()]) this.#settle(id)?.reject(gone(cause));
  }

  #settle(id: number): Question | undefined {
    const question = this.#questions.get(id);
    this.#questions.delete(id);
    question?.stopWaiting();
    return question;
  }
}

function gone(cause: unknown): TurnpikeError {
  return new TurnpikeError('store_unavailable', 'Signing in is not possible at the moment. Try again shortly.', {
    cause,
  });
}
