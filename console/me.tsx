// Who looks at the console: asked once, and given to every page. Nobody signed in is shown the sign-in.

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext } from 'react';
import type { MeShape } from '../src/admin-api/shapes.ts';
import { ApiFailure, ask } from './api.ts';
import { OpenFrame } from './parts/open-frame.tsx';
import { PageFailure } from './parts/page-failure.tsx';
import { Waiting } from './parts/waiting.tsx';

export type Role = MeShape['role'];

const MeContext = createContext<MeShape | null>(null);

/** Whoever is signed in. Only below `MeGate`. */
export function useMe(): MeShape {
  const me = useContext(MeContext);
  if (me === null) throw new Error('useMe stands outside of MeGate');
  return me;
}

/** Whether the role sees the whole installation: costs, margins, providers, every account. */
export function isOfInstallation({ role }: Pick<MeShape, 'role'>): boolean {
  return role === 'operator' || role === 'viewer';
}

/** To be called when a session began or ended: everything that was fetched is another's. */
export function useForgetEverything(): () => Promise<void> {
  const queries = useQueryClient();
  return async () => {
    queries.removeQueries({ predicate: (query) => query.queryKey[0] !== 'me' });
    await queries.resetQueries({ queryKey: ['me'] });
  };
}

/** Shows `signIn` to nobody in particular, and `children` to somebody. */
export function MeGate({ signIn, children }: { signIn: ReactNode; children: ReactNode }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['me'],
    queryFn: ({ signal }) => ask<MeShape>('/me', { signal }),
    staleTime: 60_000,
    // Whoever signs in and looks at the code on another page, or another app, finds the form as it was.
    refetchOnWindowFocus: ({ state }) => state.data !== undefined,
    refetchOnReconnect: ({ state }) => state.data !== undefined,
  });
  if (error instanceof ApiFailure && error.status === 401) return signIn;
  if (data !== undefined) return <MeContext value={data}>{children}</MeContext>;
  if (error !== null)
    return (
      <OpenFrame>
        <PageFailure failure={error} onRetry={() => void refetch()} />
      </OpenFrame>
    );
  return <Waiting />;
}
