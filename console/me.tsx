// The signed-in user: fetched once and available to every page. Shows the sign-in page to everyone else.

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, lazy, type ReactNode, Suspense, useContext, useEffect, useState } from 'react';
import type { MeShape } from '../src/admin-api/shapes.ts';
import { ApiFailure, call, callSignIn } from './api.ts';
import { rememberFrame } from './early-frame.ts';
import { Loading, PageFailure, PublicFrame } from './parts/page.tsx';

export type Role = MeShape['role'];

const MeContext = createContext<MeShape | null>(null);

/** The signed-in user. Only for components within `MeGate`. */
export function useMe(): MeShape {
  const me = useContext(MeContext);
  if (me === null) throw new Error('useMe stands outside of MeGate');
  return me;
}

/** Whether the role sees the whole installation: provider costs, margins and all accounts. */
export function seesInstallation({ role }: Pick<MeShape, 'role'>): boolean {
  return role === 'operator' || role === 'viewer';
}

/** Discards all fetched data when a session starts or ends. */
export function useClearSession(): () => Promise<void> {
  const queries = useQueryClient();
  return async () => {
    queries.removeQueries({ predicate: (query) => query.queryKey[0] !== 'me' });
    await queries.resetQueries({ queryKey: ['me'] });
  };
}

/** Ends the session; resolves to the failure, or to null. */
export function useSignOut(): () => Promise<unknown> {
  const clearSession = useClearSession();
  return async () => {
    try {
      await callSignIn('POST /sign-out', { body: {} });
    } catch (failure) {
      return failure;
    }
    await clearSession();
    return null;
  };
}

/** Codes of errors that end the use of every page until the user has signed in, set up a second factor, or agreed to the terms. */
const SIGN_IN_CODES = ['token_missing', 'token_invalid', 'second_factor_required', 'consent_required'];

export function isSignInNeeded(failure: unknown): boolean {
  return failure instanceof ApiFailure && SIGN_IN_CODES.includes(failure.code);
}

/** Each is loaded only for those who need it. */
const RequiredConsent = lazy(async () => ({
  default: (await import('./features/sign-in/consent.tsx')).RequiredConsent,
}));
const RequiredSecondFactor = lazy(async () => {
  const { RequiredSecondFactor: Page } = await import('./features/sign-in/required-second-factor.tsx');
  return { default: Page };
});

/** Shows `children` to a signed-in user, `signIn` without a session, the set-up of a required second factor, and terms to agree to. */
export function MeGate({ signIn, children }: { signIn: ReactNode; children: ReactNode }) {
  const [isSettingUp, setSettingUp] = useState(false);
  const { data, error, refetch } = useQuery({
    queryKey: ['me'],
    queryFn: ({ signal }) => call('GET /me', { signal }),
    staleTime: 60_000,
    // Keeps the sign-in form unchanged while the user switches to their authenticator app.
    refetchOnWindowFocus: ({ state }) => state.data !== undefined,
    refetchOnReconnect: ({ state }) => state.data !== undefined,
  });
  const isSignedOut = error instanceof ApiFailure && error.status === 401;
  const needsFactor = error instanceof ApiFailure && error.code === 'second_factor_required';
  // The page stays until its backup codes are saved, although the user is let in before.
  if (needsFactor && !isSettingUp) setSettingUp(true);
  if (isSignedOut && isSettingUp) setSettingUp(false);
  const isIn = data !== undefined && !isSignedOut;
  useEffect(() => {
    if (isIn || isSignedOut) rememberFrame(isIn);
  }, [isIn, isSignedOut]);
  if (isSignedOut) return signIn;
  if (isSettingUp || needsFactor)
    return (
      <Suspense fallback={<Loading />}>
        <RequiredSecondFactor onDone={() => setSettingUp(false)} />
      </Suspense>
    );
  if (error instanceof ApiFailure && error.code === 'consent_required')
    return (
      <Suspense fallback={<Loading />}>
        <RequiredConsent />
      </Suspense>
    );
  if (data !== undefined) return <MeContext value={data}>{children}</MeContext>;
  if (error !== null)
    return (
      <PublicFrame>
        <PageFailure failure={error} onRetry={() => void refetch()} />
      </PublicFrame>
    );
  return <Loading />;
}

/** The public address of the service, or else the origin of this page. */
export function useBaseUrl(): string {
  const { base_url: said } = useMe() as MeShape & { base_url?: string | null };
  return (said ?? window.location.origin).replace(/\/+$/, '');
}
