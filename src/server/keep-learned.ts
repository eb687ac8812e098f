// What was learned of models outlives the process: read at start, saved now and then and at the end.

import { bounds } from '../config.ts';
import { Estimates, type LearnedStore } from '../usage/usage.ts';
import type { Closing } from './server.ts';

/** Estimates with what earlier runs learned. Saving may fail: what is lost is learned again. */
export async function openEstimates(store: LearnedStore, closing: Closing): Promise<Estimates> {
  const estimates = new Estimates(await store.loadLearned());
  const save = async () => {
    for (;;) {
      const changed = estimates.takeChanged(bounds.learnedModelsSavedMax);
      if (changed.length === 0) return;
      await store.saveLearned(changed);
    }
  };
  const timer = setInterval(() => void save().catch(() => {}), bounds.learnedSaveMs);
  timer.unref();
  closing.push(async () => {
    clearInterval(timer);
    await Promise.race([save(), Bun.sleep(bounds.learnedLastSaveMsMax)]);
  });
  return estimates;
}
