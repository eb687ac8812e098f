// Options of better-auth: its defaults are disabled unless needed here.

import { AsyncLocalStorage } from 'node:async_hooks';
import { type BetterAuthOptions, betterAuth } from 'better-auth';
import { APIError, createAuthMiddleware, getSessionFromCtx } from 'better-auth/api';
import { genericOAuth, twoFactor } from 'better-auth/plugins';
import { bounds } from '../config/config.ts';
import type { Admission, IssuerSettings, Proof, Refusal, SignInSettings } from '../sign-in/sign-in.ts';
import type { SignInDatabase } from '../storage/storage.ts';
import { findPasswordFault } from './password-strength.ts';
import { HashingCrowded, type PasswordHashing } from './passwords.ts';
import { isEmailVerified, readClaim } from './read-claims.ts';

export const AUTH_PATH = '/console/auth';
/** Only the main thread sets it. */
export const ADDRESS_HEADER = 'x-turnpike-address';
/** Only the main thread sets it: the name of the installation, URL-encoded. */
export const INSTALLATION_HEADER = 'x-turnpike-installation';
/** Used if no public URL is configured: no link is made with it. */
const NO_ORIGIN = 'http://console.invalid';

interface MakeParts {
  settings: SignInSettings;
  database: SignInDatabase;
  hashing: PasswordHashing;
  admit(admission: Admission): Promise<Refusal>;
  /** Text for the operator's log. */
  tell(words: string): void;
}

export type BetterAuth = ReturnType<typeof makeAuth>;

export function originOf(settings: SignInSettings): string {
  return settings.publicUrl === null ? NO_ORIGIN : new URL(settings.publicUrl).origin;
}

/** The answer of an issuer that is being handled. */
interface OpenCallback {
  address: string;
  findFormerEmail(issuer: string, subject: string): Promise<string | null>;
  /** The decision about the person; undefined: none yet. */
  refusal?: Refusal | 'email_not_verified' | undefined;
}
const callbacks = new AsyncLocalStorage<OpenCallback>();

/** Handles the answer of an issuer. */
export function handleCallback(auth: BetterAuth, request: Request, address: string): Promise<Response> {
  const findFormerEmail = async (providerId: string, accountId: string) => {
    const { internalAdapter } = await auth.$context;
    const owner = await internalAdapter.findAccountOwnerByKey({ providerId, accountId });
    return owner?.kind === 'owned' ? owner.user.email : null;
  };
  return callbacks.run({ address, findFormerEmail }, () => auth.handler(request));
}

export function makeAuth(parts: MakeParts) {
  return betterAuth({ ...authOptions(parts), plugins: makePlugins(parts) });
}

