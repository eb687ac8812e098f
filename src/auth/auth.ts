// The door of authentication: better-auth in the sign-in thread, which answers requests of the main thread. The main
// thread decides whether to allow each session; rights are unknown here.

import { getMigrations } from 'better-auth/db/migration';
import { collectBytes } from '../base/collect-bytes.ts';
import { bounds, PASSWORD_COST } from '../config/config.ts';
import type { Admission, FoundSession, Proof, Refusal, SignInQuestion, SignInSettings } from '../sign-in/sign-in.ts';
import type { SignInDatabase } from '../storage/storage.ts';
import { answerRequest, endSession } from './answer-request.ts';
import { changeEmail, forgetIdentity } from './identities.ts';
import { type BetterAuth, makeAuth } from './make-auth.ts';
import { findPasswordFault } from './password-strength.ts';
import { endSessions, findPasswordHash, forgetPassword, PasswordHashing, setPassword } from './passwords.ts';

type Fetch = (input: string | URL | Request, init?: BunFetchRequestInit) => Promise<Response>;

/** Nothing is fetched before the returned function is called: a silent issuer must not delay password sign-ins. */
function boundFetching({ authorities }: SignInSettings): () => void {
  const tls = authorities === null ? {} : { tls: { ca: [...authorities] } };
  const fetchUnbound: Fetch = globalThis.fetch;
  let isAllowed = false;
  const fetchBound: Fetch = async (input, init) => {
    if (!isAllowed) throw new Error('the issuer is only called for a single sign-on');
    const limit = AbortSignal.timeout(bounds.issuerAnswerMsMax);
    const signal = init?.signal ? AbortSignal.any([init.signal, limit]) : limit;
    const answer = await fetchUnbound(input, { ...init, ...tls, signal });
    return new Response(await readBounded(answer), { status: answer.status, headers: answer.headers });
  };
  globalThis.fetch = Object.assign(fetchBound, { preconnect: globalThis.fetch.preconnect });
  return () => {
    isAllowed = true;
  };
}

async function readBounded(answer: Response): Promise<Uint8Array<ArrayBuffer> | null> {
  if (answer.body === null || [204, 304].includes(answer.status)) return null;
  const tooLarge = () => new Error('the response of the issuer is too large');
  return new Uint8Array(await collectBytes(answer.body, bounds.issuerAnswerBytesMax, tooLarge));
}

export interface AuthParts {
  settings: SignInSettings;
  database: SignInDatabase;
  admit(admission: Admission): Promise<Refusal>;
  tell(words: string): void;
}

export interface Auth {
  /** The answer as JSON values. Rejects with the cause of a failure. */
  answer(question: SignInQuestion): Promise<unknown>;
}

/** Brings the tables up to date, for `turnpike migrate`. They are the same whatever the settings. */
export async function migrateSignIn(database: SignInDatabase): Promise<void> {
  const secret = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64'); // nothing is sealed with it
  const settings = {
    store: { path: '' },
    secret,
    publicUrl: null,
    issuers: [],
    authorities: null,
    passwordCost: PASSWORD_COST,
  };
  const hashing = new PasswordHashing(PASSWORD_COST);
  const admit = () => Promise.reject(new Error('nobody signs in during a migration'));
  await makeTables(makeAuth({ settings, database, hashing, admit, tell: () => {} }), database);
}

/** A role that may not create tables works with those that `turnpike migrate` made. */
async function makeTables({ options }: BetterAuth, database: SignInDatabase): Promise<void> {
  const { toBeCreated, toBeAdded, toBeAddedIndexes } = await getMigrations(options);
  const left = toBeCreated.length + toBeAdded.length + toBeAddedIndexes.length;
  if (left === 0 && (await database.throttle.hasTable())) return;
  await database.migrateTogether(async () => {
    const { runMigrations } = await getMigrations(options);
    await runMigrations();
    await database.throttle.makeTable();
  });
}

/** Creates its tables. Rejects if the database is unavailable. */
export async function openAuth({ settings, database, admit, tell }: AuthParts): Promise<Auth> {
  const allowFetching = boundFetching(settings);
  const hashing = new PasswordHashing(settings.passwordCost);
  let isOpen = false;
  // Warnings before the first request to the issuer are not failures.
  const tellOnceOpen = (words: string) => isOpen && tell(words);
  const auth = makeAuth({ settings, database, hashing, admit, tell: tellOnceOpen });
  await makeTables(auth, database);
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
        case 'check-password':
          return findPasswordFault(question.chosen);
        case 'set-password':
          return setPassword(auth, hashing, question.person);
        case 'end-session':
          return endSession(auth, question.cookie);
        case 'end-sessions':
          return endSessions(auth, question.email);
        case 'forget-password':
          return forgetPassword(auth, question.email);
        case 'change-email':
          return changeEmail(auth, question.email, question.to);
        case 'forget-identity':
          return forgetIdentity(auth, question.email);
        case 'has-password':
          return findPasswordHash(auth, question.email.toLowerCase()).then((hash) => hash !== null);
        case 'count':
          return database.throttle.take(question.name, question.max, question.windowMs, Date.now());
      }
    },
  };
}

async function findSession(auth: BetterAuth, cookie: string): Promise<FoundSession | null> {
  const { headers, response } = await auth.api.getSession({ headers: new Headers({ cookie }), returnHeaders: true });
  if (response === null) return null;
  const { session, user } = response;
  const proof = (session as { proof?: Proof | null }).proof ?? (await earlierProof(auth, user.email));
  return {
    email: user.email,
    createdAtMs: session.createdAt.getTime(),
    proof,
    hasSecondFactor: (user as { twoFactorEnabled?: boolean | null }).twoFactorEnabled === true,
    cookies: headers.getSetCookie(),
  };
}

/** Sessions of earlier versions do not have it: then the weaker of the possible ones. */
async function earlierProof(auth: BetterAuth, email: string): Promise<Proof> {
  return (await findPasswordHash(auth, email)) === null ? 'single-sign-on' : 'password';
}

/** Deletes expired rows that may never be requested again. */
async function dropEnded(auth: BetterAuth, database: SignInDatabase): Promise<void> {
  const { adapter } = await auth.$context;
  const where = [{ field: 'expiresAt', operator: 'lt' as const, value: new Date() }];
  await adapter.deleteMany({ model: 'session', where });
  await adapter.deleteMany({ model: 'verification', where });
  await database.throttle.dropBefore(Date.now() - bounds.countedMs);
}
