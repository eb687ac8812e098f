// The key that the playground sends with: in the memory of this tab only, never stored, forgotten with the session.

import { skipToken, useQuery, useQueryClient } from '@tanstack/react-query';

export interface PlaygroundKey {
  secret: string;
  /** Null where only its secret is known. */
  id: string | null;
  account: string | null;
}

const place = ['playground-key'];

export function usePlaygroundKey(): [PlaygroundKey | null, (key: PlaygroundKey | null) => void] {
  const queries = useQueryClient();
  const { data } = useQuery<PlaygroundKey | null>({
    queryKey: place,
    queryFn: skipToken,
    initialData: () => queries.getQueryData<PlaygroundKey | null>(place) ?? null,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  });
  return [data ?? null, (key) => queries.setQueryData(place, key)];
}
