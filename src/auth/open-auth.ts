// Opens what people are known by, and answers the questions of the main thread one by one, as they come.

import { getMigrations } from 'better-auth/db/migration';
import { bounds } from '../config.ts';
import type { Admission, Refusal, SignInQuestion, SignInSettings } from '../sign-in/sign-in.ts';
import type { SignInDatabase } from '../storage/storage.ts';
import { answerRequest } from './answer-request.ts';
import { boundFetching } from './fetch-issuer.ts';
import { PasswordHashing } from './hash-password.ts';
import { type BetterAuth, makeAuth } from './make-auth.ts';
import { endSessions, forgetPassword, setPassword } from './set-password.ts';

export interface AuthParts {
  settings: SignInSettings;
  database: SignInDatabase;
  admit(admission: Admission): Promise<Refusal>;
  tell(words: string): void;
}

export interface Auth {
  /** What answers the question, as values of JSON. Rejects with whatever keeps it from that. */
  answer(question: SignInQuestion): Promise<unknown>;
}

/** With its tables made. Rejects where the database cannot be had. */
export async function openAuth({ settings, database, admit, tell }: AuthParts): Promise<Auth> {
  const allowFetching = boundFetching();
  const hashing = new PasswordHashing();
  let isOpen = false;
  // What it cannot know before the issuer is asked is no fault.
  const tellOnceOpen = (words: string) => isOpen && tell(words);
  const auth = makeAuth({ settings, database, hashing, admit, tell: tellOnceOpen });
  await database.lockMigrations(async () => {
    const { runMigrations } = await getMigrations(auth.options);
    await runMigrations();
    await database.throttle.makeTable();
  });
  await auth.$context;
  allowFetching();
  isOpen = true;
  await dropEnded(auth, database);
  setInterval(() => void dropEnded(auth, database).catch((failure) => tell(String(failure))), bounds.dropEveryMs);
  return {
    answer(question) {
      switch (question.kind) {
        case 'handle':
          return answerRequest(auth, database.throttle, settings, question.request);
        case 'find-session':
          return findSession(auth, question.cookie);
        case 'set-password':
          return setPassword(auth, hashing, question.person);
        case 'end-sessions':
          return endSessions(auth, question.email);
        case 'forget-password':
          return forgetPassword(auth, question.email);
      }
    },
  };
}

async function findSession(auth: BetterAuth, cookie: string) {
  const { headers, response } = await auth.api.getSession({ headers: new Headers({ cookie }), returnHeaders: true });
  return response && { email: response.user.email, cookies: headers.getSetCookie() };
}

/** What has ended by itself is forgotten: nobody may ever ask for it again. */
async function dropEnded(auth: BetterAuth, database: SignInDatabase): Promise<void> {
  const { adapter } = await auth.$context;
  const where = [{ field: 'expiresAt', operator: 'lt' as const, value: new Date() }];
  await adapter.deleteMany({ model: 'session', where });
  await adapter.deleteMany({ model: 'verification', where });
  await database.throttle.dropBefore(Date.now() - bounds.dropEveryMs);
}
