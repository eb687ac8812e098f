// Writes rows as Parquet, with zstd. Amounts are DECIMAL with 9 fraction digits, so that sums are exact. One group of rows
// is in memory at a time.

import { ByteWriter, type ColumnSource, ParquetWriter } from 'hyparquet-writer';
import { bounds } from '../config/config.ts';
import type { AnyColumn, CellValue, ColumnType } from './columns.ts';
import type { FileWriter } from './file-writer.ts';

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number];

const DECIMAL = { converted_type: 'DECIMAL', scale: 9 } as const;

/** Parquet's types: https://parquet.apache.org/docs/file-format/types/logicaltypes/ (2026-11-29). */
const elements: Readonly<Record<ColumnType, Omit<SchemaElement, 'name'>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  amount: { type: 'INT64', precision: 18, ...DECIMAL },
  sum: { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, precision: 38, ...DECIMAL },
  whole: { type: 'INT64' },
  time: { type: 'INT64', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' } },
  flag: { type: 'BOOLEAN' },
};

export function parquetWriter(columns: readonly AnyColumn[]): FileWriter {
  const bytes = new ByteWriter();
  const root: SchemaElement = { name: 'root', num_children: columns.length };
  const leaves = columns.map(
    ({ name, type }): SchemaElement => ({ name, repetition_type: 'OPTIONAL', ...elements[type] }),
  );
  const parquet = new ParquetWriter({
    writer: bytes,
    schema: [root, ...leaves],
    codec: 'ZSTD',
    compressors: { ZSTD: (input) => Bun.zstdCompressSync(input) },
    createdBy: 'turnpike',
  });
  // The values of each column, not the rows: these are larger, and a step of the event loop is shorter without their conversion.
  let waiting: unknown[][] = columns.map(() => []);
  let count = 0;
  const writeGroup = () => {
    const columnData = columns.map(
      ({ name, type }, at): ColumnSource => ({
        name,
        data: waiting[at] ?? [],
        offsetIndex: false,
        statistics: type === 'time', // by which readers leave groups out
      }),
    );
    parquet.write({ columnData, rowGroupSize: count });
    compact(parquet);
    waiting = columns.map(() => []);
    count = 0;
  };
  return {
    write(rows) {
      for (const [at, column] of columns.entries())
        for (const row of rows) waiting[at]?.push(parquetValue(column.type, column.of(row)));
      count += rows.length;
      if (count >= bounds.exportGroupRows) writeGroup();
      return take(bytes);
    },
    end() {
      if (count > 0) writeGroup();
      parquet.finish();
      return take(bytes);
    },
  };
}

/** The footer describes every column of every group and stays in memory until the end, so it has only what is required. */
function compact(parquet: ParquetWriter): void {
  parquet.pendingIndexes.length = 0; // there are none
  const first = parquet.row_groups[0]?.columns ?? [];
  for (const [at, { meta_data: about }] of parquet.row_groups.at(-1)?.columns.entries() ?? []) {
    const same = first[at]?.meta_data;
    if (about === undefined || same === undefined) continue;
    about.path_in_schema = same.path_in_schema;
    delete about.encoding_stats;
    if (about.encodings.join() === same.encodings.join()) about.encodings = same.encodings;
  }
}

/** Amounts and counts as bigints, which are written as they are. */
function parquetValue(type: ColumnType, value: CellValue): unknown {
  if (value === null) return undefined;
  if (type === 'amount' || type === 'sum' || type === 'whole') return BigInt(value);
  return type === 'time' ? new Date(value as number) : value;
}

/** The bytes so far. The writer keeps counting, because the footer has the offsets of all groups. */
function take(writer: ByteWriter): Uint8Array {
  const taken = writer.getBytes().slice();
  writer.index = 0;
  return taken;
}
