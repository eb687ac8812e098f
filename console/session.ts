// What the sign-in knows of whoever is signed in: their session and whether they have a second factor.

import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { askSignIn } from './api.ts';

export interface SessionShape {
  id: string;
  token: string;
  userAgent?: string | null;
  ipAddress?: string | null;
  createdAt: string;
  updatedAt: string;
}

export interface SignedInShape {
  session: SessionShape;
  user: { twoFactorEnabled?: boolean | null };
}

/** Null: nobody is, by a session. */
export function useSession(): UseQueryResult<SignedInShape | null> {
  return useQuery({
    queryKey: ['sign-in', '/get-session'],
    queryFn: ({ signal }) => askSignIn<SignedInShape | null>('/get-session', { signal }),
  });
}

export function useSessions(): UseQueryResult<SessionShape[]> {
  return useQuery({
    queryKey: ['sign-in', '/list-sessions'],
    queryFn: ({ signal }) => askSignIn<SessionShape[]>('/list-sessions', { signal }),
  });
}
