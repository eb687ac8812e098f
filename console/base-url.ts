// Where messages are sent: the service's own address, without the /v1.

import type { MeShape } from '../src/admin-api/shapes.ts';
import { useMe } from './me.tsx';

/** What the service says its address is, else the one that this page is looked at under. */
export function useBaseUrl(): string {
  const { base_url: said } = useMe() as MeShape & { base_url?: string | null };
  return (said ?? window.location.origin).replace(/\/+$/, '');
}
