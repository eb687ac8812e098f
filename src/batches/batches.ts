// The door of batches.

export {
  type Batch,
  type BatchForm,
  type BatchPage,
  type BatchStatus,
  type BatchStore,
  ITEM_OUTCOMES,
  type ItemCounts,
  type ItemOutcome,
  type ItemResult,
  NO_COUNTS,
  reserveIdOf,
} from './batch.ts';
