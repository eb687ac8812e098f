// The door of exports: files of usage and costs, made row by row, as CSV and Parquet.

export { type Dimension, dimensions } from './dimensions.ts';
export {
  type ExportFormat,
  type ExportKind,
  type ExportNames,
  type ExportQuestion,
  type ExportSources,
  exportFormats,
  exportKinds,
  type Place,
  type Reading,
} from './export-question.ts';
export { contentTypes, makeFile } from './make-file.ts';
export { type ExportJobParts, runExports, testTarget } from './run-exports.ts';
export {
  dueOf,
  type ExportJobStore,
  type ExportRun,
  type ExportSchedule,
  type ExportStore,
  type ExportTarget,
  exportContext,
  newRun,
  periodName,
  periodOf,
} from './schedule.ts';
