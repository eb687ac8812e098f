// The model that snippets and the playground begin with: not one that fails, by the incidents of the service.

import { useRef } from 'react';
import { useGet } from '../../queries.ts';
import { defaultModel } from './values.ts';

/** Empty until it is known which models fail. Once chosen, it stays while it is among the names. */
export function useDefaultModel(names: readonly string[]): string {
  const { data, error } = useGet('/incidents');
  const chosen = useRef('');
  if (names.includes(chosen.current)) return chosen.current;
  if (data === undefined && error === null) return '';
  const failing = data?.data.filter(({ kind }) => kind === 'model_failing' || kind === 'provider_failing') ?? [];
  chosen.current = defaultModel(names, new Set(failing.flatMap(({ models }) => models)));
  return chosen.current;
}
