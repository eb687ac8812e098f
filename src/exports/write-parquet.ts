// Writes rows as Parquet, with zstd. Amounts are DECIMAL with 9 fraction digits, so that sums are exact. One group of rows
// is in memory at a time.

import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { nextTurn } from '../base/timers.ts';
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
  // The values of each column, not the rows, which are larger.
  let waiting: CellValue[][] = columns.map(() => []);
  let count = 0;
  /** Column by column, so that no step of the event loop is long. The library makes a group of each. */
  const writeGroup = async () => {
    const groups = parquet.row_groups.length;
    for (const [at, { name, type }] of columns.entries()) {
      const data = (waiting[at] ?? []).map((value) => parquetValue(type, value));
      const statistics = type === 'time'; // by which readers leave groups out
      parquet.write({ columnData: [{ name, data, offsetIndex: false, statistics }], rowGroupSize: count });
      await nextTurn();
    }
    joinGroups(parquet, groups, count);
    waiting = columns.map(() => []);
    count = 0;
  };
  return {
    async write(rows) {
      for (const [at, column] of columns.entries()) for (const row of rows) waiting[at]?.push(column.of(row));
      count += rows.length;
      if (count >= bounds.exportGroupRows) await writeGroup();
      return take(bytes);
    },
    async end() {
      if (count > 0) await writeGroup();
      parquet.finish();
      return take(bytes);
    },
  };
}

/**
 * Makes one group of those from `first` on, a column each. The footer describes every column of every group and stays in memory until
 * the end, so it has only what is required.
 */
function joinGroups(parquet: ParquetWriter, first: number, rows: number): void {
  parquet.pendingIndexes.length = 0; // there are none
  const parts = parquet.row_groups.splice(first);
  const bytesOf = (of: 'total_byte_size' | 'total_compressed_size') =>
    parts.reduce((sum, part) => sum + (part[of] ?? 0n), 0n);
  const columns = parts.flatMap((part) => part.columns);
  parquet.row_groups.push({
    columns,
    num_rows: BigInt(rows),
    total_byte_size: bytesOf('total_byte_size'),
    total_compressed_size: bytesOf('total_compressed_size'),
  });
  parquet.num_rows -= BigInt(rows * (parts.length - 1));
  for (const [at, { meta_data: about }] of columns.entries()) {
    const same = parquet.row_groups[0]?.columns[at]?.meta_data;
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
