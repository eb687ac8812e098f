// The thread of sign-in: better-auth over a database of its own. What fails here is no message's: the main thread begins
// it again.

import { type Auth, openAuth } from './auth/auth.ts';
import { bounds } from './config.ts';
import type { Admission, FromSignIn, Refusal, SignInSettings, ToSignIn } from './sign-in/sign-in.ts';
import type { SignInDatabase } from './storage/storage.ts';

declare const self: Worker;

let auth: Auth | null = null;
let admissions = 0;
/** Those that the main thread has not decided yet. */
const asked = new Map<number, (refusal: Refusal) => void>();

listenToLibraries();

self.onmessage = async ({ data }: MessageEvent<string>) => {
  const message = JSON.parse(data) as ToSignIn;
  if ('open' in message) await open(message.open);
  else if ('admission' in message) decide(message.admission, message.refusal);
  else await answer(message.id, message.question);
};

/** What libraries print belongs into the log, and its lines are not theirs to write. */
function listenToLibraries(): void {
  const tell = (...said: unknown[]) => {
    const words = said.map((one) => (one instanceof Error ? one.message : String(one))).join(' ');
    post({ told: words.slice(0, bounds.logLineCharactersMax) });
  };
  Object.assign(console, { log: tell, info: tell, warn: tell, error: tell, debug: tell });
}

async function open(settings: SignInSettings): Promise<void> {
  try {
    const database = await openDatabase(settings.store);
    auth = await openAuth({ settings, database, admit, tell: (words) => post({ told: words }) });
    post({ opened: true });
  } catch (failure) {
    post({ failed: String(failure) });
  }
}

/** Only that which is used is loaded. */
async function openDatabase(store: SignInSettings['store']): Promise<SignInDatabase> {
  if ('path' in store) return (await import('./storage/sqlite/sqlite.ts')).openSignIn(store.path);
  return (await import('./storage/postgres/postgres.ts')).openSignIn(store.url);
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
    asked.set(admission, resolve);
    post({ admission, asks });
  });
}

function decide(admission: number, refusal: Refusal): void {
  asked.get(admission)?.(refusal);
  asked.delete(admission);
}

function post(message: FromSignIn): void {
  self.postMessage(JSON.stringify(message));
}
