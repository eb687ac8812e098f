// The signed-in user: fetched once and available to every page. Shows the sign-in page to everyone else.

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext } from 'react';
import type { MeShape } from '../src/admin-api/shapes.ts';
import { ApiFailure, call } from './api.ts';
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

/** Shows `children` to a signed-in user, and `signIn` otherwise. */
export function MeGate({ signIn, children }: { signIn: ReactNode; children: ReactNode }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['me'],
    queryFn: ({ signal }) => call('GET /me', { signal }),
    staleTime: 60_000,
    // Keeps the sign-in form unchanged while the user switches to their authenticator app.
    refetchOnWindowFocus: ({ state }) => state.data !== undefined,
    refetchOnReconnect: ({ state }) => state.data !== undefined,
  });
  if (error instanceof ApiFailure && error.status === 401) return signIn;
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
