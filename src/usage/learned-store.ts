// Where what was learned of models is kept across restarts.

import type { LearnedDocument } from './learned-model.ts';

export interface LearnedStore {
  /** As it was saved, by this version or another. */
  loadLearned(): Promise<[model: string, document: unknown][]>;
  saveLearned(learned: readonly [model: string, document: LearnedDocument][]): Promise<void>;
}
