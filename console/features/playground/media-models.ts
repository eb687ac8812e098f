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

export interface SoundUse {
  hears: boolean;
  speaks: boolean;
}

/** What a model that answers messages can do with sound: what has a price. */
export function useSoundOf(model: string): SoundUse {
  const { data } = useGet('/models', { query: { limit: 50, patterns: model }, isEnabled: model !== '' });
  const units = data?.data.find(({ name, serves }) => name === model && serves === 'messages')?.price.units;
  return { hears: units?.audio_input != null, speaks: units?.audio_output != null };
}
