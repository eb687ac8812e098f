// The models that draw or speak in place of an answer to a message.

import { useGet } from '../../queries.ts';
import { LISTED_MAX } from '../keys/form.tsx';

export type MediaUse = 'images' | 'speech';

/** The uses of these models, by their names. */
export function useMediaModels(): ReadonlyMap<string, MediaUse> {
  const models = useGet('/models', { query: { limit: LISTED_MAX } });
  return new Map(
    (models.data?.data ?? []).flatMap(({ name, serves }): [string, MediaUse][] =>
      serves === 'images' || serves === 'speech' ? [[name, serves]] : [],
    ),
  );
}