function makePlugins({ settings, admit }: MakeParts) {
  const { publicUrl, issuers } = settings;
  const second = twoFactor({
    issuer: publicUrl === null ? 'Turnpike' : `Turnpike ${new URL(publicUrl).host}`,
    accountLockout: {
      enabled: true,
      maxFailedAttempts: bounds.secondFactorGuessesMax,
      durationSeconds: bounds.secondFactorRestMs / 1000,
    },
  });
  if (issuers.length === 0) return [second];
  const decide = (issuer: IssuerSettings) => (claims: Record<string, unknown>) => decideOn(issuer, claims, admit);
  const config = issuers.map((issuer) => ({
    providerId: issuer.id,
    discoveryUrl: `${issuer.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
    clientId: issuer.clientId,
    clientSecret: issuer.clientSecret,
    scopes: [...issuer.scopes],
    pkce: true,
    requireIdTokenVerification: true,
    disableProviderLogout: true,
    mapProfileToUser: decide(issuer),
  }));
  return [second, genericOAuth({ config })];
}

/**
 * Asks whether the person may sign in, once their claims are verified and before anything is stored: later, a transaction may be
 * open, which the answer must not wait for.
 */
async function decideOn(
  issuer: IssuerSettings,
  claims: Record<string, unknown>,
  admit: MakeParts['admit'],
): Promise<{ emailVerified: boolean }> {
  const callback = callbacks.getStore();
  const claim = readClaim(claims, issuer);
  const emailVerified = isEmailVerified(claims, issuer);
  if (callback === undefined || claim === null) return { emailVerified: false };
  const { address, findFormerEmail } = callback;
  const formerEmail = await findFormerEmail(issuer.id, claim.subject);
  const { email } = claim;
  callback.refusal = emailVerified
    ? await admit({ email, by: 'single-sign-on', address, claim: { ...claim, formerEmail }, isFinal: false })
    : 'email_not_verified';
  return { emailVerified };
}

function authOptions(parts: MakeParts): BetterAuthOptions {
  const { settings, database, hashing, tell } = parts;
  return {
    appName: 'Turnpike',
    baseURL: originOf(settings),
    basePath: AUTH_PATH,
    secrets: [{ version: 1, value: settings.secret }],
    database: database.options,
    telemetry: { enabled: false },
    logger: { level: 'error', disableColors: true, log: (_level, message, ...more) => tell(wordsOf(message, more)) },
    onAPIError: { errorURL: '/console/sign-in' },
    emailAndPassword: {
      enabled: true,
      disableSignUp: true,
      minPasswordLength: bounds.passwordCharactersLeast,
      maxPasswordLength: 2 * bounds.passwordCharactersMax, // better-auth counts UTF-16 units
      password: {
        hash: (password) => unlessCrowded(hashing.hash(password)),
        verify: ({ password, hash }) => unlessCrowded(hashing.verify(password, hash)),
      },
    },
    session: {
      expiresIn: bounds.sessionMs / 1000,
      updateAge: bounds.sessionRefreshMs / 1000,
      freshAge: 0, // sensitive changes ask for the password
      cookieCache: { enabled: false }, // an ended session stops working at once
      additionalFields: { proof: { type: 'string', required: false, input: false } }, // absent in sessions of earlier versions
    },
    account: {
      updateAccountOnSignIn: false,
      storeStateStrategy: 'database',
      // The inviting person entered the email, and the issuer must have verified it.
      accountLinking: { enabled: true, requireLocalEmailVerified: false, trustedProviders: [] },
    },
    rateLimit: rateLimitOver(database),
    hooks: { before: refuseWeakPassword },
    advanced: {
      cookiePrefix: 'turnpike',
      useSecureCookies: false, // the main thread knows which requests came over TLS
      defaultCookieAttributes: { httpOnly: true, sameSite: 'strict', path: '/' },
      cookies: { state: { attributes: { sameSite: 'lax' } } }, // a strict cookie would not come back from the issuer
      ipAddress: { ipAddressHeaders: [ADDRESS_HEADER] },
    },
    ...gates(parts),
  };
}

/** After the limit of requests per address: the check takes longer than a request. */
const refuseWeakPassword = createAuthMiddleware(async (context) => {
  if (context.path !== '/change-password') return;
  const found = await getSessionFromCtx(context);
  if (found === null) return;
  const { email, name } = found.user;
  const installation = decodeURIComponent(context.headers?.get(INSTALLATION_HEADER) ?? '');
  const password = String((context.body as Record<string, unknown>)['newPassword']);
  const message = await findPasswordFault({ email, name, password, installation });
  if (message !== null) throw new APIError('BAD_REQUEST', { code: 'WEAK_PASSWORD', message });
});

async function unlessCrowded<Value>(hashed: Promise<Value>): Promise<Value> {
  try {
    return await hashed;
  } catch (failure) {
    if (!(failure instanceof HashingCrowded)) throw failure;
    throw new APIError('SERVICE_UNAVAILABLE', { code: 'CROWDED', message: 'Too many sign-ins are in progress.' });
  }
}

function rateLimitOver(database: SignInDatabase): NonNullable<BetterAuthOptions['rateLimit']> {
  const window = bounds.signInWindowMs / 1000;
  const guessing = { window, max: bounds.signInsPerAddressMax };
  return {
    enabled: true,
    window,
    max: bounds.signInRequestsPerAddressMax,
    customRules: {
      '/sign-in/email': false, // counted in answer-request.ts
      '/sign-in/*': guessing,
      '/two-factor/*': guessing,
      '/change-password': guessing,
      '/get-session': false,
    },
    customStorage: {
      async consume(key, rule) {
        const taken = await database.throttle.take(key, rule.max, rule.window * 1000, Date.now());
        return { allowed: taken.isAllowed, retryAfter: taken.isAllowed ? null : Math.ceil(taken.retryAfterMs / 1000) };
      },
    },
  };
}

/** Nothing is stored about people whom the main thread refuses, and no session is created without its consent. */
function gates({ admit }: MakeParts): Pick<BetterAuthOptions, 'user' | 'databaseHooks'> {
  return {
    user: {
      async validateUserInfo({ user, source }, context) {
        if (source.method !== 'oauth') return;
        if (user.emailVerified !== true) return { error: 'email_not_verified' };
        const { refusal } = callbacks.getStore() ?? {};
        if (refusal !== null) return { error: refusal ?? 'person_unknown' };
        const email = String(user.email ?? '').toLowerCase();
        const known =
          user.id === undefined ? null : await context?.context.internalAdapter.findUserById(String(user.id));
        return known && known.email !== email ? { error: 'email_changed' } : undefined;
      },
    },
    databaseHooks: {
      // Other values from the issuer are not needed.
      account: {
        create: {
          before: async (account) => ({
            data: { ...account, accessToken: null, refreshToken: null, idToken: null, scope: null },
          }),
        },
      },
      session: {
        create: {
          async before(session, context) {
            const by = proofOf(context?.path ?? '');
            if (by === null || !context) return { data: { ...session, ...(await carriedOver(context)) } };
            const user = await context.context.internalAdapter.findUserById(session.userId);
            if (!user) return false;
            const isFinal = by !== 'password' || (user as { twoFactorEnabled?: boolean }).twoFactorEnabled !== true;
            const refusal = await admit({ email: user.email, by, address: addressOf(context), claim: null, isFinal });
            if (refusal !== null) throw new APIError('UNAUTHORIZED', { code: refusal, message: refusal });
            return { data: { ...session, proof: by } };
          },
        },
      },
    },
  };
}

/** Kept from the replaced session: changing a password is not a sign-in, and makes no session last longer. */
async function carriedOver(context: Parameters<typeof getSessionFromCtx>[0] | null): Promise<object> {
  const replaced = context?.context.session?.session as { createdAt: Date; proof?: string | null } | undefined;
  return replaced === undefined ? {} : { createdAt: replaced.createdAt, proof: replaced.proof ?? null };
}

function proofOf(path: string): Proof | null {
  if (path === '/sign-in/email') return 'password';
  if (path.startsWith('/two-factor/verify-')) return 'second-factor';
  return path.startsWith('/callback/') ? 'single-sign-on' : null;
}

function addressOf(context: { headers?: Headers | undefined } | null | undefined): string {
  return context?.headers?.get(ADDRESS_HEADER) ?? '';
}

/** The first words and the failure's message: other values may contain what a person sent. */
function wordsOf(message: string, more: readonly unknown[]): string {
  const failure = more.find((one) => one instanceof Error);
  return failure === undefined ? message : `${message}: ${failure.message}`;
}
