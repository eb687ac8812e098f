// The models that a key may use, as the service lists them to clients.

import { useQuery } from '@tanstack/react-query';
import { useBaseUrl } from '../../me.tsx';
import { callWithKey } from './send-message.ts';

const PAGES_MAX = 20;

interface ModelPage {
  data: { id: string }[];
  has_more?: boolean;
  last_id?: string | null;
}

/** null while they are unknown. */
export function useModelsOfKey(secret: string | null): readonly string[] | null {
  const baseUrl = useBaseUrl();
  const { data } = useQuery({
    queryKey: ['models-of-key', secret],
    queryFn: ({ signal }) => readModels(baseUrl, secret ?? '', signal),
    enabled: secret !== null,
  });
  return secret === null ? null : (data ?? null);
}

async function readModels(baseUrl: string, secret: string, signal: AbortSignal): Promise<string[] | null> {
  const names: string[] = [];
  for (let after = '', pages = 0; pages < PAGES_MAX; pages++) {
    const page = await callWithKey<ModelPage>(baseUrl, `/v1/models?limit=1000${after}`, secret, signal);
    if (page === null) return null;
    names.push(...page.data.map(({ id }) => id));
    if (page.has_more !== true) break;
    after = `&after_id=${encodeURIComponent(page.last_id ?? '')}`;
  }
  return names;
}
