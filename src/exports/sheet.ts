// The columns of a file, and pages of rows that are read while the file is written.

import type { AnyColumn } from './columns.ts';
import type { Place } from './export-question.ts';

export interface SheetPage {
  rows: readonly unknown[];
  /** Where a later file may continue; null: these sums cannot be continued. */
  next: Place | null;
}

export interface Sheet {
  columns: readonly AnyColumn[];
  pages(from: Place | null): AsyncGenerator<SheetPage>;
}
