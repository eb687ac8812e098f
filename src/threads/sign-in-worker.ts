// The sign-in thread: better-auth over a database of its own. When it fails, messages go on and the main thread restarts
// it.

import { type Auth, openAuth } from '../auth/auth.ts';
import { bounds } from '../config/config.ts';
import type { Admission, FromSignIn, Refusal, SignInSettings, ToSignIn } from '../sign-in/sign-in.ts';
import type { SignInDatabase } from '../storage/storage.ts';

declare const self: Worker;

let auth: Auth | null = null;
let admissions = 0;
/** Admissions that the main thread has not decided yet. */
const pending = new Map<number, (refusal: Refusal) => void>();

captureConsole();

self.onmessage = async ({ data }: MessageEvent<string>) => {
  const message = JSON.parse(data) as ToSignIn;
  if ('open' in message) await open(message.open);
  else if ('admission' in message) decide(message.admission, message.refusal);
  else await answer(message.id, message.question);
};

/** Redirects what libraries print to the log of the main thread. */
function captureConsole(): void {
  const log = (...printed: unknown[]) => {
    const words = printed.map((one) => (one instanceof Error ? one.message : String(one))).join(' ');
    post({ reported: words.slice(0, bounds.logLineCharactersMax) });
  };
  Object.assign(console, { log, info: log, warn: log, error: log, debug: log });
}

async function open(settings: SignInSettings): Promise<void> {
  try {
    const database = await openDatabase(settings.store);
    auth = await openAuth({ settings, database, admit, tell: (words) => post({ reported: words }) });
    post({ opened: true });
  } catch (failure) {
    post({ failed: String(failure) });
  }
}

/** Loads only the store that is used. */
async function openDatabase(store: SignInSettings['store']): Promise<SignInDatabase> {
  if ('path' in store) return (await import('../storage/sqlite/sqlite.ts')).openSignIn(store.path);
  return (await import('../storage/postgres/postgres.ts')).openSignIn(store.url);
}

async function answer(id: number, question: Parameters<Auth['answer']>[0]): Promise<void> {
  try {
    post({ id, answer: await (auth as Auth).answer(question) });
  } catch (failure) {
    post({ id, failure: String(failure) });
  }
}

function admit(asks: Admission): Promise<Refusal> {
  const admission = ++admissions;
  return new Promise((resolve) => {
    pending.set(admission, resolve);
    post({ admission, asks });
  });
}

function decide(admission: number, refusal: Refusal): void {
  pending.get(admission)?.(refusal);
  pending.delete(admission);
}

function post(message: FromSignIn): void {
  self.postMessage(JSON.stringify(message));
}
