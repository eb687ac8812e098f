// The models that draw or speak in place of an answer to a message.

import { useGet } from '../../queries.ts';
import { LISTED_MAX } from '../keys/form.tsx';

export type MediaUse = 'images' | 'speech';

/** The uses of these models, by their names. */
export function useMediaModels(): ReadonlyMap<string, MediaUse> {
  const images = useGet('/models', { query: { limit: LISTED_MAX, serves: 'images' } });
  const speech = useGet('/models', { query: { limit: LISTED_MAX, serves: 'speech' } });
  const namesOf = ({ data }: typeof images, use: MediaUse) =>
    (data?.data ?? []).map(({ name }) => [name, use] as const);
  return new Map([...namesOf(images, 'images'), ...namesOf(speech, 'speech')]);
}
