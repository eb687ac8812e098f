// The door of batches.

export {
  type Batch,
  type BatchForm,
  type BatchPage,
  type BatchPart,
  type BatchStatus,
  type BatchStore,
  type BegunMessage,
  batchOfReserve,
  type ItemCounts,
  type ItemOutcome,
  type ItemResult,
  NO_COUNTS,
  type ResultSums,
  reserveIdOf,
  type SentPart,
  type ShownBatchPage,
} from './batch.ts';
export { type MakerParts, makeBatch, type NewBatch, type PlannedItem } from './make-batch.ts';
export type { PreparedRequest } from './part-runner.ts';
export { BatchRunner, type RunnerParts, type SentItem } from './run-batches.ts';
export { RequestSplitter } from './split-requests.ts';
