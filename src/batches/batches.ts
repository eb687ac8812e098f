// The door of batches.

export { makeBatch, type MakerParts, type NewBatch, type PlannedItem } from './make-batch.ts';
export { RequestSplitter } from './split-requests.ts';
export { BatchRunner, type RunnerParts, type SentItem } from './run-batches.ts';
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
